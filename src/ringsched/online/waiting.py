"""The jobs that wait, by rank: a tree that finds the next one worth a look without passing the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.engine.arrays import Floats
from ringsched.jit import kernel

NOBODY = -1
_NONE = 2**31 - 1  # GPUs of a place where nobody waits


class Waiting(NamedTuple):
    """A binary tree over ranks; a node knows the least of all below it, the root is node 1."""

    gpus: NDArray[np.int32]  # fewest GPUs
    duration: Floats  # shortest best case
    first_leaf: int


def new_waiting(num_jobs: int) -> Waiting:
    """Return a tree for so many ranks, in which nobody waits."""
    first_leaf = 1 << max(0, num_jobs - 1).bit_length()
    return Waiting(
        gpus=np.full(2 * first_leaf, _NONE, dtype=np.int32),
        duration=np.full(2 * first_leaf, np.inf),
        first_leaf=first_leaf,
    )


@kernel
def join(waiting: Waiting, rank: int, gpus: int, duration: float) -> None:
    """Let a job wait."""
    node = waiting.first_leaf + rank
    waiting.gpus[node] = gpus
    waiting.duration[node] = duration
    node >>= 1
    while node > 0 and (gpus < waiting.gpus[node] or duration < waiting.duration[node]):
        waiting.gpus[node] = min(waiting.gpus[node], gpus)
        waiting.duration[node] = min(waiting.duration[node], duration)
        node >>= 1


@kernel
def leave(waiting: Waiting, rank: int) -> None:
    """Let a job wait no longer."""
    node = waiting.first_leaf + rank
    waiting.gpus[node] = _NONE
    waiting.duration[node] = np.inf
    node >>= 1
    while node > 0:
        gpus = min(waiting.gpus[2 * node], waiting.gpus[2 * node + 1])
        duration = min(waiting.duration[2 * node], waiting.duration[2 * node + 1])
        if gpus == waiting.gpus[node] and duration == waiting.duration[node]:
            break
        waiting.gpus[node] = gpus
        waiting.duration[node] = duration
        node >>= 1


@kernel
def head(waiting: Waiting) -> int:
    """Return the first rank at which somebody waits, or NOBODY."""
    return next_candidate(waiting, 0, _NONE - 1, 0.0, _NONE - 1)


@kernel
def next_candidate(waiting: Waiting, rank: int, most_gpus: int, most_duration: float, extra: int) -> int:
    """Return the first rank from `rank` on of a job that may step past the head, or NOBODY.

    That is one of at most `most_gpus` GPUs that is short enough, or of at most `extra` GPUs. A node whose
    least values do not pass has no such job below it; one whose values pass may have none either, as
    they can be those of two jobs.
    """
    if rank >= waiting.first_leaf:
        return NOBODY
    node = waiting.first_leaf + rank
    while True:
        gpus = waiting.gpus[node]
        if gpus <= most_gpus and (waiting.duration[node] <= most_duration or gpus <= extra):
            if node >= waiting.first_leaf:
                return node - waiting.first_leaf
            node *= 2
            continue
        while node & 1:  # a right child: the subtree of its parent is done
            node >>= 1
        if node == 0:
            return NOBODY
        node += 1
