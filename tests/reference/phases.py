"""Exchanges that meet by chance, as docs/concepts/model.md writes it, in fractions and long decimals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from statistics import NormalDist
from typing import NamedTuple, TypeVar

Link = TypeVar("Link")
DIGITS = Context(prec=60)


class Phased(NamedTuple):
    """A job that crosses links: what it exchanges, how fast alone, and tau by the rate of its exchange."""

    gbit: Fraction
    gbps: Fraction
    tau: Callable[[Fraction], Fraction]


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
            means: dict[Link, Fraction] = {}
            n: tuple[Fraction, Fraction] | None = None
            loading: dict[str, Fraction] = {}  # by how much each other makes N larger, on average
            widest = Fraction(0)
            for link in links_of[name]:
                others = [other for other in jobs if other != name and link in links_of[other]]
                if not others:
                    continue
                ratio = job.gbps / speeds[link]
                w = {other: min(Fraction(1), crowded[other] / crowded[name]) for other in others}
                means[link] = ratio * (1 + sum((q[o] * w[o] for o in others), Fraction(0))) - 1
                own = {o: q[o] * (1 - q[o]) * w[o] ** 2 for o in others}
                here = means[link], ratio**2 * sum(own.values(), Fraction(0))
                common = sum((ratio * loading.get(o, Fraction(0)) * own[o] for o in others), Fraction(0))
                n, below = (here, Fraction(0)) if n is None else _maximum(n, here, common)
                loading = {o: _rounded(below * before) for o, before in loading.items()}
                for o in others:
                    loading[o] = loading.get(o, Fraction(0)) + (1 - below) * ratio
                widest = max(widest, ratio)
            if n is not None and widest < 1:
                held, _ = _maximum(n, (Fraction(0), Fraction(0)), Fraction(0))
                n = min(held[0], n[0] + 1 - widest), held[1]
            part = Fraction(1) if n is None else _mean_part(*n)
            rates[name] = max(crowded[name], job.gbps * part)
            slowed[name] = max(means, key=lambda link: means[link]) if part < 1 else None
    return {name: (rates[name], slowed[name]) for name in jobs}


def _maximum(
    one: tuple[Fraction, Fraction], other: tuple[Fraction, Fraction], covariance: Fraction
) -> tuple[tuple[Fraction, Fraction], Fraction]:
    """Clark's moments of the maximum of two normal variables, and the chance that it is the first."""
    (m1, v1), (m2, v2) = one, other
    a2 = v1 + v2 - 2 * covariance
    if a2 < Fraction(1, 10**12):
        return (other, Fraction(0)) if m2 > m1 else (one, Fraction(1))
    a = math.sqrt(a2)
    normal, z = NormalDist(), float(m1 - m2) / a
    below, density = Fraction(normal.cdf(z)), Fraction(normal.pdf(z) * a)
    first = m1 * below + m2 * (1 - below) + density
    second = (m1**2 + v1) * below + (m2**2 + v2) * (1 - below) + (m1 + m2) * density
    return (_rounded(first), _rounded(max(Fraction(0), second - first**2))), below


def _rounded(value: Fraction) -> Fraction:
    """To far more digits than a float has: else fractions would grow with every job."""
    return Fraction(round(value * 10**50), 10**50)


def _busy(job: Phased, gbps: Fraction) -> Fraction:
    return _rounded(job.gbit / gbps / job.tau(gbps))


def _mean_part(mean: Fraction, variance: Fraction) -> Fraction:
    """The mean of 1 / (1 + N), N binomial with this mean and variance: (1 - (1-p)^(n+1)) / ((n+1) p)."""
    if mean <= 0:
        return Fraction(1)
    p = 1 - variance / mean
    if p < Fraction(1, 10**9):  # Poisson's law
        return Fraction(-math.expm1(-mean) / float(mean))
    n = mean / p
    with localcontext(DIGITS):
        quiet, power = _decimal(1 - p), _decimal(n + 1)
        nobody = Fraction(quiet**power) if quiet > 0 else Fraction(0)
    return (1 - nobody) / ((n + 1) * p)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
