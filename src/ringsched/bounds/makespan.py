"""Lower bounds on the makespan that look at the cluster as a whole: the core's, and what sharpens them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ringsched.bounds.fastest import earliest_starts
from ringsched.bounds.work import Work, choices
from ringsched.engine.problem import Problem
from ringsched.model import Bound


def core_bounds(problem: Problem) -> list[Bound]:
    """Return the longest job, the area, and the jobs too large to run side by side."""
    starts = earliest_starts(problem, problem.best_case)
    bounds = [_longest_job(problem, starts), _area(problem, starts)]
    if any(_is_large(problem, job) for job in range(problem.num_jobs)):
        bounds.append(_large_jobs(problem, starts))
    return bounds


def _longest_job(problem: Problem, starts: Sequence[float]) -> Bound:
    """No job can end before its earliest start plus its best case."""
    job = max(range(problem.num_jobs), key=lambda job: starts[job] + problem.best_case[job])
    seconds = problem.clock.seconds
    return Bound(
        name="longest-job",
        value_s=seconds(starts[job] + problem.best_case[job]),
        terms={
            "job": problem.scenario.jobs[job].name,
            "release_s": seconds(starts[job]),
            "best_case_s": seconds(problem.best_case[job]),
        },
    )


def _area(problem: Problem, starts: Sequence[float]) -> Bound:
    """What cannot start before some instant must fit into the GPUs from then on."""
    num_gpus, clock = problem.num_gpus, problem.clock

    def end(release: float, area: float) -> float:
        if clock.slotted:
            return release + -(-area // num_gpus)
        return release + area / num_gpus

    areas = [gpus * best for gpus, best in zip(problem.gpus, problem.best_case, strict=True)]
    release, area, _ = _worst_release(starts, areas, end)
    return Bound(
        name="area",
        value_s=clock.seconds(end(release, area)),
        terms={
            "release_s": clock.seconds(release),
            "gpu_seconds": clock.seconds(area),
            "gpus": num_gpus,
        },
    )


def _large_jobs(problem: Problem, starts: Sequence[float]) -> Bound:
    """Jobs with more than half of the GPUs run one after the other."""
    durations = [best if _is_large(problem, job) else 0 for job, best in enumerate(problem.best_case)]
    release, total, num_jobs = _worst_release(
        starts, durations, lambda release, total: release + total if total else -math.inf
    )
    seconds = problem.clock.seconds
    return Bound(
        name="large-jobs",
        value_s=seconds(release + total),
        terms={"release_s": seconds(release), "best_cases_s": seconds(total), "jobs": num_jobs},
    )


def _is_large(problem: Problem, job: int) -> bool:
    return 2 * problem.gpus[job] > problem.num_gpus


def _worst_release(
    starts: Sequence[float], amounts: Sequence[float], end: Callable[[float, float], float]
) -> tuple[float, float, int]:
    """Return the earliest start r with the latest `end(r, total of jobs that start at r or later)`.

    Returns r, the total, and how many jobs are in it; ties go to the first such r.
    """
    latest: tuple[float, float, float, int] | None = None
    total: float = 0
    num_jobs = 0
    for job in sorted(range(len(starts)), key=lambda job: (-starts[job], job)):
        added, release = amounts[job], starts[job]
        total += added
        num_jobs += added > 0
        reached = end(release, total)
        if latest is None or reached >= latest[0]:
            latest = (reached, release, total, num_jobs)
    assert latest is not None  # there is at least one job
    return latest[1:]


def work_left(work: Work) -> Bound:
    """After any instant t, jobs released at r lack at least min(d, r + d - t) of their shortest duration d.

    Their GPU-seconds must fit into the GPUs after t. With t = the last earliest end nothing is left, and
    this is the longest job; with t = a release it is the core's area and what older jobs still lack.
    """
    reached, instant, left = work.best_start(work.gpus, work.problem.num_gpus)
    seconds = work.problem.clock.seconds
    return Bound(
        name="work-left",
        value_s=seconds(reached),
        terms={
            "from_s": seconds(instant),
            "gpu_seconds": seconds(left),
            "gpus": work.problem.num_gpus,
        },
    )


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
