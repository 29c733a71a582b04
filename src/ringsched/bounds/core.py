"""The core bounds on the makespan, each with its name and terms."""

from __future__ import annotations

import math
from collections.abc import Callable

from ringsched.engine.problem import Problem
from ringsched.model import Bound


def core_bounds(problem: Problem) -> list[Bound]:
    """Return the longest job, the area, and the jobs too large to run side by side."""
    bounds = [_longest_job(problem), _area(problem)]
    if any(_is_large(problem, job) for job in range(problem.num_jobs)):
        bounds.append(_large_jobs(problem))
    return bounds


def _longest_job(problem: Problem) -> Bound:
    """No job can end before its release plus its best case."""
    job = max(range(problem.num_jobs), key=lambda job: problem.release[job] + problem.best_case[job])
    seconds = problem.clock.seconds
    return Bound(
        name="longest-job",
        value_s=seconds(problem.release[job] + problem.best_case[job]),
        terms={
            "job": problem.scenario.jobs[job].name,
            "release_s": seconds(problem.release[job]),
            "best_case_s": seconds(problem.best_case[job]),
        },
    )


def _area(problem: Problem) -> Bound:
    """What is released from some instant on must fit into the GPUs from then on."""
    num_gpus, clock = problem.num_gpus, problem.clock

    def end(release: float, area: float) -> float:
        if clock.slotted:
            return release + -(-area // num_gpus)
        return release + area / num_gpus

    release, area, _ = _worst_release(problem, lambda job: problem.gpus[job] * problem.best_case[job], end)
    return Bound(
        name="area",
        value_s=clock.seconds(end(release, area)),
        terms={
            "release_s": clock.seconds(release),
            "gpu_seconds": clock.seconds(area),
            "gpus": num_gpus,
        },
    )


def _large_jobs(problem: Problem) -> Bound:
    """Jobs with more than half of the GPUs run one after the other."""
    release, total, num_jobs = _worst_release(
        problem,
        lambda job: problem.best_case[job] if _is_large(problem, job) else 0,
        lambda release, total: release + total if total else -math.inf,
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
    problem: Problem, amount: Callable[[int], float], end: Callable[[float, float], float]
) -> tuple[float, float, int]:
    """Return the release r with the latest `end(r, total of jobs released at or after r)`.

    Returns r, the total, and how many jobs are in it; ties go to the earliest release.
    """
    latest: tuple[float, float, float, int] | None = None
    total: float = 0
    num_jobs = 0
    for job in sorted(range(problem.num_jobs), key=lambda job: (-problem.release[job], job)):
        added, release = amount(job), problem.release[job]
        total += added
        num_jobs += added > 0
        reached = end(release, total)
        if latest is None or reached >= latest[0]:
            latest = (reached, release, total, num_jobs)
    assert latest is not None  # there is at least one job
    return latest[1:]
