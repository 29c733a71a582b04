"""One pass over the queue, the whole (θ, κ) trial, as a kernel."""

from __future__ import annotations

import math
from typing import NamedTuple

from ringsched.engine.events import advance, next_event, start
from ringsched.engine.heap import not_noted, rise, sink
from ringsched.engine.state import IDLE, NUM_IDLE, Arrays, Floats, Integers, State, reset
from ringsched.jit import kernel, part
from ringsched.rules.adaptive_overlap import adaptive_overlap
from ringsched.rules.best_fit import best_fit, one_server
from ringsched.rules.first_fit import first_fit
from ringsched.rules.fragment_aware import fragment_aware
from ringsched.rules.free_links import free_links
from ringsched.rules.least_busy_servers import least_busy_servers
from ringsched.rules.least_loaded import least_loaded
from ringsched.rules.least_workload import least_workload
from ringsched.rules.quiet_links import quiet_links
from ringsched.rules.random_fit import random_fit
from ringsched.rules.shared import Scratch


@kernel
def fixed(arrays: Arrays, state: State, job: int, planned: Integers) -> bool:
    """Choose the planned GPUs, once the last of them is free."""
    offset = arrays.gpu_first[job]
    for at in range(arrays.gpus[job]):
        gpu = planned[offset + at]
        if state.holder[gpu] != IDLE:
            return False
        state.chosen[at] = gpu
    return True


# The placement rules.
FIRST_FIT = 0
LEAST_LOADED = 1
RANDOM_FIT = 2
BEST_FIT = 3
KAPPA = 4  # FA-FFP for jobs of up to κ GPUs, LBSGF for larger ones (Alg. 1 lines 10 to 13)
FIXED = 5
LEAST_WORKLOAD = 10  # of jobs of up to κ GPUs by GPU, of larger ones by server
FREE_LINKS = 11  # κ is the most jobs on a link
ADAPTIVE_OVERLAP = 12
QUIET_LINKS = 13  # best fit over the links that the fewest jobs use

ANY_NUMBER = 2**31  # of jobs on a link

# How a trial ends.
DONE = 0
INFEASIBLE = 1  # the head of the queue can never be placed
TOO_LATE = 2  # the makespan would not be below the deadline


class Queue(NamedTuple):
    """What a trial is given besides the cluster."""

    origin: float  # of a plan's starts: what is one instant counted from 0 is one; else 0
    release: Floats  # of each job
    arrivals: Integers  # jobs to be placed, by release
    rank: Integers  # of each job: its place in the queue order
    job_at: Integers  # of each rank: its job
    charge: Integers  # of each job
    needed: Floats  # of each job: λ_j G_j
    running: Integers  # jobs that run at time 0, on the GPUs in `planned`
    planned: Integers  # GPUs of each job, where they are given
    uniforms: Floats  # random numbers, one for each GPU of a job to be placed
    waiting: Integers  # scratch: a heap of ranks


@kernel
def run_trial(
    arrays: Arrays,
    state: State,
    scratch: Scratch,
    queue: Queue,
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
            if not place(arrays, state, scratch, queue, rule, job, limit, kappa):
                break
            start(arrays, state, job, queue.charge[job])
            num_waiting -= 1
            queue.waiting[0] = queue.waiting[num_waiting]
            sink(queue.waiting, num_waiting, 0, _is_lower, not_noted, 0)
        time = next_event(arrays, state, math.inf)
        if num_arrived < len(queue.arrivals):
            release = queue.release[queue.arrivals[num_arrived]]
            if queue.origin + release < queue.origin + time:
                time = release
        if time == math.inf:
            return DONE if num_waiting == 0 else INFEASIBLE
        if time >= deadline:
            return TOO_LATE
        advance(arrays, state, time)


@kernel
def place(
    arrays: Arrays,
    state: State,
    scratch: Scratch,
    queue: Queue,
    rule: int,
    job: int,
    limit: int,
    kappa: int,
) -> bool:
    """Choose GPUs for the job by a rule; False if it has to wait."""
    if state.counts[NUM_IDLE] < arrays.gpus[job]:
        return False
    if rule == KAPPA:
        if arrays.gpus[job] <= kappa:
            return fragment_aware(arrays, state, scratch, job, limit)
        return least_busy_servers(arrays, state, scratch, job, limit, queue.needed[job])
    if rule == BEST_FIT:
        return best_fit(arrays, state, job, ANY_NUMBER)
    if rule == FIRST_FIT:
        return first_fit(arrays, state, job, limit)
    if rule == LEAST_LOADED:
        return least_loaded(arrays, state, scratch, job, limit)
    if rule == RANDOM_FIT:
        return random_fit(arrays, state, scratch, job, limit, queue.uniforms)
    if rule == LEAST_WORKLOAD:
        return least_workload(arrays, state, scratch, job, limit, kappa)
    if rule == FREE_LINKS:
        return free_links(arrays, state, scratch, job, kappa)
    if rule == ADAPTIVE_OVERLAP:
        return adaptive_overlap(arrays, state, scratch, job)
    if rule == QUIET_LINKS:
        return one_server(arrays, state, job) or quiet_links(arrays, state, scratch, job, ANY_NUMBER)
    return fixed(arrays, state, job, queue.planned)


@part
def _is_lower(_: int, one: int, other: int) -> bool:
    return one < other
