"""The array twin of contention/phases.py: exchanges that meet by chance on links shared fairly."""

from __future__ import annotations

import math

from ringsched.contention.kernels import tau_at
from ringsched.contention.phases import RARE, ROUNDS
from ringsched.engine.arrays import Arrays
from ringsched.engine.state import ENDED, NUM_TOUCHED, State
from ringsched.jit import kernel, part


@kernel
def meet_by_chance(arrays: Arrays, state: State) -> None:
    """Set tau of the touched jobs; `fair_rate` has what each would have if all exchanged all the time."""
    for at in range(state.counts[NUM_TOUCHED]):
        job = state.touched[at]
        if _takes_part(arrays, state, job):
            state.fair_tau[job] = tau_at(arrays, job, state.fair_rate[job], state.num_servers[job])
    for _ in range(ROUNDS):
        for at in range(state.counts[NUM_TOUCHED]):
            job = state.touched[at]
            state.fair_met[job] = 0.0
            if _takes_part(arrays, state, job):
                rest_s = tau_at(arrays, job, math.inf, state.num_servers[job])
                state.fair_met[job] = 1 - rest_s / state.fair_tau[job]
        for at in range(state.counts[NUM_TOUCHED]):
            job = state.touched[at]
            if _takes_part(arrays, state, job):
                gbps = _gbps(arrays, state, job)
                state.fair_tau[job] = tau_at(arrays, job, gbps, state.num_servers[job])


@part
def _takes_part(arrays: Arrays, state: State, job: int) -> bool:
    runs = state.heap_place[job] != ENDED
    return runs and state.num_links[job] > 0 and arrays.exchange_gbit[job] > 0


@part
def _gbps(arrays: Arrays, state: State, job: int) -> float:
    """Return how fast a job exchanges while it does, on the link that leaves it least."""
    gbps = state.free_gbps[job]
    entry = 2 * arrays.gpu_first[job]
    for its in range(entry, entry + state.num_links[job]):
        link = state.entry_link[its]
        mean, dense = 0.0, 0.0
        first = arrays.link_first[link]
        for place in range(first, first + state.num_on_link[link]):
            other = arrays.entry_job[state.on_link[place]]
            if other != job and state.fair_met[other] > 0:
                weight = 1.0
                if state.fair_rate[other] < state.fair_rate[job]:  # it is held up elsewhere
                    weight = state.fair_rate[other] / state.fair_rate[job]
                met = state.fair_met[other] * weight
                mean += met
                dense += met * (1 - weight + met)
        gbps = min(gbps, arrays.uplink_gbps[link] * _expected_part(mean, dense))
    return max(gbps, state.fair_rate[job])


@kernel
def _expected_part(mean: float, dense: float) -> float:
    """Return the expected part 1 / (1 + N) of a link; `dense` is mean less variance of N."""
    if mean <= 0:
        return 1.0
    chance = dense / mean
    if chance < RARE:
        return -math.expm1(-mean) / mean
    if chance >= 1:
        return 1 / (1 + mean)
    return -math.expm1((mean / chance + 1) * math.log1p(-chance)) / (mean + chance)
