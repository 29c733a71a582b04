"""Exchanges that meet by chance, as docs/concepts/model.md writes it, in decimals of 60 digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple, TypeVar

Link = TypeVar("Link")
DIGITS = Context(prec=60)


class Phased(NamedTuple):
    """A job that crosses links, alone on them: what it exchanges, how fast, and all the rest."""

    gbit: Fraction
    gbps: Fraction
    rest_s: Fraction


def phased(
    jobs: Mapping[str, Phased],
    links_of: Mapping[str, Sequence[Link]],
    speeds: Mapping[Link, Fraction],
    crowded: Mapping[str, Fraction],
) -> dict[str, tuple[Fraction, Link | None]]:
    """Return how fast each job exchanges, and on which of its links it is slowed, the first of equals.

    `crowded` has the max-min fair rates of jobs that exchange all the time.
    """
    rates = dict(crowded)
    slowed: dict[str, Link | None] = dict.fromkeys(jobs)
    for _ in range(2):
        q = {name: _busy(job, rates[name]) for name, job in jobs.items()}
        for name, job in jobs.items():
            parts = {}
            for link in links_of[name]:
                others = [other for other in jobs if other != name and link in links_of[other]]
                w = {other: min(Fraction(1), crowded[other] / crowded[name]) for other in others}
                mean = sum((q[other] * w[other] for other in others), Fraction(0))
                variance = sum((q[o] * (1 - q[o]) * w[o] ** 2 for o in others), Fraction(0))
                parts[link] = speeds[link] * _mean_part(mean, variance)
            tightest = min(links_of[name], key=lambda link: parts[link])
            rates[name] = max(crowded[name], min(job.gbps, parts[tightest]))
            slowed[name] = tightest if parts[tightest] < job.gbps else None
    return {name: (rates[name], slowed[name]) for name in jobs}


def _busy(job: Phased, gbps: Fraction) -> Fraction:
    exchange_s = job.gbit / gbps
    # Rounded to far more digits than a float has: the fractions would grow with every job.
    return Fraction(round(exchange_s / (exchange_s + job.rest_s) * 10**50), 10**50)


def _mean_part(mean: Fraction, variance: Fraction) -> Fraction:
    """The mean of 1 / (1 + N), N binomial with this mean and variance: (1 - (1-p)^(n+1)) / ((n+1) p)."""
    if mean == 0:
        return Fraction(1)
    p = 1 - variance / mean
    n = mean / p
    with localcontext(DIGITS):
        quiet, power = _decimal(1 - p), _decimal(n + 1)
        nobody = Fraction(quiet**power) if quiet > 0 else Fraction(0)
    return (1 - nobody) / ((n + 1) * p)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
