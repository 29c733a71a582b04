"""What a policy believes of the time ahead: estimates, and when a job finds a place."""

from __future__ import annotations

import math
from random import Random

from ringsched.contention.fabric import Extremes
from ringsched.engine.eligibility import next_reopening
from ringsched.engine.events import advance, next_completion, settle
from ringsched.engine.problem import Problem, problem_of
from ringsched.jit import kernel
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
    chance = Random(seed)
    jobs = tuple(
        _believed(problem, job, tau, math.exp(chance.uniform(-1, 1) * math.log1p(error)))
        for job, tau in zip(problem.scenario.jobs, _best_case_taus(problem), strict=True)
    )
    if all(job is known for job, known in zip(jobs, problem.scenario.jobs, strict=True)):
        return problem
    return problem_of(problem.scenario.replace(jobs=jobs))


def _best_case_taus(problem: Problem) -> list[float]:
    """Return seconds an iteration in the best case, also of jobs that run already."""
    extremes = Extremes(problem.fabric, 0)
    return [
        extremes.best_case_tau(work, gpus) for work, gpus in zip(problem.works, problem.gpus, strict=True)
    ]


def _believed(problem: Problem, job: Job, best_case_tau: float, factor: float) -> Job:
    """Return the job as it is believed to be: with more or fewer iterations in all.

    What is believed must not depend on the true number. So a stated estimate is turned into iterations by
    the rate of the best case, and not by the ratio to its duration, which is rounded to slots.
    """
    known, clock = job.iterations, problem.clock
    estimate = float(known)
    if job.estimate_s is not None:
        estimate = clock.done(clock.units(job.estimate_s), clock.rate(best_case_tau))
    iterations = max(1, min(round(estimate * factor), max(known, _MOST_ITERATIONS)))
    while iterations <= job.done_iterations:  # it has outlived its estimate already
        iterations *= 2
    if iterations == known and job.estimate_s is None:
        return job
    return job.replace(iterations=iterations, estimate_s=None)


@kernel
def start_ahead(stage: Stage, job: int, latest: float) -> float:
    """Return when the job finds a place if nothing else starts before it; infinity if not until `latest`.

    The ghost is left at that instant, the job chosen for but not started.
    """
    believed, ghost, queue = stage.believed, stage.ghost, stage.queue
    limit = MAX_LOAD - queue.charge[job]
    while not place(believed, ghost, stage.scratch, queue, stage.rule, stage.own, job, limit, stage.kappa):
        time = min(next_completion(ghost), next_reopening(believed.permits, ghost.now[0]))
        if time == math.inf or time > latest:
            return math.inf
        advance(believed, ghost, time)
        settle(believed, ghost)
    return ghost.now[0]
