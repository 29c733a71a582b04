"""Dispatching: at every event, jobs start in queue order as long as they fit."""

from __future__ import annotations

import math

from ringsched.engine.events import advance, next_event, next_release, settle, start
from ringsched.engine.state import IS_LOGGED, NUM_CHANGES, NUM_IDLE, Arrays, State, reset
from ringsched.jit import kernel, part
from ringsched.online.backfill import admits, is_promised, latest_start, promise
from ringsched.online.queue import (
    EXTRA,
    IS_UNSURE,
    NO_JOB,
    NUM_ARRIVED,
    NUM_WAITING,
    OLDEST,
    PROMISED,
    SCANNED_AFTER,
    Stage,
    begin_scan,
    begin_scan_at,
    fits,
    head,
    join,
    leave,
    next_candidate,
    note_instant,
    pass_over,
    pass_over_size,
    size_of,
    version,
    waits,
)
from ringsched.rules.shared import MAX_LOAD, Queue, Scratch
from ringsched.rules.table import fixed, place

# How a stretch of events ends.
MORE = 0
DONE = 1
STUCK = 2  # the head can never be placed


@kernel
def begin(arrays: Arrays, state: State, scratch: Scratch, queue: Queue) -> None:
    """Return to time 0, with the jobs that run there."""
    reset(arrays, state)
    scratch.selected[:] = -1
    scratch.drawn[0] = 0
    for job in queue.running:
        fixed(arrays, state, job, queue.planned)
        start(arrays, state, job, queue.charge[job])
    settle(arrays, state)  # a plan made during the first event needs their rates


@kernel
def dispatch(stage: Stage, backfills: bool, exact: bool, most_events: int) -> int:
    """Go through so many events, or to the end; `exact` says that the estimates are the truth."""
    arrays, state, queue, course = stage.arrays, stage.state, stage.queue, stage.course
    for _ in range(most_events):
        num_new = arrive(stage)
        blocked = _start_in_order(stage)
        if backfills and blocked != NO_JOB:
            backfill(stage, blocked, exact, num_new)
        next_arrival = next_release(queue.release, queue.arrivals, course.counts[NUM_ARRIVED])
        time = next_event(arrays, state, next_arrival, course.counts[NUM_WAITING] > 0)
        note_instant(stage)
        if time == math.inf:
            return DONE if course.counts[NUM_WAITING] == 0 else STUCK
        advance(arrays, state, time)
    return MORE


@kernel
def arrive(stage: Stage) -> int:
    """Add the jobs that have been submitted by now to the queue; return their number."""
    queue, course = stage.queue, stage.course
    first = course.counts[NUM_ARRIVED]
    at = first
    while at < len(queue.arrivals) and queue.release[queue.arrivals[at]] <= stage.state.now[0]:
        job = queue.arrivals[at]
        join(stage.waiting, queue.rank[job], course.duration[job])
        at += 1
    course.counts[NUM_WAITING] += at - first
    course.counts[NUM_ARRIVED] = at
    return at - first


@part
def _start_in_order(stage: Stage) -> int:
    """Start jobs from the head on until one finds no place; return that one, or NO_JOB."""
    while stage.course.counts[NUM_WAITING] > 0:
        job = _overdue(stage)
        if job == NO_JOB:
            job = stage.queue.job_at[head(stage.waiting)]
        if not _finds_place_now(stage, job):
            return job
        start_waiting(stage, job)
        stage.course.counts[PROMISED] = NO_JOB  # in its turn, not by backfilling
    return NO_JOB


@part
def _overdue(stage: Stage) -> int:
    """Return the job that has waited longest, if it has waited too long; else NO_JOB."""
    state, queue, course = stage.state, stage.queue, stage.course
    if stage.longest_wait == math.inf:
        return NO_JOB
    at = course.counts[OLDEST]
    while at < course.counts[NUM_ARRIVED] and not waits(stage.waiting, queue.rank[queue.arrivals[at]]):
        at += 1
    course.counts[OLDEST] = at
    if at == course.counts[NUM_ARRIVED]:
        return NO_JOB
    job = queue.arrivals[at]
    return job if state.now[0] - queue.release[job] >= stage.longest_wait else NO_JOB


