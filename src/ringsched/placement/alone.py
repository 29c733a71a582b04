"""What a choice of GPUs means for a job with nobody else around."""

from __future__ import annotations

import math

from ringsched.contention.kernels import tau_at
from ringsched.engine.arrays import Arrays
from ringsched.engine.state import State
from ringsched.jit import kernel
from ringsched.placement.scratch import Scratch


@kernel
def alone(arrays: Arrays, state: State, scratch: Scratch, job: int) -> tuple[float, bool]:
    """Return tau on the chosen GPUs, ascending, without contention, and whether somebody is on its links."""
    wanted, below = arrays.gpus[job], scratch.below
    gbps, shares_links, num_servers, at = math.inf, False, 0, 0
    while at < wanted:
        server = arrays.server_of[state.chosen[at]]
        first = at
        while at < wanted and arrays.server_of[state.chosen[at]] == server:
            at += 1
        held = at - first
        num_servers += 1
        if held > 1:
            gbps = min(gbps, arrays.intra_gbps)
        if held < wanted:
            gbps = min(gbps, arrays.uplink_gbps[server] / arrays.factor[1])
            shares_links = shares_links or state.num_on_link[server] > 0
        if arrays.rack_of[server] >= 0:
            below[arrays.rack_of[server]] = 0
    for at in range(wanted):
        rack = arrays.rack_of[arrays.server_of[state.chosen[at]]]
        if rack >= 0:
            below[rack] += 1
    for at in range(wanted):
        rack = arrays.rack_of[arrays.server_of[state.chosen[at]]]
        if rack >= 0 and below[rack] < wanted:
            gbps = min(gbps, arrays.uplink_gbps[rack] / arrays.factor[1])
            shares_links = shares_links or state.num_on_link[rack] > 0
    return tau_at(arrays, job, gbps, num_servers), shares_links
