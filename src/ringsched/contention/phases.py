"""Links shared fairly at each moment by exchanges that meet by chance; engine/phases.py is its array twin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ringsched.contention.fair_shares import NO_LINK, FairShare, fair_shares

ROUNDS = 2  # as near to exchanges simulated one by one as many rounds (docs/concepts/model.md)
RARE = 1e-9  # a chance below it is as good as none


class Ring(NamedTuple):
    """A job that crosses links and exchanges something: first it exchanges, then it does the rest."""

    exchange_gbit: float
    rest_s: float
    free_gbps: float  # of its slowest part that knows no contention
    links: Sequence[int]  # ascending


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
    wishes = {
        job: min(ring.free_gbps, *(uplink_gbps[link] for link in ring.links)) for job, ring in rings.items()
    }
    together = fair_shares(wishes, {job: ring.links for job, ring in rings.items()}, uplink_gbps)
    on_link: dict[int, list[int]] = {}
    for job, ring in rings.items():
        for link in ring.links:
            on_link.setdefault(link, []).append(job)
    shares = together
    for _ in range(ROUNDS):
        met = {job: _met(ring, shares[job].gbps) for job, ring in rings.items()}
        found = {}
        for job, ring in rings.items():
            best = FairShare(wishes[job], NO_LINK)
            for link in ring.links:
                others = [other for other in on_link[link] if other != job]
                weights = [_weight(together[other].gbps, together[job].gbps) for other in others]
                part = expected_part([met[other] for other in others], weights)
                if uplink_gbps[link] * part < best.gbps:
                    best = FairShare(max(together[job].gbps, uplink_gbps[link] * part), link)
            found[job] = best
        shares = found
    return shares


def expected_part(chances: Sequence[float], weights: Sequence[float]) -> float:
    """Return the expected part 1 / (1 + N) of a link that a job has beside N others, each there by chance.

    N is taken as binomial, with its mean and variance: exact for others that are alike, and for those that
    are always there.

    Examples
    --------
    >>> expected_part([], []), expected_part([1.0, 1.0], [1.0, 1.0]), expected_part([0.5], [1.0])
    (1.0, 0.3333333333333333, 0.75)
    """
    mean = math.fsum(chance * weight for chance, weight in zip(chances, weights, strict=True))
    if mean <= 0:
        return 1.0
    # Mean less variance; over the mean it is the chance of a binomial law.
    dense = math.fsum(
        chance * weight * (1 - weight + chance * weight)
        for chance, weight in zip(chances, weights, strict=True)
    )
    chance = dense / mean
    if chance < RARE:
        return -math.expm1(-mean) / mean
    if chance >= 1:
        return 1 / (1 + mean)
    return -math.expm1((mean / chance + 1) * math.log1p(-chance)) / (mean + chance)


def _met(ring: Ring, gbps: float) -> float:
    """Return the part of its time in which a job exchanges."""
    return 1 - ring.rest_s / (ring.rest_s + ring.exchange_gbit / gbps) if gbps > 0 else 1.0


def _weight(others_gbps: float, own_gbps: float) -> float:
    """Return for how much of a contender one counts that is held up elsewhere."""
    return 1.0 if others_gbps >= own_gbps else others_gbps / own_gbps
