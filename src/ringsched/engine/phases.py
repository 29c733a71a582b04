"""The array twin of contention/phases.py: exchanges that meet by chance on links shared fairly."""

from __future__ import annotations

import math

from ringsched.contention.kernels import tau_at
from ringsched.contention.phases import RARE, ROUNDS, SAME
from ringsched.engine.arrays import Arrays
from ringsched.engine.state import ENDED, NUM_TOUCHED, State
from ringsched.jit import kernel, part

_NOT_MET = -1.0


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


@kernel
def _gbps(arrays: Arrays, state: State, job: int) -> float:
    """Return how fast a job exchanges on average while it does."""
    entry = 2 * arrays.gpu_first[job]
    num_links = state.num_links[job]
    alone_gbps = state.free_gbps[job]
    for its in range(entry, entry + num_links):
        alone_gbps = min(alone_gbps, arrays.uplink_gbps[state.entry_link[its]])
    mean, variance = 0.0, 0.0  # of the others on the fullest link so far
    widest = 0.0
    num_met = 0
    link = -1
    for _ in range(num_links):
        link = _next_link(state, entry, num_links, link)
        met, spread, shared, num_met = _met_on(arrays, state, job, link, num_met)
        if met < 0:
            continue
        share = alone_gbps / arrays.uplink_gbps[link]
        here, here_variance = share * (1 + met) - 1, share * share * spread
        ahead = 0.0  # the chance that an earlier link is the fuller one
        if widest == 0:
            mean, variance = here, here_variance
        else:
            mean, variance, ahead = _larger_of(mean, variance, here, here_variance, share * shared)
        _load(arrays, state, job, link, num_met, ahead, share)
        widest = max(widest, share)
    if 0 < widest < 1:  # all links are faster than the job, so N may be negative
        held, variance, ahead = _larger_of(mean, variance, 0.0, 0.0, 0.0)
        mean = min(held, mean + 1 - widest)
    for at in range(num_met):
        state.fair_loading[state.fair_others[at]] = _NOT_MET
    return max(alone_gbps * _expected_part(mean, variance), state.fair_rate[job])


@part
def _next_link(state: State, entry: int, num_links: int, after: int) -> int:
    """Return the lowest of a job's links above another; the order matters a little, so it is always one."""
    lowest = -1
    for its in range(entry, entry + num_links):
        link = state.entry_link[its]
        if link > after and (lowest < 0 or link < lowest):
            lowest = link
    return lowest


@part
def _met_on(
    arrays: Arrays, state: State, job: int, link: int, num_met: int
) -> tuple[float, float, float, int]:
    """Return mean and variance of the others met on a link, their covariance with N so far, and all met.

    The mean is negative if nobody else who exchanges is there.
    """
    mean, variance, shared = -1.0, 0.0, 0.0
    first = arrays.link_first[link]
    for place in range(first, first + state.num_on_link[link]):
        other = arrays.entry_job[state.on_link[place]]
        if other == job or arrays.exchange_gbit[other] <= 0:
            continue
        weight = 1.0
        if state.fair_rate[other] < state.fair_rate[job]:  # it is held up elsewhere
            weight = state.fair_rate[other] / state.fair_rate[job]
        chance = state.fair_met[other]
        mean = max(mean, 0.0) + chance * weight
        each = chance * (1 - chance) * weight * weight
        variance += each
        if state.fair_loading[other] == _NOT_MET:
            state.fair_loading[other] = 0.0
            state.fair_others[num_met] = other
            num_met += 1
        shared += state.fair_loading[other] * each
    return mean, variance, shared, num_met


@part
def _load(
    arrays: Arrays, state: State, job: int, link: int, num_met: int, ahead: float, share: float
) -> None:
    """Note by how much each other that comes makes N larger, on average."""
    for at in range(num_met):
        state.fair_loading[state.fair_others[at]] *= ahead
    first = arrays.link_first[link]
    for place in range(first, first + state.num_on_link[link]):
        other = arrays.entry_job[state.on_link[place]]
        if other != job and arrays.exchange_gbit[other] > 0:
            state.fair_loading[other] += (1 - ahead) * share


@part
def _larger_of(
    mean: float, variance: float, other_mean: float, other_variance: float, covariance: float
) -> tuple[float, float, float]:
    """Return the larger of two numbers, by Clark (1961), and the chance that it is the first."""
    spread_squared = variance + other_variance - 2 * covariance
    if spread_squared < SAME:
        if other_mean > mean:
            return other_mean, other_variance, 0.0
        return mean, variance, 1.0
    spread = math.sqrt(spread_squared)
    ahead = (mean - other_mean) / spread
    first = 0.5 * math.erfc(-ahead / math.sqrt(2.0))
    tie = spread * math.exp(-ahead * ahead / 2) / math.sqrt(2 * math.pi)
    larger = mean * first + other_mean * (1 - first) + tie
    square = (
        (mean * mean + variance) * first
        + (other_mean * other_mean + other_variance) * (1 - first)
        + (mean + other_mean) * tie
    )
    return larger, max(0.0, square - larger * larger), first


@part
def _expected_part(mean: float, variance: float) -> float:
    """Return the expected part 1 / (1 + N) of a link beside N others, N as if binomial."""
    if mean <= 0:
        return 1.0
    chance = 1 - variance / mean
    if chance < RARE:
        return -math.expm1(-mean) / mean
    if chance >= 1:
        return 1 / (1 + mean)
    return -math.expm1((mean / chance + 1) * math.log1p(-chance)) / (mean + chance)
