"""EASY backfilling under contention: a job that steps past the head must not delay its start.

The head is promised its start in a forward simulation of the running jobs. A candidate on one server, or
alone on its links, slows no other job; it needs only the usual test of GPUs and time. Any other candidate
is admitted if the same simulation, with it, starts the head no later.
"""

from __future__ import annotations

import math

from ringsched.engine.clock import same_instant_until
from ringsched.engine.events import next_completion, settle, start, time_for
from ringsched.engine.state import NOT_STARTED, NUM_CHANGES, NUM_IDLE, Arrays
from ringsched.jit import kernel, part
from ringsched.online.ahead import start_ahead
from ringsched.online.ghost import look_ahead, start_counting
from ringsched.online.queue import (
    EXTRA,
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
    course.counts[EXTRA] = ghost.counts[NUM_IDLE] - stage.arrays.gpus[head]


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
    believed, state, ghost, course = stage.believed, stage.state, stage.ghost, stage.course
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
    look_ahead(stage)
    for at in range(gpus):
        ghost.chosen[at] = state.chosen[at]
    ghost.heap_place[job] = NOT_STARTED  # it may have started in an earlier forward simulation
    if stage.by_count:
        start_counting(believed, ghost, job)
    else:
        start(believed, ghost, job, stage.queue.charge[job])
    settle(believed, ghost)
    if start_ahead(stage, head, latest) > latest:
        if is_like_others:
            course.rejected_at[size] = after
        else:  # a job that starts later slows others for a shorter time
            course.counts[IS_UNSURE] = 1
        return False
    course.counts[EXTRA] = ghost.counts[NUM_IDLE] - believed.gpus[head]
    return True
