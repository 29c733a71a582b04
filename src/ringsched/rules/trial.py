"""One pass over the queue, the whole (θ, κ) trial, as a kernel."""

from __future__ import annotations

import math

from ringsched.engine.events import advance, next_event, start
from ringsched.engine.heap import not_noted, rise, sink
from ringsched.engine.state import Arrays, State, reset
from ringsched.jit import kernel, part
from ringsched.rules.shared import Queue, Scratch
from ringsched.rules.table import Place, fixed, place

# How a trial ends.
DONE = 0
INFEASIBLE = 1  # the head of the queue can never be placed
TOO_LATE = 2  # the makespan would not be below the deadline


@kernel
def run_trial(
    arrays: Arrays,
    state: State,
    scratch: Scratch,
    queue: Queue,
    own: Place | None,
    rule: int,
    theta: int,
    kappa: int,
    deadline: float,
) -> int:
    """Run all jobs to their end, head of the queue first, the head blocking those behind it.

    `theta` is in units of charge. Starts, ends and GPUs are left in the state.
    """
    reset(arrays, state)
    scratch.selected[:] = -1
    scratch.drawn[0] = 0
    for job in queue.running:
        fixed(arrays, state, job, queue.planned)
        start(arrays, state, job, queue.charge[job])
    num_arrived = 0
    num_waiting = 0
    while True:
        while num_arrived < len(queue.arrivals):
            job = queue.arrivals[num_arrived]
            if queue.origin + queue.release[job] > queue.origin + state.now[0]:
                break
            queue.waiting[num_waiting] = queue.rank[job]
            rise(queue.waiting, num_waiting, _is_lower, not_noted, 0)
            num_arrived += 1
            num_waiting += 1
        while num_waiting > 0:
            job = queue.job_at[queue.waiting[0]]
            limit = theta - queue.charge[job]
            if not place(arrays, state, scratch, queue, rule, own, job, limit, kappa):
                break
            start(arrays, state, job, queue.charge[job])
            num_waiting -= 1
            queue.waiting[0] = queue.waiting[num_waiting]
            sink(queue.waiting, num_waiting, 0, _is_lower, not_noted, 0)
        time = next_event(arrays, state, math.inf, num_waiting > 0)
        if num_arrived < len(queue.arrivals):
            release = queue.release[queue.arrivals[num_arrived]]
            if queue.origin + release < queue.origin + time:
                time = release
        if time == math.inf:
            return DONE if num_waiting == 0 else INFEASIBLE
        if time >= deadline:
            return TOO_LATE
        advance(arrays, state, time)


@part
def _is_lower(_: int, one: int, other: int) -> bool:
    return one < other
