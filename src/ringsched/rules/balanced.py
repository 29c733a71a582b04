"""The rules of SJF-BCO: FA-FFP (Algorithm 2) for small jobs, LBSGF (Algorithm 3) for large ones."""

from __future__ import annotations

from ringsched.engine.heap import heapify, not_noted, sink
from ringsched.engine.state import LOAD_VERSION, Arrays, Floats, Integers, State
from ringsched.jit import kernel, part
from ringsched.model.eligibility import ANY_PARTS
from ringsched.rules.layout import BY_LOAD_AND_BUSY, BY_SERVER_LOAD, equal_parts
from ringsched.rules.shared import ANY_NUMBER, Queue, Scratch, least

# Places in `selected`.
_FIRST = 0
_END = 1
_JOB = 2
_LOADS = 3


@part  # a call with all these arrays costs more than the choice itself
def balanced(
    arrays: Arrays, state: State, scratch: Scratch, queue: Queue, job: int, limit: int, kappa: int
) -> bool:
    """Choose by FA-FFP for a job of up to κ GPUs, by LBSGF for a larger one (Alg. 1 lines 10 to 13)."""
    if arrays.permits.parts[job] != ANY_PARTS:
        by = BY_LOAD_AND_BUSY if arrays.gpus[job] <= kappa else BY_SERVER_LOAD
        return equal_parts(arrays, state, scratch, job, limit, by, ANY_NUMBER)
    if arrays.gpus[job] <= kappa:
        return fragment_aware(arrays, state, scratch, job, limit)
    return least_busy_servers(arrays, state, scratch, job, limit, queue.needed[job])


@kernel
def fragment_aware(arrays: Arrays, state: State, scratch: Scratch, job: int, limit: int) -> bool:
    """Choose the eligible GPUs by (U, -busy share of the server, server, GPU).

    Line 4 of the pseudo-code sorts by U alone, which is list scheduling; the text packs into servers
    that are occupied already, so the busiest server wins a tie. The idle share orders servers as the
    busy share does, the other way round; quotients of small integers compare exactly as floats.
    """
    return least(arrays, state, arrays.gpus[job], limit, scratch.servers, state.idle_share)


@kernel
def least_busy_servers(
    arrays: Arrays, state: State, scratch: Scratch, job: int, limit: int, needed: float
) -> bool:
    """Choose the least loaded GPUs of the least busy servers that hold `needed` = λ_j G_j GPUs together."""
    selected = scratch.selected
    # The choice depends on loads only, so a job that waits need not choose again.
    if selected[_JOB] != job or selected[_LOADS] != state.counts[LOAD_VERSION]:
        selected[_FIRST], selected[_END] = _select(arrays, state, scratch, needed)
        selected[_JOB] = job
        selected[_LOADS] = state.counts[LOAD_VERSION]
    servers = scratch.order[selected[_FIRST] : selected[_END]]
    return least(arrays, state, arrays.gpus[job], limit, servers, scratch.no_tie)


@part
def _select(arrays: Arrays, state: State, scratch: Scratch, needed: float) -> tuple[int, int]:
    """Find the shortest large enough prefix of servers by load per GPU (line 2); all if none is.

    A heap of all servers, popped from its top to its end, sorts only as many as are needed. Returns
    where in `order` they begin and end.
    """
    order, end = scratch.order, 0
    for server in range(arrays.num_servers):
        if arrays.capacity[server] > 0 and not scratch.barred[server]:
            order[end] = server
            end += 1
    heapify(order, end, is_less_busy, not_noted, (state.whole_load, state.rest_load))
    first = end
    total = 0
    while first > 0:
        first -= 1
        order[0], order[first] = order[first], order[0]
        if first > 0:
            sink(order, first, 0, is_less_busy, not_noted, (state.whole_load, state.rest_load))
        total += arrays.capacity[order[first]]
        if total >= needed:
            break
    return first, end


@part
def is_less_busy(context: tuple[Integers, Floats], one: int, other: int) -> bool:
    """Compare loads per GPU, whole parts and rests, then indices."""
    whole, rest = context
    if whole[one] != whole[other]:
        return whole[one] < whole[other]
    return rest[one] < rest[other] or (rest[one] == rest[other] and one < other)
