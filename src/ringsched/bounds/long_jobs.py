"""GPUs that a long job leaves too little time for any other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ringsched.bounds.work import Array, Work, plain, worst_releases
from ringsched.model import Bound

ALIKE = 1 - 1e-12  # durations so close count as equal: their last digits are chance


def long_jobs(work: Work) -> Bound:
    """A GPU that runs a job of `long` or more has no time for another of `short` or more before long + short.

    Let all jobs released at or after r take L in all, L < long + short, and leave out those below `short`.
    Each job of `long` or more has its GPUs to itself: they may count as taken for the whole of L. What the
    others take must fit into the GPUs that are left: L >= their GPU-seconds / those GPUs.
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
    return max((length_of(work, release, short, long), short, long) for short, long in pairs)


def length_of(work: Work, release: Any, short: Any, long: Any) -> Any:
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
