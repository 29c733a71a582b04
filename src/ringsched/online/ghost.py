"""The ghost: a copy of the state in which a forward simulation runs, with what is believed of running jobs.

State and ghost write down which jobs started, ended or changed their rates. The next forward simulation
copies only these, with their servers and links, however large the cluster is. Where a rule places every job
for which enough GPUs are idle, the ghost only counts GPUs, and it copies no servers.
"""

from __future__ import annotations

from ringsched.contention.network import CORE
from ringsched.contention.traffic import (
    NUM_CONTENDED,
    NUM_TOUCHED,
    come,
    copy_job,
    copy_link,
    copy_pace,
    cross,
    hold,
)
from ringsched.engine.clock import duration_at
from ringsched.engine.events import drop, log, push, refile, settle
from ringsched.engine.state import (
    IS_LOGGED,
    LOG_SIZE,
    NOT_STARTED,
    NUM_IDLE,
    NUM_MOVED,
    NUM_PACED,
    NUM_RUNNING,
    Arrays,
    Integers,
    State,
)
from ringsched.jit import kernel, part
from ringsched.online.queue import COUNTS_ONLY, IS_AT_PROMISE, Stage, outlive


@kernel
def look_ahead(stage: Stage) -> None:
    """Make the ghost what the state is believed to be: the running jobs, with what they should still need."""
    arrays, state, ghost = stage.arrays, stage.state, stage.ghost
    settle(arrays, state)  # who started at this instant runs too
    is_known = state.counts[IS_LOGGED] != 0 and _is_complete(state) and _is_complete(ghost)
    if is_known and (stage.by_count or stage.course.counts[COUNTS_ONLY] == 0):
        _copy_changes(stage)
    else:
        _copy_all(stage)
    stage.course.counts[COUNTS_ONLY] = int(stage.by_count)
    stage.course.counts[IS_AT_PROMISE] = 0
    _clear_log(state)
    _clear_log(ghost)
    ghost.now[0] = state.now[0]
    ghost.counts[NUM_IDLE] = state.counts[NUM_IDLE]
    ghost.traffic.counts[NUM_CONTENDED] = state.traffic.counts[NUM_CONTENDED]
    ghost.traffic.counts[NUM_TOUCHED] = 0
    while ghost.counts[NUM_RUNNING] > 0 and ghost.finish[ghost.heap[0]] <= state.now[0]:
        job = ghost.heap[0]
        _believe(stage, job)
        refile(ghost, job)


@part
def start_counting(arrays: Arrays, ghost: State, job: int) -> None:
    """Start a job on the chosen GPUs of a ghost in which idle GPUs are only counted."""
    num_gpus, offset, at = arrays.gpus[job], arrays.gpu_first[job], 0
    ghost.start[job] = ghost.now[0]
    come(ghost.traffic, job)
    while at < num_gpus:
        server = arrays.server_of[ghost.chosen[at]]
        first = at
        while at < num_gpus and arrays.server_of[ghost.chosen[at]] == server:
            ghost.gpus_of[offset + at] = ghost.chosen[at]
            at += 1
        hold(arrays.links, ghost.traffic, job, server, at - first)
    cross(arrays.links, ghost.traffic, job)
    ghost.counts[NUM_IDLE] -= num_gpus
    log(ghost, ghost.moved, NUM_MOVED, job)


@part
def _is_complete(state: State) -> bool:
    return max(state.counts[NUM_MOVED], state.counts[NUM_PACED]) <= LOG_SIZE


@part
def _clear_log(state: State) -> None:
    state.counts[IS_LOGGED] = 1
    state.counts[NUM_MOVED] = 0
    state.counts[NUM_PACED] = 0


@kernel
def _copy_all(stage: Stage) -> None:
    arrays, state, ghost = stage.arrays, stage.state, stage.ghost
    for server in range(arrays.num_servers):
        _copy_server(arrays, state, ghost, server)
    for link in range(len(state.traffic.num_on_link)):
        copy_link(arrays.links, state.traffic, ghost.traffic, link)
    for at in range(ghost.counts[NUM_RUNNING]):
        ghost.heap_place[ghost.heap[at]] = NOT_STARTED
    ghost.counts[NUM_RUNNING] = 0
    for at in range(state.counts[NUM_RUNNING]):
        _copy_running(stage, state.heap[at])


