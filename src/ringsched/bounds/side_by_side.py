"""Jobs too large to run side by side."""

from __future__ import annotations

import numpy as np

from ringsched.bounds.work import Work, choices
from ringsched.model import Bound


def side_by_side(work: Work) -> Bound | None:
    """Of jobs with `unit` GPUs or more no more than N // unit fit side by side.

    A job counts as often as the unit goes into it, gpus // unit: jobs that run together have at most N
    GPUs, and rounding down each of them gives no more than rounding down their sum. So the durations,
    each counted like that, need at least their sum / (N // unit) after any instant, as in `work-left`.
    With the smallest size above N / 2 as the unit this is the core's bound on large jobs.
    """
    capacity = work.problem.num_gpus
    ends = [
        (*work.best_start(work.gpus // unit, capacity // unit), unit)
        for unit in choices(work.gpus)
        if unit > 1
    ]
    if not ends:
        return None
    reached, instant, left, unit = max(ends, key=lambda end: end[0])
    seconds = work.problem.clock.seconds
    return Bound(
        name="side-by-side",
        value_s=seconds(reached),
        terms={
            "from_s": seconds(instant),
            "unit": unit,
            "at_once": capacity // unit,
            "durations_s": seconds(left),
        },
    )


def wide_jobs(work: Work) -> Bound | None:
    """Beside a job that leaves fewer than `least` GPUs free no job of `least` or more fits.

    Leave out the jobs with fewer than `least` GPUs. Whenever one with more than N - least runs, it runs
    alone, and may count as N GPUs; all others count as they are. The area bound holds for that too.
    """
    capacity = work.problem.num_gpus
    ends = []
    for wide in choices(work.gpus[2 * work.gpus > capacity]):
        least = capacity - wide + 1
        amount = np.where(work.gpus >= wide, capacity, np.where(work.gpus < least, 0, work.gpus))
        ends.append((*work.best_start(amount, capacity), least))
    if not ends:
        return None
    reached, instant, left, least = max(ends, key=lambda end: end[0])
    seconds = work.problem.clock.seconds
    return Bound(
        name="wide-jobs",
        value_s=seconds(reached),
        terms={
            "from_s": seconds(instant),
            "least": least,
            "gpu_seconds": seconds(left),
            "gpus": capacity,
        },
    )
