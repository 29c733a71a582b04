"""Events on arrays: start, settle, complete. Each touches only the jobs that share a link with it."""

from __future__ import annotations

import math

from ringsched.contention.sharing import iteration_time, share_links
from ringsched.contention.traffic import NUM_TOUCHED, come, cross, forget_touched, hold, leave
from ringsched.engine.arrays import Arrays
from ringsched.engine.clock import SLACK
from ringsched.engine.state import (
    ENDED,
    IDLE,
    LOAD_VERSION,
    NOT_STARTED,
    NUM_IDLE,
    NUM_RUNNING,
    State,
)
from ringsched.jit import kernel, part
from ringsched.model.checks import MAX_INTEGER


@kernel
def start(arrays: Arrays, state: State, job: int, charge: int) -> None:
    """Give the job the GPUs in `chosen`, ascending, and charge them; `settle` sets its rate."""
    num_gpus, links, traffic = arrays.gpus[job], arrays.links, state.traffic
    offset = arrays.gpu_first[job]
    state.start[job] = state.now[0]
    come(traffic, job)
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
        _charge(arrays, state, server, charge * held)
        _drop_busy(arrays, state, server, held)
        hold(links, traffic, job, server, held)
    cross(links, traffic, job)
    state.counts[NUM_IDLE] -= num_gpus
    state.counts[LOAD_VERSION] += 1


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
    links, traffic = arrays.links, state.traffic
    share_links(links, traffic)
    now = state.now[0]
    for at in range(traffic.counts[NUM_TOUCHED]):
        job = traffic.touched[at]
        if state.heap_place[job] == ENDED:  # touched by one completion, ended by the next
            continue
        is_new = state.heap_place[job] == NOT_STARTED
        rate = _rate(arrays, iteration_time(links, traffic, job))
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
    forget_touched(traffic)


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
    leave(arrays.links, state.traffic, job)


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
