"""Events on arrays: start, settle, complete. Each touches only the jobs that share a link with it."""

from __future__ import annotations

import math

from ringsched.contention.kernels import iteration_time_s
from ringsched.engine.arrays import Arrays
from ringsched.engine.clock import SLACK
from ringsched.engine.fair_shares import share_fairly
from ringsched.engine.state import (
    ENDED,
    IDLE,
    LOAD_VERSION,
    NOT_STARTED,
    NUM_CONTENDED,
    NUM_IDLE,
    NUM_RUNNING,
    NUM_TOUCHED,
    STAMP,
    State,
    touch,
)
from ringsched.jit import kernel, part
from ringsched.model.checks import MAX_INTEGER


@kernel
def start(arrays: Arrays, state: State, job: int, charge: int) -> None:
    """Give the job the GPUs in `chosen`, ascending, and charge them; `settle` sets its rate."""
    num_gpus = arrays.gpus[job]
    offset = arrays.gpu_first[job]
    state.start[job] = state.now[0]
    state.num_links[job] = 0
    state.free_gbps[job] = math.inf
    num_servers = 0
    at = 0
    while at < num_gpus:
        server = arrays.server_of[state.chosen[at]]
        first = at
        while at < num_gpus and arrays.server_of[state.chosen[at]] == server:
            gpu = state.chosen[at]
            state.holder[gpu] = job
            state.gpus_of[offset + at] = gpu
            state.load[gpu] += charge
            at += 1
        held = at - first
        num_servers += 1
        _charge(arrays, state, server, charge * held)
        if held > 1:
            state.free_gbps[job] = arrays.intra_gbps
        _drop_busy(arrays, state, server, held)
        if held < num_gpus:
            _enter(arrays, state, job, server)
            rack = arrays.rack_of[server]
            if rack >= 0:
                state.rack_gpus[rack] += held
    state.counts[NUM_IDLE] -= num_gpus
    state.counts[LOAD_VERSION] += 1
    state.num_servers[job] = num_servers
    if num_servers > 1:
        _enter_racks(arrays, state, job)
    touch(state, job)


@part
def _charge(arrays: Arrays, state: State, server: int, load: int) -> None:
    state.server_load[server] += load
    capacity = arrays.capacity[server]
    whole = state.server_load[server] // capacity
    state.whole_load[server] = whole
    # The remainder is small enough for a quotient that compares exactly.
    state.rest_load[server] = (state.server_load[server] - whole * capacity) / capacity


@kernel
def settle(arrays: Arrays, state: State) -> None:
    """Set the rates of all jobs touched since the last call, once all starts of this instant are known."""
    if arrays.is_fair:
        share_fairly(arrays, state)
    now = state.now[0]
    for at in range(state.counts[NUM_TOUCHED]):
        job = state.touched[at]
        if state.heap_place[job] == ENDED:  # touched by one completion, ended by the next
            continue
        is_new = state.heap_place[job] == NOT_STARTED
        rate = _rate(arrays, iteration_time_s(arrays, state, job))
        if is_new:
            state.remaining[job] = arrays.iterations[job]
        elif rate == state.rate[job]:
            continue
        else:
            state.remaining[job] -= _done(arrays, now - state.since[job], state.rate[job])
        state.since[job] = now
        state.rate[job] = rate
        state.finish[job] = now + _duration(arrays, state.remaining[job], rate)
        if is_new:
            _push(state, job)
        else:
            _sift(state, state.heap_place[job])
    state.counts[NUM_TOUCHED] = 0
    state.counts[STAMP] += 1


@kernel
def next_completion(state: State) -> float:
    """Return the earliest finish of a running job; infinity if none runs."""
    return state.finish[state.heap[0]] if state.counts[NUM_RUNNING] > 0 else math.inf


@kernel
def advance(arrays: Arrays, state: State, time: float) -> None:
    """Move on to `time` and end the jobs that complete there."""
    state.now[0] = time
    if next_completion(state) != time:
        return
    latest = same_instant_until(arrays, time)
    while next_completion(state) <= latest:
        _finish(arrays, state, state.heap[0])


@kernel
def same_instant_until(arrays: Arrays, time: float) -> float:
    """Return the latest instant that counts as the same as `time` (engine/clock.py says more)."""
    if arrays.slotted:
        return time
    return time + SLACK * max(1.0, time)


@part
def _finish(arrays: Arrays, state: State, job: int) -> None:
    state.finished[job] = state.now[0]
    _pop(state)
    offset = arrays.gpu_first[job]
    for at in range(offset, offset + arrays.gpus[job]):
        _add_idle(arrays, state, state.gpus_of[at])
    state.counts[NUM_IDLE] += arrays.gpus[job]
    for entry in range(2 * offset, 2 * offset + state.num_links[job]):
        _leave(arrays, state, entry)


@part
def _rate(arrays: Arrays, tau: float) -> float:
    """Return iterations per slot, or seconds per iteration (engine/clock.py says more)."""
    if arrays.slotted:
        return math.floor(min(arrays.unit_s / tau, MAX_INTEGER) + SLACK)
    return tau


