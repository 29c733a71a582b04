"""What a choice of GPUs means for a job with nobody else around."""

from __future__ import annotations

import math

from ringsched.contention.network import CORE
from ringsched.contention.traffic import tau_at
from ringsched.engine.arrays import Arrays
from ringsched.engine.state import State
from ringsched.jit import kernel
from ringsched.placement.scratch import Scratch


@kernel
def alone(arrays: Arrays, state: State, scratch: Scratch, job: int) -> tuple[float, bool]:
    """Return tau on the chosen GPUs, ascending, without contention, and whether somebody is on its links."""
    links, wanted, below = arrays.links, arrays.gpus[job], scratch.below
    num_on_link = state.traffic.num_on_link
    gbps, shares_links, num_servers, at = math.inf, False, 0, 0
    while at < wanted:
        server = arrays.server_of[state.chosen[at]]
        first = at
        while at < wanted and arrays.server_of[state.chosen[at]] == server:
            at += 1
        held = at - first
        num_servers += 1
        if held > 1:
            gbps = min(gbps, links.intra_gbps)
        if held < wanted:
            gbps = min(gbps, links.alone_gbps[server])
            shares_links = shares_links or num_on_link[server] > 0
        node = links.parent_of[server]
        while node != CORE:
            below[node] = 0
            node = links.parent_of[node]
    if num_servers > 1:
        for at in range(wanted):
            node = links.parent_of[arrays.server_of[state.chosen[at]]]
            while node != CORE:
                below[node] += 1
                node = links.parent_of[node]
        for at in range(wanted):
            node = links.parent_of[arrays.server_of[state.chosen[at]]]
            while node != CORE and below[node] < wanted:  # above a node with all of it there is all of it
                gbps = min(gbps, links.alone_gbps[node])
                shares_links = shares_links or num_on_link[node] > 0
                node = links.parent_of[node]
    return tau_at(links, job, gbps, num_servers), shares_links
