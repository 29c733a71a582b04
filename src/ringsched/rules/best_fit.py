"""Best fit: the tightest server that holds the job whole, else as few servers as possible."""

from __future__ import annotations

from ringsched.engine.state import IDLE, Arrays, State
from ringsched.jit import kernel
from ringsched.model.eligibility import ANY_PARTS
from ringsched.rules.layout import BY_IDLE, equal_parts
from ringsched.rules.shared import ANY_NUMBER, MAX_LOAD, Queue, Scratch, sort


@kernel
def best_fit(
    arrays: Arrays, state: State, scratch: Scratch, queue: Queue, job: int, limit: int, kappa: int
) -> bool:
    """Choose the tightest server that holds the job, else as few servers as possible."""
    return fit(arrays, state, scratch, job, ANY_NUMBER)


@kernel
def fit(arrays: Arrays, state: State, scratch: Scratch, job: int, most_jobs: int) -> bool:
    """Choose idle GPUs of the fullest server that fits; else of the emptiest servers, one after another.

    Only of servers with fewer than `most_jobs` jobs on their uplink in the second case. The load limit
    θ does not apply.
    """
    if arrays.permits.parts[job] != ANY_PARTS:
        return equal_parts(arrays, state, scratch, job, MAX_LOAD, BY_IDLE, most_jobs)
    wanted = arrays.gpus[job]
    if one_server(arrays, state, job):
        return True
    most_idle, num_idle = 0, 0
    for server in range(arrays.num_servers):
        if state.traffic.num_on_link[server] < most_jobs:
            most_idle = max(most_idle, state.num_idle[server])
            num_idle += state.num_idle[server]
    if num_idle < wanted:
        return False
    num_chosen = 0
    for idle in range(most_idle, 0, -1):  # emptiest first, then by index
        for server in range(arrays.num_servers):
            if state.num_idle[server] == idle and state.traffic.num_on_link[server] < most_jobs:
                num_chosen = take(arrays, state, server, num_chosen, wanted)
                if num_chosen == wanted:
                    sort(state.chosen, wanted)
                    return True
    return False


@kernel
def one_server(arrays: Arrays, state: State, job: int) -> bool:
    """Choose GPUs of the server with the fewest idle ones that holds the job whole, if it may be on one."""
    if arrays.permits.parts[job] > 1:
        return False
    wanted = arrays.gpus[job]
    tightest = -1
    for server in range(arrays.num_servers):
        idle = state.num_idle[server]
        if idle >= wanted and (tightest < 0 or idle < state.num_idle[tightest]):
            tightest = server
            if idle == wanted:
                break
    return tightest >= 0 and take(arrays, state, tightest, 0, wanted) == wanted


@kernel
def take(arrays: Arrays, state: State, server: int, num_chosen: int, wanted: int) -> int:
    """Choose the lowest idle GPUs of a server, as many as are still wanted; return how many are chosen."""
    for gpu in range(arrays.first_gpu[server], arrays.first_gpu[server + 1]):
        if num_chosen == wanted:
            break
        if state.holder[gpu] == IDLE:
            state.chosen[num_chosen] = gpu
            num_chosen += 1
    return num_chosen
