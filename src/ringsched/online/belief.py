"""What a policy believes of jobs: their estimates, never how long they really take."""

from __future__ import annotations

import math
from random import Random

from ringsched.engine.problem import Problem, problem_of
from ringsched.model import Job
from ringsched.model.checks import MAX_INTEGER

# So long that no sum of a million of them is too long to be counted exactly.
_MOST_ITERATIONS = MAX_INTEGER >> 22


def believed_problem(problem: Problem, error: float, seed: int) -> Problem:
    """Return the problem as a policy sees it; the same object if all estimates are exact.

    A job that states `estimate_s` is believed to take so long in its best case. On top of that every
    estimate is wrong by a factor between 1/(1 + error) and 1 + error, drawn evenly on a logarithmic
    scale, job by job in the order of the scenario.
    """
    if error == 0 and all(job.estimate_s is None for job in problem.scenario.jobs):
        return problem
    chance = Random(seed)
    jobs = tuple(
        _believed(problem, at, job, math.exp(chance.uniform(-1, 1) * math.log1p(error)))
        for at, job in enumerate(problem.scenario.jobs)
    )
    if all(job is known for job, known in zip(jobs, problem.scenario.jobs, strict=True)):
        return problem
    return problem_of(problem.scenario.replace(jobs=jobs))


def _believed(problem: Problem, at: int, job: Job, factor: float) -> Job:
    """Return the job as it is believed to be: with more or fewer iterations still to be done."""
    if job.estimate_s is not None:
        whole_s = problem.clock.seconds(problem.best_case[at]) * job.iterations / job.remaining_iterations
        factor *= job.estimate_s / whole_s
    known = job.remaining_iterations
    iterations = max(1, min(round(known * factor), max(known, _MOST_ITERATIONS)))
    if iterations == known:
        return job
    return job.replace(iterations=job.done_iterations + iterations, estimate_s=None)
