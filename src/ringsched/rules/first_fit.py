"""First fit: the first eligible GPUs, from server to server."""

from __future__ import annotations

from ringsched.engine.state import IDLE, Arrays, State
from ringsched.jit import kernel
from ringsched.model.eligibility import ANY_PARTS
from ringsched.rules.layout import BY_INDEX, equal_parts
from ringsched.rules.shared import ANY_NUMBER, Queue, Scratch


@kernel
def first_fit(
    arrays: Arrays, state: State, scratch: Scratch, queue: Queue, job: int, limit: int, kappa: int
) -> bool:
    """Choose the first eligible GPUs by (server, GPU)."""
    if arrays.permits.parts[job] != ANY_PARTS:
        return equal_parts(arrays, state, scratch, job, limit, BY_INDEX, ANY_NUMBER)
    wanted, num_chosen = arrays.gpus[job], 0
    for server in range(arrays.num_servers):
        if state.num_idle[server] == 0:
            continue
        for gpu in range(arrays.first_gpu[server], arrays.first_gpu[server + 1]):
            if state.holder[gpu] == IDLE and state.load[gpu] <= limit:
                state.chosen[num_chosen] = gpu
                num_chosen += 1
                if num_chosen == wanted:
                    return True
    return False
