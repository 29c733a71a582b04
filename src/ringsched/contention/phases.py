"""Links shared fairly at each moment by exchanges that meet by chance; engine/phases.py is its array twin."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import mul
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.contention.fair_shares import NO_LINK, FairShare, fair_shares

ROUNDS = 2  # as near to exchanges simulated one by one as many rounds (docs/concepts/model.md)
RARE = 1e-9  # a chance below it is as good as none
SAME = 1e-12  # a variance below it is rounding
EQUAL = 1 + 1e-12  # crowds that differ by rounding alone
AT_ONCE = 512  # jobs beside all others, so that large crowds need little memory

Floats = NDArray[np.float64]


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
    crossings, is_on = _crossings(rings, alone, uplink_gbps)
    crowded_gbps = np.array([crowded[job].gbps for job in rings])
    shares = crowded
    for _ in range(ROUNDS):
        met = np.array([_met(ring, shares[job].gbps) for job, ring in rings.items()])
        found = []
        for first in range(0, len(rings), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            weights = _weights(crowded_gbps, some)
            expected, varies = weights * met, weights * weights * (met * (1 - met))
            found += [_most_met(*each, is_on) for each in zip(crossings[some], expected, varies, strict=True)]
        shares = {
            job: _share(alone[job], crowded[job].gbps, others, link)
            for job, (others, link) in zip(rings, found, strict=True)
        }
    return shares


class Crossing(NamedTuple):
    """The links of a job that others cross too."""

    links: list[int]
    rows: list[int]  # of the links, where it is said who crosses them
    parts: list[float]  # the job's speed alone over that of each link: one that is faster has room for some


def _crossings(
    rings: Mapping[int, Ring], alone: Mapping[int, float], uplink_gbps: Sequence[float]
) -> tuple[list[Crossing], Floats]:
    """Return the crossings of all jobs, and who crosses each link: 1 for a job, in the order of jobs."""
    number = Counter(link for ring in rings.values() for link in ring.links)
    row = {link: at for at, link in enumerate(link for link in number if number[link] > 1)}
    is_on = np.zeros((len(row), len(rings)))
    crossings = []
    for place, (job, ring) in enumerate(rings.items()):
        links = [link for link in ring.links if link in row]
        rows = [row[link] for link in links]
        is_on[rows, place] = 1.0
        crossings.append(Crossing(links, rows, [alone[job] / uplink_gbps[link] for link in links]))
    return crossings, is_on


def _weights(crowded_gbps: Floats, some: slice) -> Floats:
    """Return what all count beside some; one that is held up elsewhere counts for less than a contender."""
    own_gbps = crowded_gbps[some, np.newaxis]
    weights = np.ones((len(own_gbps), len(crowded_gbps)))
    np.divide(crowded_gbps, own_gbps, out=weights, where=crowded_gbps < own_gbps)
    np.fill_diagonal(weights[:, some], 0.0)  # only others are met
    return weights


def _most_met(crossing: Crossing, expected: Floats, varies: Floats, is_on: Floats) -> tuple[Others, int]:
    """Return the others that a job meets on the fullest of its links, and which link that is on average.

    Parameters
    ----------
    expected, varies
        Mean and variance of what each other counts.
    """
    if not crossing.links:
        return Others(0.0, 0.0), NO_LINK
    on_its = is_on[crossing.rows]
    covariances = (on_its * varies) @ on_its.T
    most, at = fullest_of(crossing.parts, (on_its @ expected).tolist(), covariances.tolist())
    return most, crossing.links[at]


def _share(alone_gbps: float, crowded_gbps: float, others: Others, link: int) -> FairShare:
    gbps = max(crowded_gbps, alone_gbps * expected_part(others))
    return FairShare(gbps, link) if gbps < alone_gbps else FairShare(alone_gbps, NO_LINK)


def fullest_of(
    parts: Sequence[float], means: Sequence[float], covariances: Sequence[Sequence[float]]
) -> tuple[Others, int]:
    """Return the others that a job meets on the fullest of its links, and which link that is on average.

    Parameters
    ----------
    parts
        The job's speed alone over that of each link: one that is faster has room for some.
    means, covariances
        Of how many others are on each link.

    Examples
    --------
    >>> fullest_of([1.0, 0.5], [2.0, 3.0], [[0.0, 0.0], [0.0, 0.0]])
    (Others(mean=2.0, variance=0.0), 0)
    """
    most = Others(0.0, 0.0)
    fullest, largest = 0, 0.0
    loading: list[float] = []  # by how much another on each link so far makes N larger, on average
    for at, part in enumerate(parts):
        # In units of the job's speed alone.
        crowd = part * (1 + means[at])
        here, first = Others(crowd - 1, part * part * covariances[at][at]), 0.0
        if at > 0:
            together = sum(map(mul, loading, covariances[at]))
            here, first = larger_of(most, here, part * together)
            loading = [first * load for load in loading]
        loading.append((1 - first) * part)
        most = here
        if crowd > largest * EQUAL:
            fullest, largest = at, crowd
    return not_below_nobody(most, max(parts)), fullest


def larger_of(one: Others, other: Others, covariance: float) -> tuple[Others, float]:
    """Return the larger of two numbers, by Clark (1961), as if they were normal, and the first one's chance.

    Examples
    --------
    >>> larger_of(Others(2.0, 0.0), Others(1.0, 0.0), 0.0)
    (Others(mean=2.0, variance=0.0), 1.0)
    >>> coin = Others(0.5, 0.25)
    >>> [round(each, 3) for each in larger_of(coin, coin, 0.0)[0]]
    [0.782, 0.17]
    """
    spread_squared = one.variance + other.variance - 2 * covariance
    if spread_squared < SAME:
        return (other, 0.0) if other.mean > one.mean else (one, 1.0)
    spread = math.sqrt(spread_squared)
    ahead = (one.mean - other.mean) / spread
    first = 0.5 * math.erfc(-ahead / math.sqrt(2))
    tie = spread * math.exp(-ahead * ahead / 2) / math.sqrt(2 * math.pi)
    mean = one.mean * first + other.mean * (1 - first) + tie
    square = (
        (one.mean * one.mean + one.variance) * first
        + (other.mean * other.mean + other.variance) * (1 - first)
        + (one.mean + other.mean) * tie
    )
    return Others(mean, max(0.0, square - mean * mean)), first


def not_below_nobody(others: Others, widest: float) -> Others:
    """Return the larger of N and 0, where N may be as small as `widest` - 1: links faster than the job."""
    if widest >= 1:
        return others
    held, _ = larger_of(others, Others(0.0, 0.0), 0.0)
    return Others(min(held.mean, others.mean + 1 - widest), held.variance)


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


def _met(ring: Ring, gbps: float) -> float:
    """Return the part of its time in which a job exchanges."""
    return 1 - ring.rest_s / (ring.rest_s + ring.exchange_gbit / gbps) if gbps > 0 else 1.0
