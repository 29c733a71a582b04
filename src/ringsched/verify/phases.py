"""The verifier's own copy of exchanges that meet by chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ringsched.verify.fair_shares import fair_rates

# What every job meets is worked out so often, from what was found the time before.
TIMES = 2
Vectors = Mapping[int, np.ndarray[Any, Any]]  # of each link: an entry for every job


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
    jobs = sorted(crowded)
    least = np.array([crowded[job] for job in jobs])
    there: dict[int, np.ndarray[Any, Any]] = {}
    for link in {link for job in jobs for link in links_of[job]}:
        there[link] = np.array([link in links_of[job] for job in jobs])
    taus = {job: tau_at(job, crowded[job]) for job in jobs}
    for _ in range(TIMES):
        busy = np.array([1 - tau_at(job, math.inf) / taus[job] for job in jobs])
        faster = {}
        for at, job in enumerate(jobs):
            # A job that is slowed elsewhere takes less than an equal part, in this ratio.
            weight = np.minimum(1.0, least / least[at]) if least[at] else np.ones(len(jobs))
            weight[at] = 0.0
            comes = {link: there[link] * weight * busy for link in sorted(links_of[job])}
            varies = weight**2 * busy * (1 - busy)
            present = {link: there[link].sum() > 1 for link in comes}
            ratios = {link: alone_gbps[job] / speeds[link] for link in comes if present[link]}
            part = left_for_one(comes, {link: there[link] * varies for link in comes}, ratios)
            faster[job] = tau_at(job, max(crowded[job], alone_gbps[job] * part))
        taus = faster
    return taus


def left_for_one(comes: Vectors, varies: Vectors, ratios: Mapping[int, float]) -> float:
    """Return the mean part of its speed alone that a job has on links with others, link by link in order.

    Parameters
    ----------
    comes, varies
        Of each link: what each other takes on it on average, and the variance of that.
    ratios
        Of each link with others on it: the job's speed alone over that of the link.

    Examples
    --------
    >>> left_for_one({0: np.array([0.5])}, {0: np.array([0.25])}, {0: 1.0})
    0.75
    >>> left_for_one({0: np.array([1.0, 0.5])}, {0: np.zeros(2)}, {0: 1.0})
    0.4
    """
    crowd: tuple[float, float] | None = None
    loading: np.ndarray[Any, Any] = np.zeros(0)
    for link, ratio in ratios.items():
        here = ratio * (1 + float(comes[link].sum())) - 1, ratio**2 * float(varies[link].sum())
        on_it = ratio * (varies[link] > 0)
        if crowd is None:
            crowd, loading = here, on_it
        else:
            crowd, chance = _maximum(crowd, here, ratio * float((loading * varies[link]).sum()))
            loading = chance * loading + (1 - chance) * on_it
    if crowd is None:
        return 1.0
    if max(ratios.values()) < 1:  # nobody is the fewest there can be
        limit = crowd[0] + 1 - max(ratios.values())
        (mean, variance), _ = _maximum(crowd, (0.0, 0.0), 0.0)
        crowd = min(mean, limit), variance
    return _mean_part(*crowd)


def _maximum(
    a: tuple[float, float], b: tuple[float, float], common: float
) -> tuple[tuple[float, float], float]:
    """Return mean and variance of the maximum of two normals (Clark 1961), and how often it is a."""
    (mean_a, variance_a), (mean_b, variance_b) = a, b
    difference = variance_a + variance_b - 2 * common
    if difference < 1e-12:
        return (b, 0.0) if mean_b > mean_a else (a, 1.0)
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
    return (first, max(0.0, second - first**2)), below


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
