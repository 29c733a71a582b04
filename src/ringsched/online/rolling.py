"""Rolling: jobs start by a list; `improving` improves it when jobs have come.

The list is a solution of the search: an order, and for each job how it is placed and whether it blocks. At
every event the jobs in it are tried in order, as in the search itself. So the list needs no times, and it
stays good if estimates are wrong. In the usual list each job blocks those behind it, but for jobs that do
not move its start, as with EASY.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ringsched.contention.traffic import alone_gbps, tau_at
from ringsched.engine.events import advance, next_event, next_release, remaining_now, time_for
from ringsched.engine.problem import Problem
from ringsched.engine.state import NUM_IDLE, NUM_RUNNING, Floats, Integers
from ringsched.jit import by_pointer, kernel, part
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
from ringsched.rules.shared import MAX_LOAD
from ringsched.rules.table import place
from ringsched.search.modes import FREE, NUM_MODES, PATIENT
from ringsched.search.solution import Task

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
