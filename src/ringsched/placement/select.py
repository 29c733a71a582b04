"""Choosing the best of many GPUs without sorting them all."""

from __future__ import annotations

from ringsched.engine.arrays import Arrays, Floats, Integers
from ringsched.engine.heap import heapify, not_noted, sink
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
                heapify(chosen, wanted, _is_worse, not_noted, (state.load, arrays.server_of, tie))
                is_heap = True
            if not _is_worse((state.load, arrays.server_of, tie), chosen[0], gpu):
                break
            chosen[0] = gpu
            sink(chosen, wanted, 0, _is_worse, not_noted, (state.load, arrays.server_of, tie))
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
def _is_worse(context: tuple[Integers, Integers, Floats], gpu: int, other: int) -> bool:
    """Compare by (load, tie of the server, GPU); the worst one is on top of the heap."""
    load, server_of, tie = context
    if load[gpu] != load[other]:
        return load[gpu] > load[other]
    mine, theirs = tie[server_of[gpu]], tie[server_of[other]]
    return mine > theirs or (mine == theirs and gpu > other)
