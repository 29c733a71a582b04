"""What a search works on: the task, its solutions, and what it knows of the schedule of one."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.engine.problem import Problem
from ringsched.engine.state import Arrays, Floats, Integers
from ringsched.jit import by_pointer
from ringsched.model.objective import SHORTEST_S, Objective
from ringsched.search.modes import FREE, MODES, NUM_MODES


@by_pointer
class Task(NamedTuple):
    """The problem, as the kernels of the search read it."""

    best_case: Floats  # of each job
    weight: Floats  # of each job
    submit: Floats  # of each job, from the origin
    per_best_case: Floats  # of each job: 1 over the best case that slowdowns count in
    kind: Integers  # of each job: those of one kind can be placed at the same moments
    largest: Integers  # of each job: the largest server it may use whole
    peers: Integers  # jobs to be placed, those of one size together ...
    peer_first: Integers  # ... of each job: where they begin ...
    peer_end: Integers  # ... and end
    rule: Integers  # of each mode
    kappa: Integers  # of each mode
    alike: NDArray[np.bool_]  # of each mode: whether jobs of one kind are alike
    usable: Integers  # modes that moves choose from
    num_gpus: int
    target: float  # the objective cannot be below it
    max_wait: float  # jobs that have waited longer go first; infinity for no limit
    patience: int  # steps without progress before a chain is perturbed


def task_of(
    problem: Problem,
    arrays: Arrays,
    objective: Objective,
    *,
    target: float,
    usable: tuple[int, ...],
    max_wait_s: float = math.inf,
) -> Task:
    """Return the task of a problem; `target` is a lower bound on the objective."""
    peers = np.array(sorted(problem.queued, key=lambda job: (problem.gpus[job], job)), dtype=np.int64)
    sizes = arrays.gpus[peers]
    eligibility, lanes = problem.eligibility, problem.fabric.model.lanes
    described = list(zip(problem.gpus, eligibility.class_of, eligibility.parts, strict=True))
    kinds = {each: number for number, each in enumerate(sorted(set(described)))}
    largest = np.where(arrays.permits.allowed, arrays.capacity[: arrays.num_servers], 0).max(axis=1)
    submits = [problem.clock.units(job.submit_s - problem.origin_s) for job in problem.scenario.jobs]
    best_case = np.array(problem.best_case, dtype=np.float64)
    return Task(
        best_case=best_case,
        weight=np.array(objective.weights(problem.scenario.jobs), dtype=np.float64),
        submit=np.array(submits, dtype=np.float64),
        per_best_case=1 / np.maximum(best_case, problem.clock.units(SHORTEST_S)),
        kind=np.array([kinds[each] for each in described], dtype=np.int64),
        largest=np.where(arrays.permits.parts > 1, 0, largest[arrays.permits.class_of]),
        peers=peers,
        peer_first=np.searchsorted(sizes, arrays.gpus, side="left"),
        peer_end=np.searchsorted(sizes, arrays.gpus, side="right"),
        rule=np.array([mode.rule.number for mode in MODES], dtype=np.int64),
        kappa=np.array(
            [lanes if at == FREE else mode.kappa for at, mode in enumerate(MODES)], dtype=np.int64
        ),
        # Before a window, how long a job can take decides as well.
        alike=np.array([mode.alike and not eligibility.has_windows for mode in MODES], dtype=np.bool_),
        usable=np.array(usable, dtype=np.int64),
        num_gpus=problem.num_gpus,
        target=float(target if objective.is_ratio else problem.clock.units(target)),
        max_wait=float(problem.clock.units(max_wait_s)),
        patience=max(200, 10 * len(problem.queued)),
    )


@by_pointer
class Solution(NamedTuple):
    """An order of the jobs to be placed, and for each job its placement mode and whether it blocks."""

    order: Integers  # job at each rank
    rank: Integers  # of each job
    mode: Integers  # of each job
    blocks: Integers  # of each job: 1 if those behind it wait until it has started


def new_solution(num_jobs: int, order: Integers, mode: Integers, blocks: Integers) -> Solution:
    """Return a solution."""
    rank = np.zeros(num_jobs, dtype=np.int64)
    rank[order] = np.arange(len(order))
    return Solution(order.copy(), rank, mode.copy(), blocks.copy())


@by_pointer
class Trace(NamedTuple):
    """What moves ask about the current schedule. Events are numbered."""

    arrived: Integers  # of each job: the event at which it came
    began: Integers  # of each job: at which it started
    stopped: Integers  # of each job: at which it first held back others; NEVER
    idle: Integers  # of each event: GPUs that are idle before jobs start
    starts: Floats  # of each job: when it started


NEVER = 2**62

# Places in `counts`.
NUM_ARRIVED = 0
EVENT = 1
NUM_KEPT = 2  # these belong to a checkpoint
STAMP = 2
NUM_WAITING = 3
NUM_EVENTS = 4  # simulated in all
_NUM_COUNTS = 5

# Places in `values`.
LEAST = 0  # what the schedule costs at least
WAITING_WEIGHT = 1  # of the jobs in the queue ...
WAITING_SINCE = 2  # ... and the sum of weight * release
AREA = 3  # best-case GPU-time of jobs that have not started
_NUM_VALUES = 4


@by_pointer
class Walk(NamedTuple):
    """Scratch of a simulation: the queue as a linked list of ranks, and what has failed in it."""

    next_rank: Integers  # its last entry is the head
    failed: Integers  # of each kind and mode: the stamp of when it could not be placed
    waiting: Integers  # of each kind and mode: jobs in the queue
    kept: Integers  # the counts that belong to a checkpoint
    counts: Integers
    values: Floats


def new_walk(task: Task, num_queued: int) -> Walk:
    """Return the scratch of simulations."""
    num_classes = NUM_MODES * (int(task.kind.max(initial=0)) + 1)
    return Walk(
        next_rank=np.zeros(num_queued + 1, dtype=np.int64),
        failed=np.zeros(num_classes, dtype=np.int64),
        waiting=np.zeros(num_classes, dtype=np.int64),
        kept=np.zeros(NUM_KEPT, dtype=np.int64),
        counts=np.zeros(_NUM_COUNTS, dtype=np.int64),
        values=np.zeros(_NUM_VALUES),
    )


def new_trace(num_jobs: int, num_events: int) -> Trace:
    """Return an empty trace."""
    return Trace(
        arrived=np.zeros(num_jobs, dtype=np.int64),
        began=np.zeros(num_jobs, dtype=np.int64),
        stopped=np.full(num_jobs, NEVER, dtype=np.int64),
        idle=np.zeros(num_events, dtype=np.int64),
        starts=np.zeros(num_jobs),
    )
