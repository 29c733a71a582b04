"""LWF-κ of Wang et al. (2020): least workload first."""

from __future__ import annotations

from ringsched.engine.heap import heapify, not_noted, sink
from ringsched.engine.state import Arrays, Integers, State
from ringsched.jit import kernel, part
from ringsched.model.eligibility import ANY_PARTS
from ringsched.rules.balanced import is_less_busy
from ringsched.rules.layout import BY_SERVER_LOAD, equal_parts
from ringsched.rules.least_loaded import least_loaded
from ringsched.rules.shared import ANY_NUMBER, Queue, Scratch, sort


@kernel
def least_workload(
    arrays: Arrays, state: State, scratch: Scratch, queue: Queue, job: int, limit: int, kappa: int
) -> bool:
    """Choose the least loaded GPUs for a job of up to κ GPUs, else those of the least busy servers.

    SJF-BCO's rule without θ and λ: only servers with idle GPUs are chosen, so no job waits while there are
    enough idle GPUs.
    """
    if arrays.gpus[job] <= kappa:
        return least_loaded(arrays, state, scratch, queue, job, limit, kappa)
    if arrays.permits.parts[job] != ANY_PARTS:
        return equal_parts(arrays, state, scratch, job, limit, BY_SERVER_LOAD, ANY_NUMBER)
    order = scratch.order
    scratch.selected[:] = -1  # LBSGF keeps its choice in `order`
    size = _heap(state, order)
    wanted, num_chosen = arrays.gpus[job], 0
    while size > 0:
        server = order[0]
        size -= 1
        order[0] = order[size]
        sink(order, size, 0, is_less_busy, not_noted, (state.whole_load, state.rest_load))
        first = arrays.first_gpu[server]
        for at in range(first, first + state.num_idle[server]):  # by (U, GPU)
            state.chosen[num_chosen] = state.idle[at]
            num_chosen += 1
            if num_chosen == wanted:
                sort(state.chosen, wanted)
                return True
    return False


@part
def _heap(state: State, order: Integers) -> int:
    """Make a heap of the servers with idle GPUs, the least busy on top; return its size."""
    size = 0
    for server in range(len(state.num_idle)):
        if state.num_idle[server] > 0:
            order[size] = server
            size += 1
    heapify(order, size, is_less_busy, not_noted, (state.whole_load, state.rest_load))
    return size
