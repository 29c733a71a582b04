"""EASY backfilling under contention: a job that steps past the head must not delay its start.

The head is promised its start in a forward simulation of the running jobs. A candidate on one server, or
alone on its links, slows no other job; it needs only the usual test of GPUs and time. Any other candidate
is admitted if the same simulation, with it, starts the head no later. Two tests give the same answer sooner:
whether the head still finds its place in a ghost that is at the promise, and whether the candidate can end in
time beside the jobs that outlast the promise.
"""

from __future__ import annotations

import math

from ringsched.contention.model import COUNTING
from ringsched.engine.clock import same_instant_until
from ringsched.engine.events import next_completion, settle, start, time_for, withdraw
from ringsched.engine.state import NOT_STARTED, NUM_CHANGES, NUM_IDLE, Arrays
from ringsched.jit import kernel, part
from ringsched.online.ahead import ends_late, finds_place_ahead, start_ahead
from ringsched.online.ghost import look_ahead, start_counting
from ringsched.online.queue import (
    EXTRA,
    IDLE_AHEAD,
    IS_AT_PROMISE,
    IS_UNSURE,
    LAST_PROMISED,
    NO_JOB,
    NUM_PROMISES,
    PROMISED,
    PROMISED_AFTER,
    Course,
    Stage,
    size_of,
    version,
)
from ringsched.rules.shared import alone


@part
def promise(stage: Stage, head: int, earliest: float) -> None:
    """Promise the head its start in a forward simulation, or `earliest` if that is later."""
    state, ghost, course = stage.state, stage.ghost, stage.course
    look_ahead(stage)
    course.counts[NUM_PROMISES] += 1
    course.counts[PROMISED_AFTER] = state.counts[NUM_CHANGES]
    course.believed_until[0] = next_completion(ghost)
    time = max(earliest, start_ahead(stage, head, math.inf))
    last = course.counts[LAST_PROMISED]
    if last != head and last != NO_JOB and state.heap_place[last] == NOT_STARTED:
        course.promised[last] = math.inf  # a job arrived that goes before it
    if course.counts[PROMISED] != head:
        course.promised[head] = time
    course.counts[LAST_PROMISED] = head
    course.counts[PROMISED] = head
    course.promise[0] = time
    _note_left_over(stage, head)


@part
def _note_left_over(stage: Stage, head: int) -> None:
    """Note how many GPUs the head leaves over in the ghost, and whether that is at its promised start."""
    ghost, course = stage.ghost, stage.course
    course.counts[EXTRA] = course.counts[IDLE_AHEAD] - stage.arrays.gpus[head]
    is_there = ghost.now[0] >= course.promise[0]
    course.counts[IS_AT_PROMISE] = int(
        stage.is_monotone and is_there and next_completion(ghost) > latest_start(stage.arrays, course)
    )


@part
def is_promised(stage: Stage, head: int, exact: bool) -> bool:
    """Whether the promise to the head is what it would be if it were given again.

    With exact estimates it is, until another job is the head. With others it is for as long as no job
    starts, ends, changes its rate or outlives its estimate.
    """
    state, course = stage.state, stage.course
    if course.counts[PROMISED] != head:
        return False
    is_unchanged = course.counts[PROMISED_AFTER] == state.counts[NUM_CHANGES]
    return exact or (is_unchanged and state.now[0] < course.believed_until[0])


@kernel
def latest_start(arrays: Arrays, course: Course) -> float:
    """Return the end of the instant at which the promise is kept."""
    time = course.promise[0]
    return time if time == math.inf else same_instant_until(arrays.slotted, time)


@part
def admits(stage: Stage, head: int, job: int) -> bool:
    """Whether the job may start on the chosen GPUs, past the head; if so, what is left over is set."""
    believed, state, course = stage.believed, stage.state, stage.course
    gpus, latest = believed.gpus[job], latest_start(believed, course)
    tau, shares_links = alone(believed, state, stage.scratch, job)
    duration = min(time_for(believed, float(believed.iterations[job]), tau), believed.permits.limit[job])
    in_time = state.now[0] + duration <= latest
    if not in_time and gpus > course.counts[EXTRA]:
        return False
    # Where any GPUs will do for the head, they need only be counted.
    takes_any = not (stage.by_links or believed.permits.restricted[head])
    if not shares_links and (in_time or takes_any):
        course.counts[EXTRA] -= 0 if in_time else gpus
        return True
    # A job that outlasts the promise and slows no other does the same as any other on the same GPUs.
    is_like_others = stage.by_size and not in_time and not shares_links
    size, after = size_of(stage, job), version(stage)
    if is_like_others and course.rejected_at[size] == after:
        return False
    if is_like_others and course.counts[IS_AT_PROMISE] != 0:
        is_kept = _leaves_place(stage, head, job)
    else:
        look_ahead(stage)
        needs_end = in_time and gpus > course.counts[EXTRA] and course.counts[PROMISED] == head
        is_counted = stage.by_count and believed.links.kernel == COUNTING
        if needs_end and is_counted and ends_late(stage, job, same_instant_until(believed.slotted, latest)):
            return False  # and so it is later on, until a job starts or ends
        _start_on_chosen(stage, job)
        is_kept = start_ahead(stage, head, latest) <= latest
    if is_kept:
        _note_left_over(stage, head)
    elif is_like_others:
        course.rejected_at[size] = after
    else:  # a job that starts later slows others for a shorter time
        course.counts[IS_UNSURE] = 1
    return is_kept


@part
def _leaves_place(stage: Stage, head: int, job: int) -> bool:
    """Whether the head finds a place at its promised start beside a job that outlasts it and slows no other.

    It found none before, and with one job more it finds none either.
    """
    believed, ghost = stage.believed, stage.ghost
    settle(stage.arrays, stage.state)  # at the same moments as `look_ahead`, for the same last digits
    _start_on_chosen(stage, job)
    is_left = finds_place_ahead(stage, head)
    stage.course.counts[IDLE_AHEAD] = ghost.counts[NUM_IDLE]
    if not is_left:
        withdraw(believed, ghost, job)
    return is_left


@part
def _start_on_chosen(stage: Stage, job: int) -> None:
    """Start a job in the ghost on the GPUs that are chosen for it."""
    believed, state, ghost = stage.believed, stage.state, stage.ghost
    for at in range(believed.gpus[job]):
        ghost.chosen[at] = state.chosen[at]
    ghost.heap_place[job] = NOT_STARTED  # it may have started in an earlier forward simulation
    if stage.by_count:
        start_counting(believed, ghost, job)
    else:
        start(believed, ghost, job, stage.queue.charge[job])
    settle(believed, ghost)
