"""What a policy believes of the time ahead: estimates, and when a job finds a place."""

from __future__ import annotations

import math
from random import Random

from ringsched.contention.fabric import Extremes
from ringsched.engine.eligibility import next_reopening
from ringsched.engine.events import advance, advance_counting, next_completion, settle
from ringsched.engine.problem import Problem, with_iterations
from ringsched.engine.state import NUM_IDLE
from ringsched.jit import kernel, part
from ringsched.model import Job
from ringsched.model.checks import MAX_INTEGER
from ringsched.online.queue import Stage
from ringsched.rules.shared import MAX_LOAD
from ringsched.rules.table import place

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
    uniform, spread, known = Random(seed).uniform, math.log1p(error), problem.scenario.jobs
    factors = [math.exp(uniform(-1, 1) * spread) for _ in known]
    extremes = Extremes(problem.fabric, 0)
    iterations = [
        _believed_iterations(problem, extremes, at, job, factor)
        for at, (job, factor) in enumerate(zip(known, factors, strict=True))
    ]
    is_stated = any(job.estimate_s is not None for job in known)
    if not is_stated and all(job.iterations == each for job, each in zip(known, iterations, strict=True)):
        return problem
    jobs = tuple(job if job.estimate_s is None else job.replace(estimate_s=None) for job in known)
    left = [each - job.done_iterations for job, each in zip(known, iterations, strict=True)]
    return with_iterations(problem, jobs, left)


def _believed_iterations(problem: Problem, extremes: Extremes, at: int, job: Job, factor: float) -> int:
    """Return how many iterations a job is believed to have in all.

    What is believed must not depend on the true number. So a stated estimate is turned into iterations by
    the rate of the best case, and not by the ratio to its duration, which is rounded to slots.
    """
    known, clock = job.iterations, problem.clock
    estimate = float(known)
    if job.estimate_s is not None:
        best_case_tau = extremes.best_case_tau(problem.works[at], problem.gpus[at])
        estimate = clock.done(clock.units(job.estimate_s), clock.rate(best_case_tau))
    iterations = max(1, min(round(estimate * factor), max(known, _MOST_ITERATIONS)))
    while iterations <= job.done_iterations:  # it has outlived its estimate already
        iterations *= 2
    return iterations


@kernel
def start_ahead(stage: Stage, job: int, latest: float) -> float:
    """Return when the job finds a place if nothing else starts before it; infinity if not until `latest`.

    The ghost is left at that instant, the job not started.
    """
    believed, ghost = stage.believed, stage.ghost
    while not _finds_place(stage, job):
        time = min(next_completion(ghost), next_reopening(believed.permits, ghost.now[0]))
        if time == math.inf or time > latest:
            return math.inf
        if stage.by_count:
            advance_counting(believed, ghost, time)
        else:
            advance(believed, ghost, time)
        settle(believed, ghost)
    return ghost.now[0]


@part
def _finds_place(stage: Stage, job: int) -> bool:
    """Whether a job finds a place in the ghost."""
    ghost, queue = stage.ghost, stage.queue
    if stage.by_count:
        return ghost.counts[NUM_IDLE] >= stage.believed.gpus[job]
    limit = MAX_LOAD - queue.charge[job]
    return place(stage.believed, ghost, stage.scratch, queue, stage.rule, stage.own, job, limit, stage.kappa)
