"""EASY backfilling under contention: a job that steps past the head must not delay its start.

The head is promised its start in a forward simulation of the running jobs. A candidate on one server, or
alone on its links, slows no other job; it needs only the usual test of GPUs and time. Any other candidate
is admitted if the same simulation, with it, starts the head no later.
"""

from __future__ import annotations

import math

from ringsched.engine.clock import same_instant_until
from ringsched.engine.events import settle, start, time_for
from ringsched.engine.state import NOT_STARTED, NUM_IDLE, Arrays
from ringsched.jit import kernel, part
from ringsched.online.ahead import look_ahead, start_ahead
from ringsched.online.queue import EXTRA, LAST_PROMISED, NO_JOB, PROMISED, Course, Stage
from ringsched.rules.shared import alone


@part
def promise(stage: Stage, head: int, earliest: float) -> None:
    """Promise the head its start in a forward simulation, or `earliest` if that is later."""
    course = stage.course
    look_ahead(stage)
    time = max(earliest, start_ahead(stage, head, math.inf))
    last = course.counts[LAST_PROMISED]
    if last != head and last != NO_JOB and stage.state.heap_place[last] == NOT_STARTED:
        course.promised[last] = math.inf  # a job arrived that goes before it
    if course.counts[PROMISED] != head:
        course.promised[head] = time
    course.counts[LAST_PROMISED] = head
    course.counts[PROMISED] = head
    course.promise[0] = time
    course.counts[EXTRA] = stage.ghost.counts[NUM_IDLE] - stage.arrays.gpus[head]


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
    if not shares_links and (in_time or not stage.by_links):
        course.counts[EXTRA] -= 0 if in_time else gpus
        return True
    look_ahead(stage)
    for at in range(gpus):
        ghost.chosen[at] = state.chosen[at]
    ghost.heap_place[job] = NOT_STARTED  # it may have started in an earlier forward simulation
    start(believed, ghost, job, stage.queue.charge[job])
    settle(believed, ghost)
    if start_ahead(stage, head, latest) > latest:
        return False
    course.counts[EXTRA] = ghost.counts[NUM_IDLE] - believed.gpus[head]
    return True
