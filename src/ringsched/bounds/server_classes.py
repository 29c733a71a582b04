"""Jobs too large for many servers: in a large one, or spread and slower."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ringsched.bounds.work import Array, Work, choices, worst_releases
from ringsched.model import Bound


def server_classes(work: Work) -> Bound | None:
    """A job sits in one server, where it takes units of `unit` GPUs, or is spread, and takes longer.

    A server of c GPUs has c // unit units, all servers K of them, and a job inside takes gpus // unit. In
    L the jobs inside take at most K x L unit-seconds, and all jobs at most N x L GPU-seconds. Put a price
    on a unit-second, in GPU-seconds: each job pays at least the less of being inside, its GPU-seconds and
    its units, and being spread, its GPU-seconds there. So L >= the sum of that / (N + price x K). Any
    price will do; the best is one at which some job, `job`, is as well off inside as spread.
    """
    guesses = [
        (release + length, release, unit, job)
        for release in worst_releases(work)
        for unit in choices(work.gpus)
        for length, job in _best_price(work, release, unit)
    ]
    if not guesses:
        return None
    best = sorted(guesses, key=lambda guess: -guess[0])[:2]
    ends = [
        (release + length_of(work, release, unit, job), release, unit, job) for _, release, unit, job in best
    ]
    reached, release, unit, job = max(ends, key=lambda end: end[0])
    seconds = work.problem.clock.seconds
    return Bound(
        name="server-classes",
        value_s=seconds(reached),
        terms={
            "release_s": seconds(release),
            "unit": unit,
            "units": _num_units(work, unit),
            "job": work.problem.scenario.jobs[job].name,
        },
    )


def length_of(work: Work, release: Any, unit: int, job: int) -> Any:
    """Return the least L at the price set by `job`, exact when slotted."""
    fastest, gpus = work.fastest, work.problem.gpus
    # The price is extra / taken; all is multiplied by what is taken, so that slots stay whole.
    extra = gpus[job] * (fastest.spread[job] - fastest.inside[job])
    taken = gpus[job] // unit * fastest.inside[job]
    paid = sum(
        min((taken * size + extra * (size // unit)) * inside, taken * size * spread)
        for size, inside, spread, released in zip(
            gpus, fastest.inside, fastest.spread, work.problem.release, strict=True
        )
        if released >= release
    )
    return work.quotient(paid, taken * work.problem.num_gpus + extra * _num_units(work, unit))


def _num_units(work: Work, unit: int) -> int:
    network = work.problem.network
    return sum(capacity // unit for capacity in network.capacity[: network.num_servers])


def _best_price(work: Work, release: Any, unit: int) -> Iterator[tuple[float, int]]:
    """Yield the best length and the job that sets its price, if there is a job with a choice."""
    counted = work.release >= release
    gpus = work.gpus[counted].astype(float)
    inside, spread = (
        np.array(durations, dtype=float)[counted] for durations in (work.fastest.inside, work.fastest.spread)
    )
    units = work.gpus[counted] // unit * np.where(np.isfinite(inside), inside, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        price = np.where((units > 0) & (spread > inside), gpus * (spread - inside) / units, 0.0)
    choosing = np.flatnonzero((price > 0) & (price < math.inf))
    if not len(choosing):
        return
    prices = np.sort(price[choosing])
    paid = _paid(price, gpus * np.minimum(inside, spread), units, prices)
    lengths = paid / (work.problem.num_gpus + prices * _num_units(work, unit))
    best = int(np.argmax(lengths))
    setter = choosing[np.argsort(price[choosing], kind="stable")[best]]
    yield float(lengths[best]), int(np.flatnonzero(counted)[setter])


def _paid(price: Array, area: Array, units: Array, prices: Array) -> Array:
    """Return what all jobs pay together at each price: their area, and their unit-time up to their own."""
    order = np.argsort(price, kind="stable")
    ordered, weights = price[order], units[order]
    first = np.searchsorted(ordered, prices, side="right")  # from here on jobs stay inside
    finite = np.where(np.isfinite(ordered), ordered, 0.0)
    below = np.concatenate(([0.0], np.cumsum(finite * weights)))[first]
    above = weights.sum() - np.concatenate(([0.0], np.cumsum(weights)))[first]
    paid: Array = area.sum() + below + prices * above
    return paid
