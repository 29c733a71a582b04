"""Ring all-reduce on real vectors, the basis of the model's exchange term."""

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
