"""Max-min fair sharing of links (docs/concepts/model.md): what one job does not ask for, others have."""

from __future__ import annotations

import math

from ringsched.contention.kernels import tau_at
from ringsched.engine.arrays import Arrays
from ringsched.engine.phases import meet_by_chance
from ringsched.engine.state import ENDED, NUM_TOUCHED, STAMP, State, touch
from ringsched.jit import kernel, part

_HAS_ITS_OWN = -1.0


@kernel
def share_fairly(arrays: Arrays, state: State) -> None:
    """Share the links of the touched jobs, and of all who are connected with them; these are touched too.

    By progressive filling: the rates of all rise alike; whoever has all it asks for stops there, and
    so do all on a link that is full.
    """
    num_links = _gather(arrays, state)
    num_open = _ask(arrays, state)
    while num_open > 0:
        level = math.inf
        for at in range(num_links):
            link = state.fair_links[at]
            if state.fair_open[link] > 0:
                level = min(level, state.fair_left[link] / state.fair_open[link])
        num_content = _give_the_content(arrays, state, level)
        if num_content == 0:
            num_content = _give_the_full(arrays, state, num_links, level)
        num_open -= num_content
    if arrays.is_phased:
        meet_by_chance(arrays, state)


@part
def _gather(arrays: Arrays, state: State) -> int:
    """Touch everybody connected with the touched jobs, and list their links; return how many."""
    stamp = state.counts[STAMP] + 1
    num_links, at = 0, 0
    while at < state.counts[NUM_TOUCHED]:  # which grows
        job = state.touched[at]
        at += 1
        if state.heap_place[job] == ENDED:
            continue
        entry = 2 * arrays.gpu_first[job]
        for its in range(entry, entry + state.num_links[job]):
            link = state.entry_link[its]
            if state.fair_seen[link] != stamp:
                state.fair_seen[link] = stamp
                state.fair_links[num_links] = link
                num_links += 1
                state.fair_left[link] = arrays.uplink_gbps[link]
                state.fair_open[link] = 0
                first = arrays.link_first[link]
                for other in range(first, first + state.num_on_link[link]):
                    touch(state, arrays.entry_job[state.on_link[other]])
    return num_links


@part
def _ask(arrays: Arrays, state: State) -> int:
    """Set what every spread job asks for, its links for itself; return how many.

    That is its average rate, or, where links are shared at each moment, its rate while it exchanges.
    """
    num_open = 0
    for at in range(state.counts[NUM_TOUCHED]):
        job = state.touched[at]
        state.fair_wish[job] = _HAS_ITS_OWN
        if state.heap_place[job] == ENDED or state.num_links[job] == 0:
            continue
        gbps = state.free_gbps[job]
        entry = 2 * arrays.gpu_first[job]
        for its in range(entry, entry + state.num_links[job]):
            gbps = min(gbps, arrays.uplink_gbps[state.entry_link[its]])
        state.fair_tau[job] = tau_at(arrays, job, gbps, state.num_servers[job])
        if arrays.exchange_gbit[job] > 0:
            average_gbps = arrays.exchange_gbit[job] / state.fair_tau[job]
            state.fair_wish[job] = gbps if arrays.is_phased else average_gbps
            for its in range(entry, entry + state.num_links[job]):
                state.fair_open[state.entry_link[its]] += 1
            num_open += 1
    return num_open


@part
def _give_the_content(arrays: Arrays, state: State, level: float) -> int:
    """Give those their wish who ask for no more than an equal part of every link has; return how many."""
    num_content = 0
    for at in range(state.counts[NUM_TOUCHED]):
        job = state.touched[at]
        wish = state.fair_wish[job]
        if 0 <= wish <= level:  # as fast as alone
            _give(arrays, state, job, wish)
            num_content += 1
    return num_content


@part
def _give_the_full(arrays: Arrays, state: State, num_links: int, level: float) -> int:
    """Give all on the fullest links an equal part of what is left there; return how many they are."""
    for at in range(num_links):
        link = state.fair_links[at]
        opened = state.fair_open[link]
        state.fair_full[link] = opened > 0 and state.fair_left[link] / opened <= level
    num_given = 0
    for at in range(state.counts[NUM_TOUCHED]):
        job = state.touched[at]
        is_full = False
        entry = 2 * arrays.gpu_first[job]
        if state.fair_wish[job] >= 0:
            for its in range(entry, entry + state.num_links[job]):
                is_full = is_full or state.fair_full[state.entry_link[its]]
        if is_full:
            state.fair_tau[job] = arrays.exchange_gbit[job] / level
            _give(arrays, state, job, level)
            num_given += 1
    return num_given


@kernel
def _give(arrays: Arrays, state: State, job: int, gbps: float) -> None:
    entry = 2 * arrays.gpu_first[job]
    for its in range(entry, entry + state.num_links[job]):
        link = state.entry_link[its]
        state.fair_left[link] = max(0.0, state.fair_left[link] - gbps)
        state.fair_open[link] -= 1
    state.fair_rate[job] = gbps
    state.fair_wish[job] = _HAS_ITS_OWN
