"""Choosing the best of many GPUs without sorting them all."""

from __future__ import annotations

from ringsched.engine.arrays import Arrays, Floats, Integers
from ringsched.engine.state import State
from ringsched.jit import kernel


@kernel
def least(arrays: Arrays, state: State, wanted: int, limit: int, servers: Integers, tie: Floats) -> bool:
    """Choose the `wanted` idle GPUs with the least (load, tie of the server, GPU); False if too few.

    Only GPUs of `servers` with a load of at most `limit`. Each server's idle GPUs are sorted by (load,
    GPU), so a server is left as soon as its next GPU is no better than the worst one chosen: for most,
    one look is enough.
    """
    chosen = state.chosen
    num_chosen = 0
    for server in servers:
        first = arrays.first_gpu[server]
        for at in range(first, first + state.num_idle[server]):
            gpu = state.idle[at]
            if state.load[gpu] > limit:
                break
            if num_chosen == wanted and not _is_better(arrays, state, tie, gpu, chosen[wanted - 1]):
                break
            slot = num_chosen if num_chosen < wanted else wanted - 1
            while slot > 0 and _is_better(arrays, state, tie, gpu, chosen[slot - 1]):
                chosen[slot] = chosen[slot - 1]
                slot -= 1
            chosen[slot] = gpu
            num_chosen = min(num_chosen + 1, wanted)
    if num_chosen < wanted:
        return False
    sort(chosen, wanted)
    return True


@kernel
def sort(values: Integers, size: int) -> None:
    """Sort the first `size` values: Shell's method, which needs no memory."""
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for at in range(gap, size):
            value, place = values[at], at
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value
        gap //= 3


@kernel
def _is_better(arrays: Arrays, state: State, tie: Floats, gpu: int, other: int) -> bool:
    if state.load[gpu] != state.load[other]:
        return state.load[gpu] < state.load[other]
    mine, theirs = tie[arrays.server_of[gpu]], tie[arrays.server_of[other]]
    return mine < theirs or (mine == theirs and gpu < other)
