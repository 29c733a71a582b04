"""FA-FFP, Algorithm 2: fragment-aware first-fit packing."""

from __future__ import annotations

from ringsched.engine.state import Arrays, State
from ringsched.jit import kernel
from ringsched.rules.shared import Scratch, least


@kernel
def fragment_aware(arrays: Arrays, state: State, scratch: Scratch, job: int, limit: int) -> bool:
    """Choose the eligible GPUs by (U, -busy share of the server, server, GPU).

    Line 4 of the pseudo-code sorts by U alone, which is list scheduling; the text packs into servers
    that are occupied already, so the busiest server wins a tie. The idle share orders servers as the
    busy share does, the other way round; quotients of small integers compare exactly as floats.
    """
    return least(arrays, state, arrays.gpus[job], limit, scratch.servers, state.idle_share)
