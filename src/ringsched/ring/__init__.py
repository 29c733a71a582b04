"""Ring all-reduce itself, executed on real vectors: what the model's exchange term stands for."""

from ringsched.ring.all_reduce import RingRun, all_reduce
from ringsched.ring.chunks import chunks_of
from ringsched.ring.steps import SHARE_ONLY, SHARE_REDUCE, Step, Transfer, ring_steps

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
