"""Choosing the best of many GPUs without sorting them all."""

from __future__ import annotations

from ringsched.engine.arrays import Arrays, Floats, Integers
from ringsched.engine.state import State
from ringsched.jit import kernel, part


@kernel
def least(arrays: Arrays, state: State, wanted: int, limit: int, servers: Integers, tie: Floats) -> bool:
    """Choose the `wanted` idle GPUs with the least (load, tie of the server, GPU); False if too few.

    Only GPUs of `servers` with a load of at most `limit`. The first `wanted` are taken as they come; if
    there are more, those taken become a heap with the worst on top, which better ones replace. Each
    server's idle GPUs are sorted by (load, GPU), so a server is left as soon as its next GPU is no
    better than the worst one chosen: for most, one look is enough.
    """
    chosen = state.chosen
    num_chosen = 0
    is_heap = False
    for server in servers:
        first = arrays.first_gpu[server]
        for at in range(first, first + state.num_idle[server]):
            gpu = state.idle[at]
            if state.load[gpu] > limit:
                break
            if num_chosen < wanted:
                chosen[num_chosen] = gpu
                num_chosen += 1
                continue
            if not is_heap:
                for place in range(wanted // 2 - 1, -1, -1):
                    _sink(arrays, state, tie, chosen[place], place, wanted)
                is_heap = True
            if not _is_better(arrays, state, tie, gpu, chosen[0]):
                break
            _sink(arrays, state, tie, gpu, 0, wanted)
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


@part
def _sink(arrays: Arrays, state: State, tie: Floats, gpu: int, place: int, size: int) -> None:
    """Put a GPU into the heap of those chosen, at `place` or below, where a worse one stands above it."""
    chosen = state.chosen
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _is_better(arrays, state, tie, chosen[child], chosen[child + 1]):
            child += 1
        if not _is_better(arrays, state, tie, gpu, chosen[child]):
            break
        chosen[place] = chosen[child]
        place = child
    chosen[place] = gpu


@part
def _is_better(arrays: Arrays, state: State, tie: Floats, gpu: int, other: int) -> bool:
    if state.load[gpu] != state.load[other]:
        return state.load[gpu] < state.load[other]
    mine, theirs = tie[arrays.server_of[gpu]], tie[arrays.server_of[other]]
    return mine < theirs or (mine == theirs and gpu < other)
