"""Events on arrays: start, settle, complete. Each touches only the jobs that share a link with it."""

from __future__ import annotations

import math

from ringsched.contention.sharing import set_pace, share_links
from ringsched.contention.traffic import NUM_TOUCHED, come, cross, forget_touched, hold, leave
from ringsched.engine.clock import done_at, duration_at, rate_at, same_instant_until
from ringsched.engine.eligibility import next_reopening
from ringsched.engine.heap import rise, sink
from ringsched.engine.state import (
    ENDED,
    IDLE,
    IS_LOGGED,
    LOAD_VERSION,
    LOG_SIZE,
    NOT_STARTED,
    NUM_CHANGES,
    NUM_IDLE,
    NUM_MOVED,
    NUM_PACED,
    NUM_RUNNING,
    Arrays,
    Floats,
    Integers,
    State,
)
from ringsched.jit import kernel, part


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
    log(state, state.moved, NUM_MOVED, job)


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
        is_new, before_gbps = state.heap_place[job] == NOT_STARTED, traffic.gbps[job]
        rate = rate_at(arrays.slotted, arrays.unit_s, set_pace(links, traffic, job))
        if is_new:
            state.remaining[job] = arrays.iterations[job]
        elif rate == state.rate[job]:
            if traffic.gbps[job] != before_gbps:
                log(state, state.paced, NUM_PACED, job)
            continue
        else:
            state.remaining[job] -= done_at(arrays.slotted, now - state.since[job], state.rate[job])
        state.since[job] = now
        state.rate[job] = rate
        state.finish[job] = min(
            now + duration_at(arrays.slotted, state.remaining[job], rate),
            state.start[job] + arrays.permits.limit[job],
        )
        if is_new:
            push(state, job)
        else:
            refile(state, job)
            log(state, state.paced, NUM_PACED, job)
    forget_touched(traffic)


@part
def log(state: State, changed: Integers, which: int, job: int) -> None:
    """Write down that a job has changed, for a copy that follows the state; `which` counts these changes."""
    if state.counts[IS_LOGGED] != 0:
        at = state.counts[which]
        if at < LOG_SIZE:
            changed[at] = job
        state.counts[which] = at + 1
        state.counts[NUM_CHANGES] += 1


@part
def next_event(arrays: Arrays, state: State, next_arrival: float, jobs_wait: bool) -> float:
    """Set the rates of this instant; return the next one at which a job ends or comes, or infinity.

    If jobs wait, a server that is available again is an event, too.
    """
    settle(arrays, state)
    time = min(next_completion(state), next_arrival)
    return min(time, next_reopening(arrays.permits, state.now[0])) if jobs_wait else time


@part
def next_release(release: Floats, arrivals: Integers, num_arrived: int) -> float:
    """Return when the next job comes, jobs in the order of `arrivals`; infinity if all have."""
    return release[arrivals[num_arrived]] if num_arrived < len(arrivals) else math.inf


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
    latest = same_instant_until(arrays.slotted, time)
    while next_completion(state) <= latest:
        _finish(arrays, state, state.heap[0])


@kernel
def advance_counting(arrays: Arrays, state: State, time: float) -> None:
    """The same as `advance` for a state in which idle GPUs are only counted, and it is not known which."""
    state.now[0] = time
    latest = same_instant_until(arrays.slotted, time)
    while next_completion(state) <= latest:
        _end(arrays, state, state.heap[0])


@kernel
def withdraw(arrays: Arrays, state: State, job: int) -> None:
    """Take back the start of a job that slows no other; only its charge stays on its GPUs."""
    _add_all_idle(arrays, state, job)
    drop(state, job)
    state.counts[NUM_IDLE] += arrays.gpus[job]
    leave(arrays.links, state.traffic, job)


@part
def _finish(arrays: Arrays, state: State, job: int) -> None:
    _add_all_idle(arrays, state, job)
    _end(arrays, state, job)


@part
def _end(arrays: Arrays, state: State, job: int) -> None:
    state.finished[job] = state.now[0]
    log(state, state.moved, NUM_MOVED, job)
    _pop(state)
    state.counts[NUM_IDLE] += arrays.gpus[job]
    leave(arrays.links, state.traffic, job)


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
def _add_all_idle(arrays: Arrays, state: State, job: int) -> None:
    offset = arrays.gpu_first[job]
    for at in range(offset, offset + arrays.gpus[job]):
        _add_idle(arrays, state, state.gpus_of[at])


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


# Completions: a heap of running jobs by (finish, job), each job knowing its place.


@part
def push(state: State, job: int) -> None:
    """Take a job up among the running ones, whose finish is known."""
    place = state.counts[NUM_RUNNING]
    state.counts[NUM_RUNNING] += 1
    state.heap[place] = job
    rise(state.heap, place, ends_before, _note_place, (state.finish, state.heap_place))


@part
def refile(state: State, job: int) -> None:
    """Move a running job to where it belongs, once its finish is another."""
    place = rise(
        state.heap, state.heap_place[job], ends_before, _note_place, (state.finish, state.heap_place)
    )
    sink(
        state.heap,
        state.counts[NUM_RUNNING],
        place,
        ends_before,
        _note_place,
        (state.finish, state.heap_place),
    )


@part
def drop(state: State, job: int) -> None:
    """Take a job out from among the running ones, wherever it is."""
    place = state.heap_place[job]
    state.heap_place[job] = NOT_STARTED
    state.counts[NUM_RUNNING] -= 1
    last = state.heap[state.counts[NUM_RUNNING]]
    if last != job:
        state.heap[place] = last
        state.heap_place[last] = place
        refile(state, last)


@part
def _pop(state: State) -> None:
    state.heap_place[state.heap[0]] = ENDED
    state.counts[NUM_RUNNING] -= 1
    if state.counts[NUM_RUNNING] > 0:
        state.heap[0] = state.heap[state.counts[NUM_RUNNING]]
        sink(
            state.heap,
            state.counts[NUM_RUNNING],
            0,
            ends_before,
            _note_place,
            (state.finish, state.heap_place),
        )


@part
def ends_before(context: tuple[Floats, Integers], one: int, other: int) -> bool:
    """Whether a running job ends before another one; `context` has the finishes first."""
    finish = context[0]
    return finish[one] < finish[other] or (finish[one] == finish[other] and one < other)


@part
def _note_place(context: tuple[Floats, Integers], job: int, place: int) -> None:
    context[1][job] = place


@kernel
def remaining_now(arrays: Arrays, state: State, job: int) -> float:
    """Return the iterations a running job has left, also of one that has started in this instant."""
    if state.heap_place[job] == NOT_STARTED:
        return float(arrays.iterations[job])
    return state.remaining[job] - done_at(arrays.slotted, state.now[0] - state.since[job], state.rate[job])


@kernel
def time_for(arrays: Arrays, iterations: float, tau: float) -> float:
    """Return how long so many iterations take at a constant tau, in the clock's units."""
    return duration_at(arrays.slotted, iterations, rate_at(arrays.slotted, arrays.unit_s, tau))


@kernel
def done_in(arrays: Arrays, elapsed: float, tau: float) -> float:
    """Return how many iterations are done in `elapsed` at a constant tau."""
    return done_at(arrays.slotted, elapsed, rate_at(arrays.slotted, arrays.unit_s, tau))
