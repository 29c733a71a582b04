"""Ring all-reduce itself, executed on real vectors: what the model's exchange term stands for."""

from ringsched.ring.all_reduce import (
    SHARE_ONLY,
    SHARE_REDUCE,
    RingRun,
    Step,
    Transfer,
    all_reduce,
    chunks_of,
    ring_steps,
)

__all__ = [
    "SHARE_ONLY",
    "SHARE_REDUCE",
    "RingRun",
    "Step",
    "Transfer",
    "all_reduce",
    "chunks_of",
    "ring_steps",
]
