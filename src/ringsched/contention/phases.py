"""Links shared fairly at each moment by exchanges that meet by chance; engine/phases.py is its array twin."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ringsched.contention.fair_shares import NO_LINK, FairShare, fair_shares

ROUNDS = 2  # as near to exchanges simulated one by one as many rounds (docs/concepts/model.md)
RARE = 1e-9  # a chance below it is as good as none
SAME = 1e-12  # a variance below it is rounding


class Ring(NamedTuple):
    """A job that crosses links and exchanges something: first it exchanges, then it does the rest."""

    exchange_gbit: float
    rest_s: float
    free_gbps: float  # of its slowest part that knows no contention
    links: Sequence[int]  # ascending


class Others(NamedTuple):
    """How many others a job meets: the mean and the variance of a number that is chance."""

    mean: float
    variance: float


def phase_shares(rings: Mapping[int, Ring], uplink_gbps: Sequence[float]) -> dict[int, FairShare]:
    """Return how fast each job exchanges on average while it does, and the link that keeps it from more.

    At first as if all exchanged all the time. From that follows which part of its time each does, so how
    many of them another meets on a link, and from that how fast it is; and so once more.

    Examples
    --------
    >>> busy = Ring(exchange_gbit=1.0, rest_s=0.0, free_gbps=math.inf, links=[0])
    >>> phase_shares({0: busy, 1: busy}, [10.0])[0]
    FairShare(gbps=5.0, link=0)
    >>> half = busy._replace(rest_s=0.1)  # as long as the exchange alone takes
    >>> round(phase_shares({0: half, 1: half}, [10.0])[0].gbps, 2)
    7.0
    """
    alone = {
        job: min(ring.free_gbps, *(uplink_gbps[link] for link in ring.links)) for job, ring in rings.items()
    }
    crowded = fair_shares(alone, {job: ring.links for job, ring in rings.items()}, uplink_gbps)
    on_link: dict[int, list[int]] = {}
    for job, ring in rings.items():
        for link in ring.links:
            on_link.setdefault(link, []).append(job)
    shares = crowded
    for _ in range(ROUNDS):
        met = {job: _met(ring, shares[job].gbps) for job, ring in rings.items()}
        shares = {
            job: _share(
                crowded[job].gbps,
                alone[job],
                {
                    link: {
                        other: (met[other], _weight(crowded[other].gbps, crowded[job].gbps))
                        for other in on_link[link]
                        if other != job
                    }
                    for link in ring.links
                },
                uplink_gbps,
            )
            for job, ring in rings.items()
        }
    return shares


def _share(
    crowded_gbps: float,
    alone_gbps: float,
    met_on: Mapping[int, Mapping[int, tuple[float, float]]],
    uplink_gbps: Sequence[float],
) -> FairShare:
    """Return the share of a job that meets others, each by a chance and with a weight, on its links."""
    most: Others | None = None
    fullest, largest = NO_LINK, 0.0
    before: set[int] = set()
    for link, others in met_on.items():
        if not others:
            continue
        # In units of the job's speed alone: a link that is faster has room for some.
        part = alone_gbps / uplink_gbps[link]
        mean = math.fsum(chance * weight for chance, weight in others.values())
        here = Others(part * (1 + mean) - 1, part * part * _variance(others.values()))
        again = (each for other, each in others.items() if other in before)
        most = here if most is None else larger_of(most, here, part * part * _variance(again))
        if fullest == NO_LINK or here.mean > largest:
            fullest, largest = link, here.mean
        before |= others.keys()
    if most is None:
        return FairShare(alone_gbps, NO_LINK)
    gbps = max(crowded_gbps, alone_gbps * expected_part(most))
    return FairShare(gbps, fullest) if gbps < alone_gbps else FairShare(alone_gbps, NO_LINK)


def larger_of(one: Others, other: Others, covariance: float) -> Others:
    """Return mean and variance of the larger of two numbers, by Clark (1961), as if they were normal.

    Examples
    --------
    >>> larger_of(Others(2.0, 0.0), Others(1.0, 0.0), 0.0)
    Others(mean=2.0, variance=0.0)
    >>> [round(each, 3) for each in larger_of(Others(0.5, 0.25), Others(0.5, 0.25), 0.0)]  # of two coins
    [0.782, 0.17]
    """
    spread_squared = one.variance + other.variance - 2 * min(covariance, one.variance, other.variance)
    if spread_squared < SAME:
        return other if other.mean > one.mean else one
    spread = math.sqrt(spread_squared)
    ahead = (one.mean - other.mean) / spread
    first = 0.5 * math.erfc(-ahead / math.sqrt(2))  # the chance that the first is the larger
    tie = spread * math.exp(-ahead * ahead / 2) / math.sqrt(2 * math.pi)
    mean = one.mean * first + other.mean * (1 - first) + tie
    square = (
        (one.mean * one.mean + one.variance) * first
        + (other.mean * other.mean + other.variance) * (1 - first)
        + (one.mean + other.mean) * tie
    )
    return Others(mean, max(0.0, square - mean * mean))


def expected_part(others: Others) -> float:
    """Return the expected part 1 / (1 + N) of a link beside N others, N as if binomial.

    Exact for others that are alike, and for those that are always there.

    Examples
    --------
    >>> expected_part(Others(0.0, 0.0)), expected_part(Others(2.0, 0.0)), expected_part(Others(0.5, 0.25))
    (1.0, 0.3333333333333333, 0.75)
    """
    mean = others.mean
    if mean <= 0:
        return 1.0
    chance = 1 - others.variance / mean
    if chance < RARE:
        return -math.expm1(-mean) / mean
    if chance >= 1:
        return 1 / (1 + mean)
    return -math.expm1((mean / chance + 1) * math.log1p(-chance)) / (mean + chance)


def _variance(others: Iterable[tuple[float, float]]) -> float:
    return math.fsum(chance * (1 - chance) * weight * weight for chance, weight in others)


def _met(ring: Ring, gbps: float) -> float:
    """Return the part of its time in which a job exchanges."""
    return 1 - ring.rest_s / (ring.rest_s + ring.exchange_gbit / gbps) if gbps > 0 else 1.0


def _weight(others_gbps: float, own_gbps: float) -> float:
    """Return for how much of a contender one counts that is held up elsewhere."""
    return 1.0 if others_gbps >= own_gbps else others_gbps / own_gbps
