"""A simulation in steps, for a policy in Python: each step is one call of a kernel."""

from __future__ import annotations

import math

from ringsched.engine.events import advance, next_event, next_release, start
from ringsched.engine.state import NUM_IDLE
from ringsched.jit import kernel
from ringsched.online.backfill import admits, promise
from ringsched.online.dispatch import DONE, MORE, STUCK, finds_place
from ringsched.online.queue import (
    EXTRA,
    IS_AT_PROMISE,
    NO_JOB,
    NUM_ARRIVED,
    NUM_WAITING,
    PROMISED,
    Stage,
    note_instant,
)

# What a step does.
GO_ON = 0  # to the next event
FIND = 1  # GPUs for a job, by the rule of the stage
START = 2  # a job on the chosen GPUs, as the first of the queue
PASS = 3  # the same past the first of the queue
PROMISE = 4  # a job its start
ADMIT = 5  # a job on the chosen GPUs, unless it moves the start of the job with the promise
NEXT = 6  # job of a live queue that may pass the one with the promise


@kernel
def step(stage: Stage, action: int, job: int, head: int, wake: float) -> int:
    """Do one action; one kernel for all of them is compiled once.

    GO_ON stops at `wake` at the latest and returns how that ended. FIND and ADMIT return 1 or 0. NEXT returns
    a place in the live queue from the place `job` on, of `head` jobs in all, or NO_JOB; a job that ends by
    `wake` may pass.
    """
    course = stage.course
    if action == GO_ON:
        return _go_on(stage, wake)
    if action == FIND:
        return int(finds_place(stage, job))
    if action == PROMISE:
        promise(stage, job, 0.0)
    elif action == ADMIT:
        course.counts[IS_AT_PROMISE] = 0  # jobs may have started that were not asked for
        return int(admits(stage, head, job))
    elif action == NEXT:
        return _next_candidate(stage, job, head, wake)
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
def _next_candidate(stage: Stage, first: int, num_waiting: int, latest: float) -> int:
    arrays, course, live_queue = stage.arrays, stage.course, stage.queue.job_at
    idle, extra = stage.state.counts[NUM_IDLE], course.counts[EXTRA]
    window = latest - stage.state.now[0]
    for at in range(first, num_waiting):
        job = live_queue[at]
        if arrays.gpus[job] <= idle and (arrays.gpus[job] <= extra or course.duration[job] <= window):
            return at
    return NO_JOB


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
