"""What a policy believes of the time ahead: estimates, and when a job finds a place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

import numpy as np

from ringsched.contention.fabric import Extremes
from ringsched.contention.iteration_time import Work
from ringsched.engine.columns import job_columns
from ringsched.engine.eligibility import next_reopening
from ringsched.engine.events import advance, advance_counting, next_completion, settle
from ringsched.engine.problem import Problem, with_iterations
from ringsched.engine.state import NUM_IDLE, Floats, Integers
from ringsched.jit import kernel, part
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
    scenario, stated = problem.scenario, job_columns(problem.scenario).estimated
    if error == 0 and not stated:
        return problem
    done = done_before(problem)
    known = problem.columns.iterations + done
    estimates = known.astype(np.float64)
    _state_iterations(problem, stated, estimates)
    most = np.maximum(known, _MOST_ITERATIONS)
    believed = np.clip(np.rint(estimates * _factors(len(known), error, seed)), 1, most).astype(np.int64)
    for at in problem.running:
        while believed[at] <= done[at]:  # it has outlived its estimate already
            believed[at] *= 2
    if not stated and (believed == known).all():
        return problem
    if stated:
        jobs = (job if job.estimate_s is None else job.replace(estimate_s=None) for job in scenario.jobs)
        scenario = scenario.part(tuple(jobs), scenario.time)
    return with_iterations(problem, scenario, believed - done)


def done_before(problem: Problem) -> Integers:
    """Return of each job the iterations before time 0, which only a running job has."""
    done = np.zeros(problem.num_jobs, dtype=np.int64)
    for job in problem.running:
        done[job] = problem.scenario.jobs[job].done_iterations
    return done


def _factors(number: int, error: float, seed: int) -> Floats:
    random, spread = Random(seed).random, math.log1p(error)
    exponents = (-1.0 + 2.0 * np.array([random() for _ in range(number)])) * spread
    # By the C library, not by NumPy, whose last digit depends on the machine.
    return np.array(list(map(math.exp, exponents.tolist())))


def _state_iterations(problem: Problem, stated: Sequence[int], estimates: Floats) -> None:
    """Set how many iterations each job with a stated estimate is believed to have in all.

    What is believed must not depend on the true number. So a stated estimate is turned into iterations by
    the rate of the best case, and not by the ratio to its duration, which is rounded to slots.
    """
    clock, extremes = problem.clock, Extremes(problem.fabric, 0)
    rates: dict[tuple[Work, int], float] = {}
    for at in stated:
        key = problem.works[at], problem.gpus[at]
        if key not in rates:
            rates[key] = clock.rate(extremes.best_case_tau(*key))
        estimates[at] = clock.done(clock.units(problem.scenario.jobs[at].estimate_s or 0.0), rates[key])


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
