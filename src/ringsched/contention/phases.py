"""Links shared fairly at each moment by exchanges that meet by chance; engine/phases.py is its array twin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.contention.fair_shares import NO_LINK, FairShare, fair_shares

ROUNDS = 2  # as near to exchanges simulated one by one as many rounds (docs/concepts/model.md)
RARE = 1e-9  # a chance below it is as good as none
SAME = 1e-12  # a variance below it is rounding

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
    place = {job: at for at, job in enumerate(rings)}
    members: dict[int, list[int]] = {}
    for job, ring in rings.items():
        for link in ring.links:
            members.setdefault(link, []).append(place[job])
    on_link = {link: np.array(places) for link, places in members.items()}
    crowded_gbps = np.array([crowded[job].gbps for job in rings])
    shares = crowded
    for _ in range(ROUNDS):
        met = np.array([_met(ring, shares[job].gbps) for job, ring in rings.items()])
        shares = {
            job: _share(place[job], alone[job], ring.links, uplink_gbps, on_link, met, crowded_gbps)
            for job, ring in rings.items()
        }
    return shares


def _share(
    place: int,
    alone_gbps: float,
    links: Sequence[int],
    uplink_gbps: Sequence[float],
    on_link: Mapping[int, NDArray[np.int64]],
    met: Floats,
    crowded_gbps: Floats,
) -> FairShare:
    """Return the share of a job that meets others, each by a chance and with a weight, on its links."""
    own_gbps = crowded_gbps[place]
    most: Others | None = None
    fullest, largest, widest = NO_LINK, 0.0, 0.0
    loading = np.zeros(len(met))  # by how much each other that comes makes N larger, on average
    for link in links:
        others = on_link[link][on_link[link] != place]
        if not len(others):
            continue
        # In units of the job's speed alone: a link that is faster has room for some.
        part = alone_gbps / uplink_gbps[link]
        # One that is held up elsewhere counts for less than a contender.
        weight = np.minimum(1.0, crowded_gbps[others] / own_gbps) if own_gbps > 0 else np.ones(len(others))
        each = met[others] * (1 - met[others]) * weight * weight
        here = Others(part * (1 + math.fsum(met[others] * weight)) - 1, part * part * float(each.sum()))
        if most is None:
            most = here
            loading[others] = part
        else:
            most, first = larger_of(most, here, part * float(loading[others] @ each))
            loading *= first
            loading[others] += (1 - first) * part
        if fullest == NO_LINK or here.mean > largest:
            fullest, largest = link, here.mean
        widest = max(widest, part)
    if most is None:
        return FairShare(alone_gbps, NO_LINK)
    gbps = max(float(own_gbps), alone_gbps * expected_part(not_below_nobody(most, widest)))
    return FairShare(gbps, fullest) if gbps < alone_gbps else FairShare(alone_gbps, NO_LINK)


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
