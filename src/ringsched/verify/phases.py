"""The verifier's own copy of exchanges that meet by chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from ringsched.verify.fair_shares import fair_rates

# What every job meets is worked out so often, from what was found the time before.
TIMES = 2


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
            met = {other: min(1.0, gbps / least) if least else 1.0 for other, gbps in crowded.items()}
            parts = [
                speeds[link]
                * left_for_one(
                    [(busy[other], met[other]) for other in met if other != job and link in links_of[other]]
                )
                for link in links_of[job]
            ]
            faster[job] = tau_at(job, max(least, min(alone_gbps[job], *parts)))
        taus = faster
    return taus


def left_for_one(others: Iterable[tuple[float, float]]) -> float:
    """Return the mean of 1 / (1 + N), N binomial, its mean and variance those of others there by chance.

    Examples
    --------
    >>> left_for_one([(0.5, 1.0)]), left_for_one([(1.0, 1.0), (1.0, 0.5)])
    (0.75, 0.4)
    """
    listed = list(others)
    mean = sum(busy * weight for busy, weight in listed)
    if mean == 0:
        return 1.0
    chance = sum((busy * weight) * (busy * weight + (1 - weight)) for busy, weight in listed) / mean
    if chance <= 1e-9:  # then it is a law of Poisson
        return (1 - math.exp(-mean)) / mean if mean > 1e-6 else 1 - mean / 2
    tries = mean / chance
    nobody = (1 - chance) ** (tries + 1) if chance < 1 else 0.0
    return (1 - nobody) / ((tries + 1) * chance)