@part
def _duration(arrays: Arrays, iterations: float, rate: float) -> float:
    if arrays.slotted:
        return float((int(iterations) + int(rate) - 1) // int(rate))
    return iterations * rate


@part
def _done(arrays: Arrays, elapsed: float, rate: float) -> float:
    return elapsed * rate if arrays.slotted else elapsed / rate


# Idle GPUs: a list for each server, by (load, GPU). Loads change only when a GPU leaves its list.


@part
def _drop_busy(arrays: Arrays, state: State, server: int, num_dropped: int) -> None:
    first = arrays.first_gpu[server]
    kept = first
    for at in range(first, first + state.num_idle[server]):
        gpu = state.idle[at]
        if state.holder[gpu] == IDLE:
            state.idle[kept] = gpu
            kept += 1
    state.num_idle[server] -= num_dropped
    state.idle_share[server] = state.num_idle[server] / arrays.capacity[server]


@part
def _add_idle(arrays: Arrays, state: State, gpu: int) -> None:
    server = arrays.server_of[gpu]
    first = arrays.first_gpu[server]
    at = first + state.num_idle[server]
    while at > first:
        before = state.idle[at - 1]
        if state.load[before] < state.load[gpu] or (state.load[before] == state.load[gpu] and before < gpu):
            break
        state.idle[at] = before
        at -= 1
    state.idle[at] = gpu
    state.holder[gpu] = IDLE
    state.num_idle[server] += 1
    state.idle_share[server] = state.num_idle[server] / arrays.capacity[server]


# Links: a list of entries for each, an entry being one job on one link.


@part
def _enter(arrays: Arrays, state: State, job: int, link: int) -> None:
    entry = 2 * arrays.gpu_first[job] + state.num_links[job]
    state.num_links[job] += 1
    place = state.num_on_link[link]
    state.on_link[arrays.link_first[link] + place] = entry
    state.entry_link[entry] = link
    state.entry_place[entry] = place
    _resize(arrays, state, link, place + 1)


@part
def _enter_racks(arrays: Arrays, state: State, job: int) -> None:
    """Enter the uplinks of the racks that hold a part of the job, not all of it."""
    offset = arrays.gpu_first[job]
    for at in range(offset, offset + arrays.gpus[job]):
        rack = arrays.rack_of[arrays.server_of[state.gpus_of[at]]]
        if rack >= 0 and state.rack_gpus[rack] > 0:
            if state.rack_gpus[rack] < arrays.gpus[job]:
                _enter(arrays, state, job, rack)
            state.rack_gpus[rack] = 0


@part
def _leave(arrays: Arrays, state: State, entry: int) -> None:
    """Take an entry off its link; the last one there takes its place."""
    link = state.entry_link[entry]
    first = arrays.link_first[link]
    last = state.on_link[first + state.num_on_link[link] - 1]
    state.on_link[first + state.entry_place[entry]] = last
    state.entry_place[last] = state.entry_place[entry]
    _resize(arrays, state, link, state.num_on_link[link] - 1)


@part
def _resize(arrays: Arrays, state: State, link: int, num_jobs: int) -> None:
    """Set the number of jobs on a link; all of them are touched."""
    state.counts[NUM_CONTENDED] += int(num_jobs > 1) - int(state.num_on_link[link] > 1)
    state.num_on_link[link] = num_jobs
    state.shared_gbps[link] = arrays.uplink_gbps[link] / arrays.factor[num_jobs]
    first = arrays.link_first[link]
    for at in range(first, first + num_jobs):
        touch(state, arrays.entry_job[state.on_link[at]])


# Completions: a binary heap of running jobs by (finish, job), each job knowing its place.


@part
def _push(state: State, job: int) -> None:
    place = state.counts[NUM_RUNNING]
    state.counts[NUM_RUNNING] += 1
    state.heap[place] = job
    state.heap_place[job] = place
    _sift(state, place)


@part
def _pop(state: State) -> None:
    state.heap_place[state.heap[0]] = ENDED
    state.counts[NUM_RUNNING] -= 1
    if state.counts[NUM_RUNNING] > 0:
        last = state.heap[state.counts[NUM_RUNNING]]
        state.heap[0] = last
        state.heap_place[last] = 0
        _sift(state, 0)


@part
def _sift(state: State, place: int) -> None:
    """Move the job at `place` up or down to where its finish belongs."""
    job = state.heap[place]
    while place > 0:
        parent = (place - 1) // 2
        if not _is_before(state, job, state.heap[parent]):
            break
        _put(state, state.heap[parent], place)
        place = parent
    size = state.counts[NUM_RUNNING]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _is_before(state, state.heap[child + 1], state.heap[child]):
            child += 1
        if not _is_before(state, state.heap[child], job):
            break
        _put(state, state.heap[child], place)
        place = child
    _put(state, job, place)


@part
def _put(state: State, job: int, place: int) -> None:
    state.heap[place] = job
    state.heap_place[job] = place


@part
def _is_before(state: State, one: int, other: int) -> bool:
    return state.finish[one] < state.finish[other] or (
        state.finish[one] == state.finish[other] and one < other
    )
