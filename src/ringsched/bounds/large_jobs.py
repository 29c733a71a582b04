"""Lower bounds on the makespan by large or long jobs, which keep servers or GPUs from other jobs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ringsched.bounds.work import Array, Work, choices, plain, worst_releases
from ringsched.model import Bound

ALIKE = 1 - 1e-12  # durations so close count as equal: their last digits are chance


def long_jobs(work: Work) -> Bound:
    """A GPU that runs a job of `long` or more has no time for another of `short` or more before long + short.

    Let all jobs released at or after r take L in all, L < long + short, and leave out those below `short`.
    Each job of `long` or more has its GPUs to itself: they may count as taken for the whole of L. The
    remaining jobs must fit into the GPUs that are left: L >= their GPU-seconds / those GPUs.
    """
    found = [(*_best_pair(work, release), release) for release in worst_releases(work)]
    length, short, long, release = max(found, key=lambda pair: pair[0] + pair[3])
    seconds = work.problem.clock.seconds
    return Bound(
        name="long-jobs",
        value_s=seconds(release + length),
        terms={"release_s": seconds(release), "short_s": seconds(short), "long_s": seconds(long)},
    )


def _best_pair(work: Work, release: Any) -> tuple[Any, Any, Any]:
    """Return the best length, with its `short` and `long`.

    For each `short`, more long jobs raise the quotient, once it is above them, and lower long + short:
    the best number of them is where the two meet, found by bisection for all `short` at once.
    """
    counted = work.release >= release
    order = np.argsort(-work.duration[counted], kind="stable")
    durations, gpus = work.duration[counted][order], work.gpus[counted][order]
    areas, widths = _sums(gpus * durations), _sums(gpus)
    last = np.arange(1, len(durations) + 1)  # short = the duration of the last job counted
    low, high = np.zeros_like(last), last.copy()
    while (low < high).any():
        middle = (low + high + 1) // 2
        meets = _fits(work, areas, widths, durations, last, middle)
        low, high = np.where(meets, middle, low), np.where(meets, high, middle - 1)
    pairs = {
        (plain(durations[at]), plain(durations[min(long, at + 1) - 1]))
        for at in _promising(work, areas, widths, durations, last, low)
        for long in (max(1, int(low[at])), int(low[at]) + 1)
    }
    return max((length_by_long_jobs(work, release, short, long), short, long) for short, long in pairs)


def length_by_long_jobs(work: Work, release: Any, short: Any, long: Any) -> Any:
    """Return the least L for the jobs released from `release` on."""
    counted = (work.release >= release) & (work.duration >= short * ALIKE)
    is_long = counted & (work.duration >= long * ALIKE)
    taken = (work.gpus * work.duration)[counted & ~is_long].sum()
    free = work.problem.num_gpus - work.gpus[is_long].sum()
    if free <= 0 and (free < 0 or taken > 0):
        return long + short
    return min(long + short, plain(work.quotient(taken, free)) if taken else 0)


def _fits(work: Work, areas: Array, widths: Array, durations: Array, last: Array, num_long: Array) -> Array:
    """Whether, with so many long jobs, the quotient is no more than long + short."""
    taken, free = areas[last] - areas[num_long], work.problem.num_gpus - widths[num_long]
    limit = durations[np.maximum(num_long, 1) - 1] + durations[last - 1]
    fits: Array = (num_long == 0) | ((free > 0) & (taken <= limit * free))
    return fits


def _promising(
    work: Work, areas: Array, widths: Array, durations: Array, last: Array, num_long: Array
) -> list[int]:
    """Return the few `short` with the best lengths, by a first estimate."""
    estimates = np.zeros(len(last))
    for number in (num_long, np.minimum(num_long + 1, last)):
        free = (work.problem.num_gpus - widths[number]).astype(float)
        taken = (areas[last] - areas[number]).astype(float)
        limit = (durations[np.maximum(number, 1) - 1] + durations[last - 1]).astype(float)
        quotient = np.where(free > 0, taken / np.maximum(free, 1), math.inf)
        estimates = np.maximum(estimates, np.minimum(limit, quotient))
    return [int(at) for at in np.argsort(-estimates, kind="stable")[:8]]


def _sums(values: Array) -> Array:
    return np.concatenate((values[:1] * 0, np.cumsum(values)))


def server_classes(work: Work) -> Bound | None:
    """A job sits in one server, where it takes units of `unit` GPUs, or is spread, and takes longer.

    A server of c GPUs has c // unit units, all servers K of them, and a packed job takes gpus // unit. In
    L the packed jobs take at most K x L unit-seconds, and all jobs at most N x L GPU-seconds. Put a price
    on a unit-second, in GPU-seconds: each job pays at least the less of being packed, its GPU-seconds and
    its units, and being spread, its GPU-seconds there. So L >= the sum of that / (N + price x K). Any
    price will do; the best is one at which some job, `job`, is as well off packed as spread.
    """
    guesses = [
        (release + length, release, unit, job)
        for release in worst_releases(work)
        for length, unit, job in _best_prices(work, release)
    ]
    if not guesses:
        return None
    best = sorted(guesses, key=lambda guess: -guess[0])[:2]
    ends = [
        (release + length_by_classes(work, release, unit, job), release, unit, job)
        for _, release, unit, job in best
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


def length_by_classes(work: Work, release: Any, unit: int, job: int) -> Any:
    """Return the least L at the price set by `job`, exact when slotted."""
    fastest, gpus = work.fastest, work.problem.gpus
    # The price is extra / taken; all is multiplied by what is taken, so that slots stay whole.
    extra = gpus[job] * (fastest.spread[job] - fastest.packed[job])
    taken = gpus[job] // unit * fastest.packed[job]
    paid = sum(
        min((taken * size + extra * (size // unit)) * packed, taken * size * spread)
        for size, packed, spread, released in zip(
            gpus, fastest.packed, fastest.spread, fastest.start, strict=True
        )
        if released >= release
    )
    return work.quotient(paid, taken * work.problem.num_gpus + extra * _num_units(work, unit))


def _num_units(work: Work, unit: int) -> int:
    network = work.problem.network
    return sum(capacity // unit for capacity in network.capacity[: network.num_servers])


def _best_prices(work: Work, release: Any) -> Iterator[tuple[float, int, int]]:
    """Yield, for each unit, the best length, the unit and the job that sets its price.

    Units for which no job has a choice are left out.
    """
    counted = work.release >= release
    gpus = work.gpus[counted].astype(float)
    packed, spread = (
        np.array(durations, dtype=float)[counted] for durations in (work.fastest.packed, work.fastest.spread)
    )
    area, held = gpus * np.minimum(packed, spread), np.where(np.isfinite(packed), packed, 0.0)
    with np.errstate(invalid="ignore"):
        extra = np.where(spread > packed, gpus * (spread - packed), 0.0)
    for unit in choices(work.gpus):
        units = gpus // unit * held
        price = np.divide(extra, units, out=np.zeros_like(extra), where=units > 0)
        choosing = np.flatnonzero((price > 0) & (price < math.inf))
        if not len(choosing):
            continue
        prices = np.sort(price[choosing])
        paid = _paid(price, area, units, prices)
        lengths = paid / (work.problem.num_gpus + prices * _num_units(work, unit))
        best = int(np.argmax(lengths))
        setter = choosing[np.argsort(price[choosing], kind="stable")[best]]
        yield float(lengths[best]), unit, int(np.flatnonzero(counted)[setter])


def _paid(price: Array, area: Array, units: Array, prices: Array) -> Array:
    """Return what all jobs pay together at each price: their area, and their unit-time up to their own."""
    order = np.argsort(price, kind="stable")
    ordered, weights = price[order], units[order]
    first = np.searchsorted(ordered, prices, side="right")  # from here on jobs stay packed
    finite = np.where(np.isfinite(ordered), ordered, 0.0)
    below = np.concatenate(([0.0], np.cumsum(finite * weights)))[first]
    above = weights.sum() - np.concatenate(([0.0], np.cumsum(weights)))[first]
    paid: Array = area.sum() + below + prices * above
    return paid
