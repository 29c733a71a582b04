"""List scheduling: the least loaded GPUs, wherever they are."""

from __future__ import annotations

from ringsched.engine.state import Arrays, State
from ringsched.jit import kernel
from ringsched.model.eligibility import ANY_PARTS
from ringsched.rules.layout import BY_LOAD, equal_parts
from ringsched.rules.shared import ANY_NUMBER, Queue, Scratch, least


@kernel
def least_loaded(
    arrays: Arrays, state: State, scratch: Scratch, queue: Queue, job: int, limit: int, kappa: int
) -> bool:
    """Choose the eligible GPUs with the least load, by (U, server, GPU)."""
    if arrays.permits.parts[job] != ANY_PARTS:
        return equal_parts(arrays, state, scratch, job, limit, BY_LOAD, ANY_NUMBER)
    servers = scratch.servers
    return least(arrays, state, arrays.gpus[job], limit, servers, scratch.no_tie)
