"""What a policy believes of the time ahead: estimates, and a forward simulation of the running jobs."""

from __future__ import annotations

import math
from random import Random

from ringsched.contention.fabric import Extremes
from ringsched.contention.traffic import copy_job, copy_links
from ringsched.engine.clock import duration_at
from ringsched.engine.eligibility import next_reopening
from ringsched.engine.events import advance, next_completion, push, settle
from ringsched.engine.problem import Problem, problem_of
from ringsched.engine.state import NUM_IDLE, NUM_RUNNING, Arrays, State
from ringsched.jit import kernel, part
from ringsched.model import Job
from ringsched.model.checks import MAX_INTEGER
from ringsched.online.queue import NUM_AHEAD, Stage, outlive
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
def look_ahead(stage: Stage) -> None:
    """Make the ghost what the state is believed to be: the running jobs, with what they should still need.

    It costs as much as there are GPUs and running jobs, however many jobs there are in all.
    """
    arrays, state, ghost = stage.arrays, stage.state, stage.ghost
    settle(arrays, state)  # who started at this instant runs too
    stage.course.counts[NUM_AHEAD] += 1
    ghost.now[0] = state.now[0]
    ghost.counts[NUM_IDLE] = state.counts[NUM_IDLE]
    ghost.counts[NUM_RUNNING] = 0
    _copy_cluster(state, ghost)
    copy_links(arrays.links, state.traffic, ghost.traffic)
    is_as_believed = True
    for at in range(state.counts[NUM_RUNNING]):
        job = state.heap[at]
        _copy_job(arrays, state, ghost, job)
        _believe(stage, job)
        ghost.heap[at] = job
        ghost.heap_place[job] = at
        is_as_believed = is_as_believed and ghost.finish[job] == state.finish[job]
    if is_as_believed:
        ghost.counts[NUM_RUNNING] = state.counts[NUM_RUNNING]
    else:  # in another order
        for at in range(state.counts[NUM_RUNNING]):
            push(ghost, state.heap[at])


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


@part
def _copy_cluster(state: State, ghost: State) -> None:
    for gpu in range(len(state.holder)):
        ghost.holder[gpu] = state.holder[gpu]
        ghost.idle[gpu] = state.idle[gpu]
        ghost.load[gpu] = state.load[gpu]
    for server in range(len(state.num_idle)):
        ghost.num_idle[server] = state.num_idle[server]
        ghost.idle_share[server] = state.idle_share[server]
        ghost.server_load[server] = state.server_load[server]
        ghost.whole_load[server] = state.whole_load[server]
        ghost.rest_load[server] = state.rest_load[server]


@part
def _copy_job(arrays: Arrays, state: State, ghost: State, job: int) -> None:
    offset = arrays.gpu_first[job]
    for at in range(offset, offset + arrays.gpus[job]):
        ghost.gpus_of[at] = state.gpus_of[at]
    copy_job(arrays.links, state.traffic, ghost.traffic, job)
    ghost.start[job] = state.start[job]
    ghost.since[job] = state.since[job]
    ghost.rate[job] = state.rate[job]


@part
def _believe(stage: Stage, job: int) -> None:
    """Set when a running job is believed to end: later than now, as it still runs.

    One that outlived its estimate is from now on believed to need twice as many iterations in all.
    """
    arrays, believed, state, ghost = stage.arrays, stage.believed, stage.state, stage.ghost
    while True:
        # In this order, so that what is believed of an exact estimate is true to the last bit.
        ghost.remaining[job] = state.remaining[job] + (believed.iterations[job] - arrays.iterations[job])
        ghost.finish[job] = ghost.since[job] + duration_at(
            arrays.slotted, ghost.remaining[job], ghost.rate[job]
        )
        if ghost.finish[job] > state.now[0]:
            break
        outlive(stage, job)
    ghost.finish[job] = min(ghost.finish[job], state.start[job] + arrays.permits.limit[job])
