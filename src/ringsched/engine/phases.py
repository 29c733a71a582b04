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
    num_rings = _gather_rings(arrays, state)
    for _ in range(ROUNDS):
        for at in range(num_rings):
            job = state.fair_rings[at]
            chance = 1 - state.fair_rest[job] / state.fair_tau[job]
            state.fair_met[job], state.fair_spread[job] = chance, chance * (1 - chance)
        for at in range(num_rings):
            job = state.fair_rings[at]
            gbps = _gbps(arrays, state, job)
            state.fair_tau[job] = tau_at(arrays, job, gbps, state.num_servers[job])


@part
def _gather_rings(arrays: Arrays, state: State) -> int:
    """List the touched jobs that exchange over links, and on every link those that do; return how many.

    A job's links are put in order: what it meets depends on it a little, so it is always the same.
    """
    num_rings = 0
    for at in range(state.counts[NUM_TOUCHED]):
        job = state.touched[at]
        if state.heap_place[job] == ENDED or state.num_links[job] == 0 or arrays.exchange_gbit[job] <= 0:
            continue
        state.fair_rings[num_rings] = job
        num_rings += 1
        alone_gbps = state.free_gbps[job]
        first = 2 * arrays.gpu_first[job]
        for entry in range(first, first + state.num_links[job]):
            link = state.entry_link[entry]
            alone_gbps = min(alone_gbps, arrays.uplink_gbps[link])
            place = entry
            while place > first and state.fair_path[place - 1] > link:
                state.fair_path[place] = state.fair_path[place - 1]
                place -= 1
            state.fair_path[place] = link
            state.fair_open[link] = 0
        state.fair_alone[job] = alone_gbps
        state.fair_rest[job] = tau_at(arrays, job, math.inf, state.num_servers[job])
        state.fair_tau[job] = tau_at(arrays, job, state.fair_rate[job], state.num_servers[job])
    for at in range(num_rings):
        job = state.fair_rings[at]
        first = 2 * arrays.gpu_first[job]
        for entry in range(first, first + state.num_links[job]):
            link = state.entry_link[entry]
            state.fair_on_link[arrays.link_first[link] + state.fair_open[link]] = job
            state.fair_open[link] += 1
    return num_rings


@part
def _gbps(arrays: Arrays, state: State, job: int) -> float:
    """Return how fast a job exchanges on average while it does."""
    alone_gbps, own_gbps = state.fair_alone[job], state.fair_rate[job]
    own_met, own_spread = state.fair_met[job], state.fair_spread[job]
    state.fair_met[job] = state.fair_spread[job] = 0.0  # it does not meet itself
    scale, least = (1 / own_gbps, 0.0) if own_gbps > 0 else (0.0, 1.0)
    mean, variance = 0.0, 0.0  # of the others on the fullest link so far
    widest = 0.0
    num_met = 0
    entry = 2 * arrays.gpu_first[job]
    for its in range(entry, entry + state.num_links[job]):
        link = state.fair_path[its]
        if state.fair_open[link] < 2:
            continue
        met, spread, shared = _met_on(arrays, state, link, scale, least)
        share = alone_gbps / arrays.uplink_gbps[link]
        here, here_variance = share * (1 + met) - 1, share * share * spread
        ahead = 0.0  # the chance that an earlier link is the fuller one
        if widest == 0:
            mean, variance = here, here_variance
        else:
            mean, variance, ahead = _larger_of(mean, variance, here, here_variance, share * shared)
        if its < entry + state.num_links[job] - 1:
            num_met = _load(arrays, state, link, num_met, ahead, share)
        widest = max(widest, share)
    state.fair_met[job], state.fair_spread[job] = own_met, own_spread
    if 0 < widest < 1:  # all links are faster than the job, so N may be negative
        held, variance, ahead = _larger_of(mean, variance, 0.0, 0.0, 0.0)
        mean = min(held, mean + 1 - widest)
    for at in range(num_met):
        state.fair_loading[state.fair_others[at]] = _NOT_MET
    return max(alone_gbps * _expected_part(mean, variance), own_gbps)


@part
def _met_on(
    arrays: Arrays, state: State, link: int, scale: float, least: float
) -> tuple[float, float, float]:
    """Return mean and variance of those met on a link, and their covariance with N so far."""
    mean, variance, shared = 0.0, 0.0, 0.0
    first = arrays.link_first[link]
    for place in range(first, first + state.fair_open[link]):
        other = state.fair_on_link[place]
        # One that is held up elsewhere counts for less than a contender.
        weight = max(least, min(1.0, state.fair_rate[other] * scale))
        mean += state.fair_met[other] * weight
        each = state.fair_spread[other] * weight * weight
        variance += each
        shared += max(0.0, state.fair_loading[other]) * each
    return mean, variance, shared


@part
def _load(arrays: Arrays, state: State, link: int, num_met: int, ahead: float, share: float) -> int:
    """Note by how much each other that comes makes N larger, on average; return how many were met so far."""
    for at in range(num_met):
        state.fair_loading[state.fair_others[at]] *= ahead
    first = arrays.link_first[link]
    for place in range(first, first + state.fair_open[link]):
        other = state.fair_on_link[place]
        if state.fair_loading[other] == _NOT_MET:
            state.fair_loading[other] = 0.0
            state.fair_others[num_met] = other
            num_met += 1
        state.fair_loading[other] += (1 - ahead) * share
    return num_met


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