@kernel
def _copy_changes(stage: Stage) -> None:
    """Copy what jobs have touched that started or ended, here or there, and the jobs themselves."""
    state, ghost = stage.state, stage.ghost
    for at in range(ghost.counts[NUM_MOVED]):
        _copy_around(stage, ghost, ghost.moved[at])
    for at in range(state.counts[NUM_MOVED]):
        _copy_around(stage, state, state.moved[at])
    _copy_jobs(stage, ghost.moved, ghost.counts[NUM_MOVED])
    _copy_jobs(stage, state.moved, state.counts[NUM_MOVED])
    _copy_paces(stage, ghost.paced, ghost.counts[NUM_PACED])
    _copy_paces(stage, state.paced, state.counts[NUM_PACED])


@kernel
def _copy_around(stage: Stage, seen_in: State, job: int) -> None:
    """Copy the servers on which a job is or was, and all links from them to the core."""
    arrays, state, ghost, gpus_of = stage.arrays, stage.state, stage.ghost, seen_in.gpus_of
    if stage.by_count and seen_in.traffic.num_servers[job] == 1:  # it crosses no link
        return
    last = -1
    first = arrays.gpu_first[job]
    for at in range(first, first + arrays.gpus[job]):
        server = arrays.server_of[gpus_of[at]]
        if server == last:
            continue
        last = server
        if not stage.by_count:
            _copy_server(arrays, state, ghost, server)
        node = server
        while node != CORE:
            copy_link(arrays.links, state.traffic, ghost.traffic, node)
            node = arrays.links.parent_of[node]


@kernel
def _copy_server(arrays: Arrays, state: State, ghost: State, server: int) -> None:
    for gpu in range(arrays.first_gpu[server], arrays.first_gpu[server + 1]):
        ghost.holder[gpu] = state.holder[gpu]
        ghost.idle[gpu] = state.idle[gpu]
        ghost.load[gpu] = state.load[gpu]
    ghost.num_idle[server] = state.num_idle[server]
    ghost.idle_share[server] = state.idle_share[server]
    ghost.server_load[server] = state.server_load[server]
    ghost.whole_load[server] = state.whole_load[server]
    ghost.rest_load[server] = state.rest_load[server]


@kernel
def _copy_jobs(stage: Stage, jobs: Integers, num_jobs: int) -> None:
    state, ghost = stage.state, stage.ghost
    for at in range(num_jobs):
        job = jobs[at]
        if state.heap_place[job] >= 0:
            _copy_running(stage, job)
        elif ghost.heap_place[job] >= 0:
            drop(ghost, job)


@kernel
def _copy_running(stage: Stage, job: int) -> None:
    arrays, state, ghost = stage.arrays, stage.state, stage.ghost
    offset = arrays.gpu_first[job]
    for at in range(offset, offset + arrays.gpus[job]):
        ghost.gpus_of[at] = state.gpus_of[at]
    copy_job(arrays.links, state.traffic, ghost.traffic, job)
    ghost.start[job] = state.start[job]
    _copy_pace(stage, job)


@part
def _copy_paces(stage: Stage, jobs: Integers, num_jobs: int) -> None:
    for at in range(num_jobs):
        if stage.state.heap_place[jobs[at]] >= 0 and not _has_pace(stage, jobs[at]):
            _copy_pace(stage, jobs[at])


@part
def _has_pace(stage: Stage, job: int) -> bool:
    """Whether the ghost has the pace of a job already; most jobs change theirs several times."""
    arrays, believed, state, ghost = stage.arrays, stage.believed, stage.state, stage.ghost
    remaining = state.remaining[job] + (believed.iterations[job] - arrays.iterations[job])
    return (
        ghost.heap_place[job] >= 0
        and ghost.since[job] == state.since[job]
        and ghost.rate[job] == state.rate[job]
        and ghost.traffic.gbps[job] == state.traffic.gbps[job]
        and ghost.remaining[job] == remaining
    )


@kernel
def _copy_pace(stage: Stage, job: int) -> None:
    state, ghost = stage.state, stage.ghost
    ghost.since[job] = state.since[job]
    ghost.rate[job] = state.rate[job]
    copy_pace(state.traffic, ghost.traffic, job)
    _believe(stage, job)
    if ghost.heap_place[job] >= 0:
        refile(ghost, job)
    else:
        push(ghost, job)


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
    ghost.finish[job] = min(ghost.finish[job], state.start[job] + arrays.permits.limit[job])
