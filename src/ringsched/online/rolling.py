"""Rolling: jobs start by a list, which a search improves from where it is when jobs have come.

The list is a solution of the search: an order, and for each job how it is placed and whether it blocks. At
every event the jobs in it are tried in order, as in the search itself. So the list needs no times, and it
stays good if estimates are wrong. In the usual list each job blocks those behind it, but for jobs that do
not move its start, as with EASY.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ringsched.contention.fabric import offsets
from ringsched.contention.traffic import alone_gbps, tau_at
from ringsched.engine.eligibility import Permits
from ringsched.engine.events import advance, next_event, next_release, remaining_now, time_for
from ringsched.engine.problem import Problem
from ringsched.engine.state import NUM_IDLE, NUM_RUNNING, Arrays, Floats, Integers, State
from ringsched.jit import by_pointer, kernel, part, runnable
from ringsched.model.objective import Objective
from ringsched.online.dispatch import DONE, MORE, STUCK, arrive, backfill, start_waiting
from ringsched.online.follow import PLAN
from ringsched.online.queue import (
    NO_JOB,
    NUM_ARRIVED,
    NUM_WAITING,
    PROMISED,
    SCANNED_AFTER,
    Stage,
    fits,
    note_instant,
    outlive,
    waits,
)
from ringsched.online.settings import OnlineSettings
from ringsched.rules.shared import MAX_LOAD, Queue, Scratch, new_scratch
from ringsched.rules.table import place
from ringsched.search.chain import BEST, Chain, copy_solution, descend, new_chain
from ringsched.search.checkpoints import new_checkpoints
from ringsched.search.modes import FREE, NUM_MODES, NUM_MOVED, PATIENT
from ringsched.search.solution import Solution, Task, new_solution, new_trace, new_walk, task_of
from ringsched.search.starts import OVERTAKING, Manner, Start, keys_of

MOST_PLANNED = 100  # jobs at the front of the list that a search may move
MOST_STARTS = 12  # of a search, besides the list as it is
_SCHEDULES_PER_START = 4
# By which share of the objective another list must be better than the usual one for the jobs there are now,
# with exact estimates and with others.
MARGINS = {True: 0.03, False: 0.1}
USUAL = Manner(FREE, FREE, small_block=True, large_block=True)  # how jobs are placed in the usual list
_SLICE = 10  # schedules between two looks at the clock

# Places in `counts`.
NUM_LISTED = 0
NUM_NEW = 1  # of them, since the last search
IS_USUAL = 2  # whether it is the usual list
_STAMP = 3
_NUM_COUNTS = 4


@by_pointer
class RollingList(NamedTuple):
    """The waiting jobs in the order in which they are tried, and how each is placed."""

    counts: Integers
    order: Integers
    mode: Integers  # of each job
    blocks: Integers  # of each job: 1 if those behind it wait until it has started
    key: Floats  # of each job: a new one goes behind the last with a key that is no higher
    alike: Integers  # of each kind and mode: jobs in the list
    failed: Integers  # of each kind and mode: the stamp of when it could not be placed
    next_plan: Floats  # one number: no search before
    left: Floats  # of each running job: iterations, as they are believed when a search begins ...
    least: Floats  # ... and how long they take at least


def new_list(problem: Problem, task: Task, key: Floats) -> RollingList:
    """Return an empty list, with what is known of each job that will be in it."""
    num_jobs, num_classes = problem.num_jobs, NUM_MODES * (int(task.kind.max(initial=0)) + 1)
    counts = np.zeros(_NUM_COUNTS, dtype=np.int64)
    counts[IS_USUAL] = 1
    return RollingList(
        counts=counts,
        order=np.zeros(num_jobs, dtype=np.int64),
        mode=np.full(num_jobs, FREE, dtype=np.int64),
        blocks=np.ones(num_jobs, dtype=np.int64),
        key=key,
        alike=np.zeros(num_classes, dtype=np.int64),
        failed=np.zeros(num_classes, dtype=np.int64),
        next_plan=np.full(1, -np.inf),
        left=np.zeros(num_jobs),
        least=np.zeros(num_jobs),
    )


@kernel
def roll(stage: Stage, task: Task, listed: RollingList, exact: bool, most_events: int) -> int:
    """Go through so many events, or to the end, or until a search is wanted.

    `exact` says that the estimates are the truth.
    """
    arrays, state, queue, course = stage.arrays, stage.state, stage.queue, stage.course
    for _ in range(most_events):
        first, num_new = course.counts[NUM_ARRIVED], arrive(stage)
        for at in range(first, first + num_new):
            _enlist(task, listed, queue.arrivals[at])
        # While no job fits, the order of those who wait makes no difference.
        is_open = listed.counts[NUM_LISTED] > 1 and fits(stage.waiting, state.counts[NUM_IDLE])
        if is_open and listed.counts[NUM_NEW] > 0 and state.now[0] >= listed.next_plan[0]:
            believe_left(stage, listed)
            course.counts[SCANNED_AFTER] = -1  # the new jobs have not been looked at
            return PLAN
        blocked = _start_listed(stage, task, listed)
        if blocked != NO_JOB and listed.counts[IS_USUAL] == 1:
            backfill(stage, blocked, exact, num_new)
            _strike_started(stage, task, listed)
        next_arrival = next_release(queue.release, queue.arrivals, course.counts[NUM_ARRIVED])
        instant = next_event(arrays, state, next_arrival, course.counts[NUM_WAITING] > 0)
        note_instant(stage)
        if is_open and listed.counts[NUM_NEW] > 0:
            instant = min(instant, listed.next_plan[0])
        if instant == math.inf:
            return DONE if course.counts[NUM_WAITING] == 0 else STUCK
        advance(arrays, state, instant)
    return MORE


@part
def _enlist(task: Task, listed: RollingList, job: int) -> None:
    """Put a new job into the list."""
    at = listed.counts[NUM_LISTED]
    while at > 0 and listed.key[listed.order[at - 1]] > listed.key[job]:
        listed.order[at] = listed.order[at - 1]
        at -= 1
    listed.order[at] = job
    listed.alike[task.kind[job] * NUM_MODES + listed.mode[job]] += 1
    listed.counts[NUM_LISTED] += 1
    listed.counts[NUM_NEW] += 1


@part
def _start_listed(stage: Stage, task: Task, listed: RollingList) -> int:
    """Go through the list once and start each job that can be placed; return the job that blocks, or NO_JOB.

    Jobs of one kind and mode are alike: if one of them cannot be placed, neither can the other jobs until
    another job has started.
    """
    state, blocked = stage.state, NO_JOB
    listed.counts[_STAMP] += 1
    num_open, num_kept, at = listed.counts[NUM_LISTED], 0, 0
    while at < listed.counts[NUM_LISTED] and num_open > 0 and state.counts[NUM_IDLE] > 0:
        job = listed.order[at]
        at += 1
        mode = listed.mode[job]
        number = task.kind[job] * NUM_MODES + mode
        is_placed = False
        if listed.failed[number] != listed.counts[_STAMP]:
            is_placed = _finds_place(stage, task, job, mode)
            if is_placed:
                start_waiting(stage, job)
                stage.course.counts[PROMISED] = NO_JOB
                listed.alike[number] -= 1
                listed.counts[_STAMP] += 1
                num_open = listed.counts[NUM_LISTED] - at + num_kept
            elif task.alike[mode]:
                listed.failed[number] = listed.counts[_STAMP]
                num_open -= listed.alike[number]
            else:
                num_open -= 1
        if not is_placed:
            listed.order[num_kept] = job
            num_kept += 1
            if listed.blocks[job] == 1:
                blocked = job
                break
    if num_kept < at:
        for rest in range(at, listed.counts[NUM_LISTED]):
            listed.order[num_kept + rest - at] = listed.order[rest]
        listed.counts[NUM_LISTED] -= at - num_kept
    return blocked


@part
def _strike_started(stage: Stage, task: Task, listed: RollingList) -> None:
    """Take jobs off the list that have stepped past the first one."""
    if listed.counts[NUM_LISTED] == stage.course.counts[NUM_WAITING]:
        return
    num_kept = 0
    for at in range(listed.counts[NUM_LISTED]):
        job = listed.order[at]
        if waits(stage.waiting, stage.queue.rank[job]):
            listed.order[num_kept] = job
            num_kept += 1
        else:
            listed.alike[task.kind[job] * NUM_MODES + listed.mode[job]] -= 1
    listed.counts[NUM_LISTED] = num_kept


@part
def _finds_place(stage: Stage, task: Task, job: int, mode: int) -> bool:
    kappa = task.largest[job] if mode == PATIENT else task.kappa[mode]
    limit = MAX_LOAD - stage.queue.charge[job]
    return place(
        stage.arrays, stage.state, stage.scratch, stage.queue, task.rule[mode], None, job, limit, kappa
    )


@part
def believe_left(stage: Stage, listed: RollingList) -> None:
    """Set how many iterations each running job is believed to have left, and how long they take at least."""
    arrays, believed, state = stage.arrays, stage.believed, stage.state
    links, traffic = arrays.links, state.traffic
    for at in range(state.counts[NUM_RUNNING]):
        job = state.heap[at]
        left = remaining_now(arrays, state, job)
        while left + (believed.iterations[job] - arrays.iterations[job]) <= 0:
            outlive(stage, job)
        # A part of an iteration that is left is one that is left.
        left = max(1.0, math.ceil(left + (believed.iterations[job] - arrays.iterations[job])))
        tau = tau_at(links, job, alone_gbps(links, traffic, job), traffic.num_servers[job])
        listed.left[job] = left
        listed.least[job] = min(
            time_for(arrays, left, tau), state.start[job] + arrays.permits.limit[job] - state.now[0]
        )


def list_keys(problem: Problem, objective: Objective) -> list[Floats]:
    """Return keys by which lists are sorted; the usual list is by the first of them."""
    return [np.array(key, dtype=np.float64) for key in keys_of(problem, objective, 1.0)]


class Roller:
    """Improves the list by a search that begins with it."""

    def __init__(
        self,
        problem: Problem,
        stage: Stage,
        settings: OnlineSettings,
        keys: list[Floats],
        *,
        exact: bool,
    ) -> None:
        self._settings, self.exact = settings, exact
        self._every = problem.clock.release(settings.every_s)
        self._job_s = problem.pass_s / max(1, problem.num_jobs)
        self._work_s = problem.pass_s * max(1, settings.limits.iterations or 0)
        self._keys = keys
        self._scratch = new_scratch(stage.arrays)
        self.task = task_of(
            problem, stage.believed, settings.objective, target=0.0, usable=tuple(range(NUM_MOVED))
        )
        self.listed = new_list(problem, self.task, self._keys[0])
        self.num_plans = 0

    def plan(self, stage: Stage) -> None:
        """Search for a better list of the jobs that are first by their keys; the other jobs stay behind them.

        What is good for jobs that wait now is not always good for jobs that will come. So the list is the
        usual one, in which each job blocks those behind it, unless another is better by a margin.
        """
        listed, now = self.listed, float(stage.state.now[0])
        in_force = listed.order[: listed.counts[NUM_LISTED]].copy()
        jobs = np.sort(in_force)
        jobs = jobs[np.argsort(listed.key[jobs], kind="stable")]
        front = jobs[:MOST_PLANNED]
        found, is_usual = self._search(stage, front, in_force[np.isin(in_force, front)])
        listed.order[: len(jobs)] = np.concatenate((front[found.order], jobs[MOST_PLANNED:]))
        listed.mode[jobs], listed.blocks[jobs] = FREE, 1
        listed.mode[front], listed.blocks[front] = found.mode[: len(front)], found.blocks[: len(front)]
        numbers = self.task.kind[jobs] * NUM_MODES + listed.mode[jobs]
        listed.alike[:] = np.bincount(numbers, minlength=len(listed.alike))
        listed.counts[NUM_NEW], listed.counts[IS_USUAL] = 0, int(is_usual)
        listed.next_plan[0] = now + self._every if self._every > 0 else -math.inf
        self.num_plans += 1

    def _search(self, stage: Stage, front: Integers, in_force: Integers) -> tuple[Solution, bool]:
        """Return the best solution of the jobs at the front, numbered as they are there, and if it is usual.

        It begins with the usual list, the one in force, and some of the starts of any search.
        """
        listed, num_queued, limits = self.listed, len(front), self._settings.limits
        running = np.sort(stage.state.heap[: stage.state.counts[NUM_RUNNING]])
        jobs = np.concatenate((front, running))
        arrays = _part_of_arrays(stage, listed, jobs, num_queued)
        task = _part_of_task(self.task, stage, listed, jobs, num_queued)
        usual = Start(np.arange(num_queued), USUAL).solution(task, arrays.gpus)
        state, chain = _chain(usual, arrays, task, f"{self._settings.seed}/{self.num_plans}")
        search = _Descent(
            runnable(descend, python=arrays.python_only, work_s=self._work_s, call_s=self._job_s * len(jobs)),
            (arrays, state, self._scratch, _queue(stage, arrays, jobs, num_queued), task, chain),
            self._settings.objective.cost,
        )
        search.enter(usual)
        usual_value = float(chain.values[BEST])
        others = self._starts(task, arrays, front, in_force)
        for start in others:
            search.enter(start)
        search.enter(chain.best)
        search.descend(
            limits.time_limit_s, None if limits.iterations is None else limits.iterations - len(others)
        )
        is_usual = bool(chain.values[BEST] > usual_value * (1 - MARGINS[self.exact]))
        return usual if is_usual else chain.best, is_usual

    def _starts(self, task: Task, arrays: Arrays, front: Integers, in_force: Integers) -> list[Solution]:
        """Return the list in force, and some of the starts of a search, others each time.

        The list in force is of no use where it was made for estimates that have turned out to be wrong.
        """
        schedules = self._settings.limits.iterations
        most = MOST_STARTS if schedules is None else min(MOST_STARTS, schedules // _SCHEDULES_PER_START)
        if most == 0:
            return []
        solutions = []
        if self.exact:
            place = {job: at for at, job in enumerate(front.tolist())}
            order = np.array([place[job] for job in in_force.tolist()], dtype=np.int64)
            mode, blocks = np.zeros((2, len(arrays.gpus)), dtype=np.int64)
            mode[: len(front)], blocks[: len(front)] = self.listed.mode[front], self.listed.blocks[front]
            solutions.append(new_solution(len(arrays.gpus), order, mode, blocks))
        num_others = most - len(solutions)
        pairs = [(key, manner) for manner in OVERTAKING for key in self._keys]
        for at in range(num_others):
            key, manner = pairs[(self.num_plans * num_others + at) % len(pairs)]
            start = Start(np.argsort(key[front], kind="stable"), manner)
            solutions.append(start.solution(task, arrays.gpus))
        return solutions


class _Descent:
    """One chain of a search, as Python steers it."""

    def __init__(
        self,
        run: Callable[..., None],
        given: tuple[Arrays, State, Scratch, Queue, Task, Chain],
        cost: int,
    ) -> None:
        self._run, self._given, self._cost = run, given, cost

    def enter(self, solution: Solution) -> None:
        """Go on from a solution."""
        copy_solution(solution, self._given[-1].new)
        self._run(*self._given, self._cost, self._cost, 0, True)

    def descend(self, time_limit_s: float | None, schedules: int | None) -> None:
        """Try so many schedules, or as many as there is time for."""
        if time_limit_s is None:
            self._run(*self._given, self._cost, self._cost, max(0, schedules or 0), False)
            return
        end_s, done = time.monotonic() + time_limit_s, 0
        while time.monotonic() < end_s and (schedules is None or done < schedules):
            self._run(*self._given, self._cost, self._cost, _SLICE, False)
            done += _SLICE


def _chain(start: Solution, arrays: Arrays, task: Task, seed: str) -> tuple[State, Chain]:
    num_jobs, num_queued = len(arrays.gpus), len(start.order)
    num_events, walk = num_jobs + 1 + len(arrays.permits.reopenings), new_walk(task, num_queued)
    state, checkpoints = new_checkpoints(arrays, walk.values, walk.kept, num_events)
    return state, new_chain(start, new_trace(num_jobs, num_events + 1), checkpoints, walk, seed)


def _part_of_arrays(stage: Stage, listed: RollingList, jobs: Integers, num_queued: int) -> Arrays:
    """Return the arrays of some of the jobs from now on, of which those behind the first few run."""
    whole, now = stage.believed, stage.state.now[0]
    gpus, iterations, running = whole.gpus[jobs], whole.iterations[jobs], jobs[num_queued:]
    iterations[num_queued:] = listed.left[running]
    limit = whole.permits.limit[jobs]
    limit[num_queued:] -= now - stage.state.start[running]
    most_links = np.diff(whole.links.entry_first)[jobs]
    return whole._replace(
        gpus=gpus,
        gpu_first=offsets(gpus),
        iterations=iterations,
        permits=_permits(whole.permits, now)._replace(
            restricted=whole.permits.restricted[jobs],
            class_of=whole.permits.class_of[jobs],
            parts=whole.permits.parts[jobs],
            limit=limit,
            longest=whole.permits.longest[jobs],
        ),
        links=whole.links._replace(
            gpus=gpus,
            entry_first=offsets(most_links),
            exchange_gbit=whole.links.exchange_gbit[jobs],
            reduce_s=whole.links.reduce_s[jobs],
            compute_s=whole.links.compute_s[jobs],
            backward_s=whole.links.backward_s[jobs],
            overlap=whole.links.overlap[jobs],
            entry_job=np.repeat(np.arange(len(jobs), dtype=np.int32), most_links),
        ),
    )


def _permits(permits: Permits, now: float) -> Permits:
    """Return the windows from now on."""
    if len(permits.window_end) == 0:
        return permits
    is_ahead = permits.window_end > now
    num_before = offsets(is_ahead.astype(np.int64))
    return permits._replace(
        window_first=num_before[permits.window_first],
        window_begin=np.maximum(0.0, permits.window_begin[is_ahead] - now),
        window_end=permits.window_end[is_ahead] - now,
        reopenings=permits.reopenings[permits.reopenings > now] - now,
    )


def _part_of_task(task: Task, stage: Stage, listed: RollingList, jobs: Integers, num_queued: int) -> Task:
    best_case = task.best_case[jobs]
    best_case[num_queued:] = listed.least[jobs[num_queued:]]
    gpus = stage.arrays.gpus[jobs]
    peers = np.argsort(gpus[:num_queued], kind="stable")
    return task._replace(
        best_case=best_case,
        weight=task.weight[jobs],
        submit=task.submit[jobs] - stage.state.now[0],
        kind=task.kind[jobs],
        largest=task.largest[jobs],
        peers=peers,
        peer_first=np.searchsorted(gpus[peers], gpus, side="left"),
        peer_end=np.searchsorted(gpus[peers], gpus, side="right"),
        patience=max(200, 10 * num_queued),
    )


def _queue(stage: Stage, arrays: Arrays, jobs: Integers, num_queued: int) -> Queue:
    whole, numbers = stage.queue, np.arange(len(jobs))
    first = np.repeat(stage.arrays.gpu_first[jobs] - arrays.gpu_first[:-1], arrays.gpus)
    return whole._replace(
        release=np.zeros(len(jobs)),
        arrivals=numbers[:num_queued],
        rank=numbers,
        job_at=numbers,
        charge=whole.charge[jobs],
        needed=whole.needed[jobs],
        running=numbers[num_queued:],
        planned=stage.state.gpus_of[first + np.arange(len(first))],
        waiting=np.zeros(len(jobs), dtype=np.int64),
    )
