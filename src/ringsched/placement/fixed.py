"""Fixed: the GPUs a plan names."""

from __future__ import annotations

from ringsched.engine.arrays import Arrays, Integers
from ringsched.engine.state import IDLE, State
from ringsched.jit import kernel


@kernel
def fixed(arrays: Arrays, state: State, job: int, planned: Integers) -> bool:
    """Choose the planned GPUs, once the last of them is free."""
    offset = arrays.gpu_first[job]
    for at in range(arrays.gpus[job]):
        gpu = planned[offset + at]
        if state.holder[gpu] != IDLE:
            return False
        state.chosen[at] = gpu
    return True
