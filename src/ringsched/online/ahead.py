"""A forward simulation of the running jobs, as they are believed to go on."""

from __future__ import annotations

import math

from ringsched.contention.traffic import copy_job, copy_links
from ringsched.engine.arrays import Arrays
from ringsched.engine.clock import duration_at
from ringsched.engine.kernels import advance, next_completion, push, settle
from ringsched.engine.state import NUM_IDLE, NUM_RUNNING, State
from ringsched.jit import kernel, part
from ringsched.online.course import NUM_AHEAD, Stage, outlive
from ringsched.placement.charges import MAX_LOAD
from ringsched.placement.trial import place


@kernel
def look_ahead(stage: Stage) -> None:
    """Make the ghost what the state is believed to be: the running jobs, with what they should still need.

    It costs as much as there are GPUs and running jobs, however many jobs there are in all.
    """
    arrays, state, ghost = stage.arrays, stage.state, stage.ghost
    settle(arrays, state)  # who started at this instant runs too
    stage.course.counts[NUM_AHEAD] += 1
    ghost.now[0] = state.now[0]
    ghost.counts[NUM_IDLE] = state.counts[NUM_IDLE]
    ghost.counts[NUM_RUNNING] = 0
    _copy_cluster(state, ghost)
    copy_links(arrays.links, state.traffic, ghost.traffic)
    is_as_believed = True
    for at in range(state.counts[NUM_RUNNING]):
        job = state.heap[at]
        _copy_job(arrays, state, ghost, job)
        _believe(stage, job)
        ghost.heap[at] = job
        ghost.heap_place[job] = at
        is_as_believed = is_as_believed and ghost.finish[job] == state.finish[job]
    if is_as_believed:
        ghost.counts[NUM_RUNNING] = state.counts[NUM_RUNNING]
    else:  # in another order
        for at in range(state.counts[NUM_RUNNING]):
            push(ghost, state.heap[at])


@kernel
def start_ahead(stage: Stage, job: int, latest: float) -> float:
    """Return when the job finds a place if nothing else starts before it; infinity if not until `latest`.

    The ghost is left at that instant, the job chosen for but not started.
    """
    believed, ghost, queue = stage.believed, stage.ghost, stage.queue
    limit = MAX_LOAD - queue.charge[job]
    while not place(believed, ghost, stage.scratch, queue, stage.rule, job, limit, stage.kappa):
        time = next_completion(ghost)
        if time == math.inf or time > latest:
            return math.inf
        advance(believed, ghost, time)
        settle(believed, ghost)
    return ghost.now[0]


@part
def _copy_cluster(state: State, ghost: State) -> None:
    for gpu in range(len(state.holder)):
        ghost.holder[gpu] = state.holder[gpu]
        ghost.idle[gpu] = state.idle[gpu]
        ghost.load[gpu] = state.load[gpu]
    for server in range(len(state.num_idle)):
        ghost.num_idle[server] = state.num_idle[server]
        ghost.idle_share[server] = state.idle_share[server]
        ghost.server_load[server] = state.server_load[server]
        ghost.whole_load[server] = state.whole_load[server]
        ghost.rest_load[server] = state.rest_load[server]


@part
def _copy_job(arrays: Arrays, state: State, ghost: State, job: int) -> None:
    offset = arrays.gpu_first[job]
    for at in range(offset, offset + arrays.gpus[job]):
        ghost.gpus_of[at] = state.gpus_of[at]
    copy_job(arrays.links, state.traffic, ghost.traffic, job)
    ghost.since[job] = state.since[job]
    ghost.rate[job] = state.rate[job]


@part
def _believe(stage: Stage, job: int) -> None:
    """Set when a running job is believed to end: later than now, as it still runs.

    One that outlived its estimate is from now on believed to need twice as many iterations in all.
    """
    arrays, believed, state, ghost = stage.arrays, stage.believed, stage.state, stage.ghost
    while True:
        # In this order, so that what is believed of an exact estimate is true to the last bit.
        ghost.remaining[job] = state.remaining[job] + (believed.iterations[job] - arrays.iterations[job])
        ghost.finish[job] = ghost.since[job] + duration_at(
            arrays.slotted, ghost.remaining[job], ghost.rate[job]
        )
        if ghost.finish[job] > state.now[0]:
            break
        outlive(stage, job)
