"""A simulation in steps, for a policy in Python: each step is one call of a kernel."""

from __future__ import annotations

import math

from ringsched.engine.events import advance, next_event, next_release, start
from ringsched.jit import kernel
from ringsched.online.backfill import admits, promise
from ringsched.online.dispatch import DONE, MORE, STUCK, finds_place
from ringsched.online.queue import NO_JOB, NUM_ARRIVED, NUM_WAITING, PROMISED, Stage, note_instant

# What a step does.
GO_ON = 0  # to the next event
FIND = 1  # GPUs for a job, by the rule of the stage
START = 2  # a job on the chosen GPUs, as the first of the queue
PASS = 3  # the same past the first of the queue
PROMISE = 4  # a job its start
ADMIT = 5  # a job on the chosen GPUs, unless it moves the start of the job with the promise


@kernel
def step(stage: Stage, action: int, job: int, head: int, wake: float) -> int:
    """Do one action; one kernel for all of them is compiled once.

    GO_ON stops at `wake` at the latest and returns how that ended. FIND and ADMIT return 1 or 0.
    """
    course = stage.course
    if action == GO_ON:
        return _go_on(stage, wake)
    if action == FIND:
        return int(finds_place(stage, job))
    if action == PROMISE:
        promise(stage, job, 0.0)
    elif action == ADMIT:
        return int(admits(stage, head, job))
    else:
        start(stage.arrays, stage.state, job, stage.queue.charge[job])
        course.counts[NUM_WAITING] -= 1
        if action == PASS:
            course.backfilled[job] = True
            course.promised[job] = math.inf
        else:
            course.counts[PROMISED] = NO_JOB
    return 1


@kernel
def _go_on(stage: Stage, wake: float) -> int:
    arrays, state, queue, course = stage.arrays, stage.state, stage.queue, stage.course
    next_arrival = next_release(queue.release, queue.arrivals, course.counts[NUM_ARRIVED])
    jobs_wait = course.counts[NUM_WAITING] > 0
    time = min(next_event(arrays, state, next_arrival, jobs_wait), wake)
    note_instant(stage)
    if time == math.inf:
        return DONE if course.counts[NUM_WAITING] == 0 else STUCK
    advance(arrays, state, time)
    return MORE
