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
    chance, known, spread = Random(seed), problem.scenario.jobs, math.log1p(error)
    extremes = Extremes(problem.fabric, 0)
    jobs = tuple(
        _believed(problem, extremes, at, job, math.exp(chance.uniform(-1, 1) * spread))
        for at, job in enumerate(known)
    )
    if all(job is true for job, true in zip(jobs, known, strict=True)):
        return problem
    return problem_of(problem.scenario.part(jobs, problem.scenario.time))


def _believed(problem: Problem, extremes: Extremes, at: int, job: Job, factor: float) -> Job:
    """Return the job as it is believed to be: with more or fewer iterations in all.

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
    if iterations == known and job.estimate_s is None:
        return job
    return job.unchecked(iterations=iterations, estimate_s=None)


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
