"""From a solution to its schedule: a queue with backfilling; and the solutions that chains begin with."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ringsched.engine.events import advance, next_event, next_release, start
from ringsched.engine.problem import Problem
from ringsched.engine.state import NUM_IDLE, Arrays, Floats, Integers, State, reset
from ringsched.jit import by_pointer, kernel, part
from ringsched.model.objective import LAST_FINISH, TARDINESS, Objective
from ringsched.rules.best_fit import one_server
from ringsched.rules.eligible import hide, reveal
from ringsched.rules.quiet_links import spread_quietly
from ringsched.rules.shared import Scratch
from ringsched.rules.table import fixed


@by_pointer
class Task(NamedTuple):
    """The problem, as the kernels of the search read it."""

    release: Floats  # of each job
    arrivals: Integers  # jobs to be placed, by release
    best_case: Floats  # of each job
    weight: Floats  # of each job
    running: Integers  # jobs that run at time 0, on the GPUs in `planned`
    planned: Integers
    peers: Integers  # jobs to be placed, those of one size together ...
    peer_first: Integers  # ... of each job: where they begin ...
    peer_end: Integers  # ... and end
    largest_server: Integers  # of each job: the most GPUs of a server that it may use
    target: float  # no makespan can be below it
    patience: int  # steps without progress before a chain is perturbed


def task_of(problem: Problem, arrays: Arrays, objective: Objective, target_s: float) -> Task:
    """Return the task of a problem; `target_s` is a lower bound on the makespan."""
    planned = np.zeros(arrays.gpu_first[-1], dtype=np.int64)
    for job, held in problem.running.items():
        planned[arrays.gpu_first[job] : arrays.gpu_first[job + 1]] = sorted(held)
    queued = sorted(problem.queued, key=lambda job: (problem.release[job], job))
    peers = np.array(sorted(queued, key=lambda job: (problem.gpus[job], job)), dtype=np.int64)
    sizes = arrays.gpus[peers]
    return Task(
        peers=peers,
        peer_first=np.searchsorted(sizes, arrays.gpus, side="left"),
        peer_end=np.searchsorted(sizes, arrays.gpus, side="right"),
        release=np.array(problem.release, dtype=np.float64),
        arrivals=np.array(queued, dtype=np.int64),
        best_case=np.array(problem.best_case, dtype=np.float64),
        weight=np.array(objective.weights(problem.scenario.jobs), dtype=np.float64),
        running=np.array(list(problem.running), dtype=np.int64),
        planned=planned,
        largest_server=np.where(arrays.permits.allowed, arrays.capacity[: arrays.num_servers], 0).max(axis=1)[
            arrays.permits.class_of
        ],
        target=float(problem.clock.units(target_s)),
        patience=max(200, 10 * len(queued)),
    )


# Placement modes: what a job does when no single server has enough idle GPUs for it.
FLEXIBLE = 0  # spreads over the links with the fewest jobs
PATIENT = 1  # waits for a server, if one is large enough
QUIET = 2  # spreads only over links that no job uses
NUM_MODES = 3

PRUNED = math.inf
_NO_RANK = -1


@kernel
def decode(
    arrays: Arrays,
    state: State,
    scratch: Scratch,
    task: Task,
    order: Integers,
    mode: Integers,
    next_rank: Integers,
    cost: int,
    limit: float,
) -> float:
    """Run the jobs in this order and with these placement modes; return the cost of the schedule.

    At every event, each waiting job is tried in order and starts if it fits. Returns PRUNED as soon as
    the cost must exceed `limit`. `next_rank` is scratch, one longer than the order.
    """
    reset(arrays, state)
    for job in task.running:
        fixed(arrays, state, job, task.planned)
        start(arrays, state, job, 0)
    head = len(order)
    _link(next_rank)
    least = 0.0  # what it costs at least, every job at its best from where it starts
    for job in order:
        least = _with(arrays, task, cost, least, job, task.release[job] + task.best_case[job])
    num_arrived = 0
    while True:
        while num_arrived < len(task.arrivals):
            if task.release[task.arrivals[num_arrived]] > state.now[0]:
                break
            num_arrived += 1
        least = _pass(arrays, state, scratch, task, order, mode, next_rank, cost, limit, least)
        if least > limit:
            return PRUNED
        next_arrival = next_release(task.release, task.arrivals, num_arrived)
        time = next_event(arrays, state, next_arrival, next_rank[head] != _NO_RANK)
        if time == math.inf:
            return total_cost(arrays, state, task, cost) if next_rank[head] == _NO_RANK else PRUNED
        advance(arrays, state, time)


@part
def _pass(
    arrays: Arrays,
    state: State,
    scratch: Scratch,
    task: Task,
    order: Integers,
    mode: Integers,
    next_rank: Integers,
    cost: int,
    limit: float,
    least: float,
) -> float:
    """Go through the queue once and start each job that fits; return the new lower bound on the cost."""
    now = state.now[0]
    largest_idle = _largest_idle(state)
    before = len(order)
    rank = next_rank[before]
    while rank != _NO_RANK and largest_idle > 0:
        job = order[rank]
        placed = task.release[job] <= now and _place(
            arrays, state, scratch, task, job, mode[job], largest_idle
        )
        if placed:
            start(arrays, state, job, 0)
            next_rank[before] = next_rank[rank]
            least = _later(arrays, task, cost, least, job, now)
            largest_idle = _largest_idle(state)
        else:
            before = rank
            if cost == LAST_FINISH:  # it starts later than now
                least = max(least, now + task.best_case[job])
        if least > limit:
            break
        rank = next_rank[rank]
    return least


@kernel
def total_cost(arrays: Arrays, state: State, task: Task, cost: int) -> float:
    """Return what the schedule in the state costs."""
    total = 0.0
    for job in range(len(state.finished)):
        total = _with(arrays, task, cost, total, job, state.finished[job])
    return total


@part
def _with(arrays: Arrays, task: Task, cost: int, total: float, job: int, finish: float) -> float:
    """Return the total with one job more."""
    if cost == LAST_FINISH:
        return max(total, finish)
    if cost == TARDINESS:
        return total + float(arrays.gpus[job]) * max(0.0, finish - task.target)
    return total + float(task.weight[job]) * finish


@part
def _later(arrays: Arrays, task: Task, cost: int, least: float, job: int, now: float) -> float:
    """Return the least cost, now that the job is known to start at this instant."""
    finish = now + float(task.best_case[job])
    if cost == LAST_FINISH:
        return max(least, finish)
    before = _with(arrays, task, cost, 0.0, job, task.release[job] + task.best_case[job])
    return least + (_with(arrays, task, cost, 0.0, job, finish) - before)


@part
def _place(
    arrays: Arrays, state: State, scratch: Scratch, task: Task, job: int, mode: int, largest_idle: int
) -> bool:
    if not arrays.permits.restricted[job]:
        return _choose(arrays, state, scratch, task, job, mode, largest_idle)
    if arrays.gpus[job] > state.counts[NUM_IDLE]:
        return False
    hide(arrays, state, scratch, job)
    placed = _choose(arrays, state, scratch, task, job, mode, _largest_idle(state))
    reveal(arrays, state, scratch)
    return placed


@part
def _choose(
    arrays: Arrays, state: State, scratch: Scratch, task: Task, job: int, mode: int, largest_idle: int
) -> bool:
    wanted = arrays.gpus[job]
    if wanted <= largest_idle:
        return one_server(arrays, state, job)
    if wanted > state.counts[NUM_IDLE] or (mode == PATIENT and wanted <= task.largest_server[job]):
        return False
    return spread_quietly(arrays, state, scratch, job, 0 if mode == QUIET else len(arrays.gpus))


@part
def _largest_idle(state: State) -> int:
    """Return the most GPUs that are idle in one server."""
    largest = 0
    for idle in state.num_idle:
        largest = max(largest, idle)
    return largest


@part
def _link(next_rank: Integers) -> None:
    """Make a linked list of all ranks; the last entry is its head."""
    head = len(next_rank) - 1
    next_rank[head] = _NO_RANK
    for rank in range(head - 1, -1, -1):
        next_rank[rank] = next_rank[head]
        next_rank[head] = rank


# Long jobs first, wide ones the sooner the larger the exponent of their GPUs.
_WIDTHS = (0.0, 0.1, 0.2, 0.35, 0.5, 1.0)
# For completions: short and narrow ones first; exponents of duration and GPUs.
_AREAS = ((1.0, 1.0), (1.0, 0.5), (1.0, 0.0), (0.5, 1.0), (1.0, 2.0))


def starting_orders(problem: Problem, objective: Objective, weight: list[float]) -> list[Integers]:
    """Return orders of the jobs to be placed."""
    if objective.is_last_finish:
        keys = [[-best * g**width for best, g in _sizes(problem)] for width in _WIDTHS]
    else:
        keys = [
            [
                best**length * g**width / w if w > 0 else math.inf  # a weight beside which others vanish
                for (best, g), w in zip(_sizes(problem), weight, strict=True)
            ]
            for length, width in _AREAS
        ]
    return [_sorted(problem, key) for key in keys]


def starting_modes(problem: Problem) -> list[Integers]:
    """Return the placement modes to begin with, the same for all jobs."""
    return [np.full(problem.num_jobs, mode, dtype=np.int64) for mode in (PATIENT, FLEXIBLE)]


def _sizes(problem: Problem) -> list[tuple[float, int]]:
    return list(zip(problem.best_case, problem.gpus, strict=True))


def _sorted(problem: Problem, key: list[float]) -> Integers:
    return np.array(sorted(problem.queued, key=lambda job: (key[job], job)), dtype=np.int64)
