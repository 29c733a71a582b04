"""Balanced layouts: k servers with G/k GPUs each, k as small as possible, servers in the rule's own order."""

from __future__ import annotations

from ringsched.engine.state import IDLE, Arrays, State
from ringsched.jit import kernel, part
from ringsched.model.eligibility import EQUAL_PARTS
from ringsched.rules.shared import Scratch, sort

# By what a rule sorts servers.
BY_INDEX = 0
BY_LOAD = 1  # of the least loaded eligible GPU
BY_LOAD_AND_BUSY = 2  # the same, busy servers first among equals
BY_SERVER_LOAD = 3  # load per GPU of the server
BY_IDLE = 4  # one server: the fewest idle GPUs; several: the most


@kernel
def equal_parts(
    arrays: Arrays, state: State, scratch: Scratch, job: int, limit: int, by: int, most_jobs: int
) -> bool:
    """Choose the first k servers with enough eligible GPUs, for the smallest k that there are."""
    wanted = arrays.gpus[job]
    for num_parts in range(1, min(wanted, arrays.num_servers) + 1):
        if is_split(arrays, job, num_parts) and take_parts(
            arrays, state, scratch, num_parts, wanted // num_parts, limit, by, most_jobs
        ):
            return True
    return False


@kernel
def is_split(arrays: Arrays, job: int, num_parts: int) -> bool:
    """Whether a job with a balanced layout may be split into so many parts."""
    parts = arrays.permits.parts[job]
    return arrays.gpus[job] % num_parts == 0 and parts in (EQUAL_PARTS, num_parts)


@kernel
def take_parts(
    arrays: Arrays,
    state: State,
    scratch: Scratch,
    num_parts: int,
    each: int,
    limit: int,
    by: int,
    most_jobs: int,
) -> bool:
    """Choose `each` GPUs of the first servers that have them; False if they are too few.

    A GPU is eligible if it is idle and its load is at most `limit`. A job on several servers uses only those
    with fewer than `most_jobs` jobs on their uplink.
    """
    if find_parts(arrays, state, scratch, num_parts, each, limit, most_jobs) < num_parts:
        return False
    for server in range(arrays.num_servers):
        _set_keys(arrays, state, scratch, server, by, num_parts)
    for at in range(num_parts):
        server = _first_of(scratch)
        scratch.taken[server] = True
        take_part(arrays, state, server, at * each, each, limit, by != BY_INDEX and by != BY_IDLE)
    sort(state.chosen, num_parts * each)
    return True


@kernel
def find_parts(
    arrays: Arrays, state: State, scratch: Scratch, num_parts: int, each: int, limit: int, most_jobs: int
) -> int:
    """Mark the servers without `each` eligible GPUs as taken; return how many others there are."""
    num_fitting = 0
    for server in range(arrays.num_servers):
        fits = (
            state.num_idle[server] >= each
            # Idle GPUs are sorted by load.
            and state.load[state.idle[arrays.first_gpu[server] + each - 1]] <= limit
            and (num_parts == 1 or state.traffic.num_on_link[server] < most_jobs)
        )
        scratch.taken[server] = not fits
        num_fitting += fits
    return num_fitting


@part
def _set_keys(arrays: Arrays, state: State, scratch: Scratch, server: int, by: int, num_parts: int) -> None:
    """Set by what a server is sorted: a whole number, then a float, then its index."""
    whole, rest = 0, 0.0
    if scratch.taken[server]:
        return
    if by in (BY_LOAD, BY_LOAD_AND_BUSY):
        whole = state.load[state.idle[arrays.first_gpu[server]]]
        rest = state.idle_share[server] if by == BY_LOAD_AND_BUSY else 0.0
    elif by == BY_SERVER_LOAD:
        whole, rest = state.whole_load[server], state.rest_load[server]
    elif by == BY_IDLE:
        whole = state.num_idle[server] if num_parts == 1 else -state.num_idle[server]
    scratch.whole_key[server] = whole
    scratch.rest_key[server] = rest


@part
def _first_of(scratch: Scratch) -> int:
    """Return the first server by the keys that is not taken."""
    best = -1
    for server in range(len(scratch.taken)):
        if scratch.taken[server]:
            continue
        if best < 0 or (
            scratch.whole_key[server] < scratch.whole_key[best]
            or (
                scratch.whole_key[server] == scratch.whole_key[best]
                and scratch.rest_key[server] < scratch.rest_key[best]
            )
        ):
            best = server
    return best


@kernel
def take_part(
    arrays: Arrays, state: State, server: int, offset: int, each: int, limit: int, by_load: bool
) -> None:
    """Choose `each` eligible GPUs of a server, by (load, GPU) or by GPU alone."""
    first = arrays.first_gpu[server]
    if by_load:
        for at in range(each):
            state.chosen[offset + at] = state.idle[first + at]
        return
    num_chosen = 0
    for gpu in range(first, arrays.first_gpu[server + 1]):
        if num_chosen == each:
            break
        if state.holder[gpu] == IDLE and state.load[gpu] <= limit:
            state.chosen[offset + num_chosen] = gpu
            num_chosen += 1
