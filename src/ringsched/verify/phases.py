"""The verifier's own copy of exchanges that meet by chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from ringsched.verify.fair_shares import fair_rates

# What every job meets is worked out so often, from what was found the time before.
TIMES = 2
Chances = Mapping[int, tuple[float, float]]  # of each other job: that it is there, and how much it takes then


def phased_taus(
    alone_gbps: Mapping[int, float],
    links_of: Mapping[int, Sequence[int]],
    speeds: Sequence[float],
    tau_at: Callable[[int, float], float],
) -> dict[int, float]:
    """Return tau of jobs whose exchanges share links fairly at each moment, and meet there by chance.

    Parameters
    ----------
    alone_gbps
        How fast each job exchanges with its links for itself.
    tau_at
        Seconds per iteration of a job that exchanges so fast.
    """
    # The slowest they can be: everybody exchanges all the time.
    crowded = fair_rates(alone_gbps, links_of, speeds)
    taus = {job: tau_at(job, gbps) for job, gbps in crowded.items()}
    for _ in range(TIMES):
        busy = {job: 1 - tau_at(job, math.inf) / tau for job, tau in taus.items()}
        faster = {}
        for job, least in crowded.items():
            # A job that is slowed elsewhere takes less than an equal part, in this ratio.
            weight = {other: min(1.0, gbps / least) if least else 1.0 for other, gbps in crowded.items()}
            there = {
                link: {
                    other: (busy[other], weight[other])
                    for other in crowded
                    if other != job and link in links_of[other]
                }
                for link in sorted(links_of[job])
            }
            ratios = {link: alone_gbps[job] / speeds[link] for link in there}
            faster[job] = tau_at(job, max(least, alone_gbps[job] * left_for_one(there, ratios)))
        taus = faster
    return taus


def left_for_one(there: Mapping[int, Chances], ratios: Mapping[int, float]) -> float:
    """Return the mean part of its speed alone that a job has on links with others, link by link in order.

    Examples
    --------
    >>> left_for_one({0: {1: (0.5, 1.0)}}, {0: 1.0})
    0.75
    >>> left_for_one({0: {1: (1.0, 1.0), 2: (1.0, 0.5)}}, {0: 1.0})
    0.4
    """
    crowd: tuple[float, float] | None = None
    known: set[int] = set()
    for link, others in there.items():
        if others:
            ratio = ratios[link]
            mean = ratio * (1 + sum(busy * weight for busy, weight in others.values())) - 1
            own = {job: busy * (1 - busy) * (ratio * weight) ** 2 for job, (busy, weight) in others.items()}
            common = sum(variance for job, variance in own.items() if job in known)
            here = mean, sum(own.values())
            crowd = here if crowd is None else _maximum(crowd, here, common)
            known |= others.keys()
    return 1.0 if crowd is None else _mean_part(*crowd)


def _maximum(a: tuple[float, float], b: tuple[float, float], common: float) -> tuple[float, float]:
    """Return mean and variance of the maximum of two normal variables (Clark 1961)."""
    (mean_a, variance_a), (mean_b, variance_b) = a, b
    difference = variance_a + variance_b - 2 * min(common, variance_a, variance_b)
    if difference < 1e-12:
        return max(a, b, key=lambda each: each[0])
    deviation = math.sqrt(difference)
    z = (mean_a - mean_b) / deviation
    below = (1 + math.erf(z / math.sqrt(2))) / 2
    density = math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    first = mean_a * below + mean_b * (1 - below) + deviation * density
    second = (
        (mean_a**2 + variance_a) * below
        + (mean_b**2 + variance_b) * (1 - below)
        + (mean_a + mean_b) * deviation * density
    )
    return first, max(0.0, second - first**2)


def _mean_part(mean: float, variance: float) -> float:
    """Return the mean of 1 / (1 + N), N binomial with this mean and variance."""
    if mean <= 0:
        return 1.0
    chance = 1 - variance / mean
    if chance < 1e-9:  # then it is a law of Poisson
        return (1 - math.exp(-mean)) / mean if mean > 1e-6 else 1 - mean / 2
    tries = mean / chance
    nobody = (1 - chance) ** (tries + 1) if chance < 1 else 0.0
    return (1 - nobody) / ((tries + 1) * chance)