@kernel
def backfill(stage: Stage, blocked: int, exact: bool, num_new: int) -> None:
    """Start jobs behind the head that do not move its start, which it is promised first."""
    # The promise to a new head is recorded; else it matters only if there is a job to start.
    is_new = stage.course.counts[PROMISED] != blocked
    if is_new or fits(stage.waiting, stage.state.counts[NUM_IDLE]):
        if not is_promised(stage, blocked, exact):
            promise(stage, blocked, 0.0)
        _start_past(stage, blocked, num_new)


@part
def _start_past(stage: Stage, blocked: int, num_new: int) -> None:
    """Start those behind the head that do not move its start, in order.

    If nothing has changed since no job could, only one that is new can.
    """
    state, queue, course, waiting = stage.state, stage.queue, stage.course, stage.waiting
    window, after = latest_start(stage.arrays, course) - state.now[0], version(stage)
    idle, extra = state.counts[NUM_IDLE], course.counts[EXTRA]
    only_one = course.counts[IS_UNSURE] == 0 and course.counts[SCANNED_AFTER] == after and num_new <= 1
    if not only_one:
        course.counts[IS_UNSURE] = int(not stage.by_size)
        begin_scan(waiting, 0, idle, window, extra)
    elif num_new == 1:
        newest = queue.arrivals[course.counts[NUM_ARRIVED] - 1]
        begin_scan_at(waiting, queue.rank[newest], idle, window, extra)
    else:
        return
    while True:
        rank = next_candidate(waiting)
        if rank == NO_JOB:
            break
        job = queue.job_at[rank]
        is_placed = job != blocked and _finds_place_now(stage, job)
        if is_placed and admits(stage, blocked, job):
            start_past(stage, job)
            idle, extra = state.counts[NUM_IDLE], course.counts[EXTRA]
            begin_scan(waiting, rank + 1, idle, window, extra)
            only_one = False
        elif only_one or (stage.by_size and not is_placed and job != blocked):
            pass_over_size(waiting, rank)
        else:
            pass_over(waiting, rank, window, extra)
    course.counts[SCANNED_AFTER] = after  # if one has started, there has been a change since


@part
def _finds_place_now(stage: Stage, job: int) -> bool:
    """The same as `finds_place`, without looking if no job of this size found a place and nothing changed."""
    state, unplaced_at = stage.state, stage.course.unplaced_at
    is_known = stage.by_size and state.counts[IS_LOGGED] != 0
    size, after = size_of(stage, job), state.counts[NUM_CHANGES]
    if is_known and unplaced_at[size] == after:
        return False
    is_placed = finds_place(stage, job)
    if is_known and not is_placed:
        unplaced_at[size] = after
    return is_placed


@part
def finds_place(stage: Stage, job: int) -> bool:
    """Choose GPUs for a job by the rule; False if it has to wait."""
    limit = MAX_LOAD - stage.queue.charge[job]
    return place(
        stage.arrays,
        stage.state,
        stage.scratch,
        stage.queue,
        stage.rule,
        stage.own,
        job,
        limit,
        stage.kappa,
    )


@kernel
def start_waiting(stage: Stage, job: int) -> None:
    """Start a job on the chosen GPUs; it waits no longer."""
    start(stage.arrays, stage.state, job, stage.queue.charge[job])
    leave(stage.waiting, stage.queue.rank[job])
    stage.course.counts[NUM_WAITING] -= 1


@kernel
def start_past(stage: Stage, job: int) -> None:
    """Start a job that steps past the head; what it was promised at the head itself counts no more."""
    start_waiting(stage, job)
    stage.course.backfilled[job] = True
    stage.course.promised[job] = math.inf
