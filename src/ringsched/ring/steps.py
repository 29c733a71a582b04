"""The 2(w-1) steps of ring all-reduce (section 3 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.ring.chunks import chunks_of

SHARE_REDUCE = "share-reduce"  # steps 1 .. w-1: what comes in is added
SHARE_ONLY = "share-only"  # steps w .. 2w-2: what comes in takes the place of what was there

Vector = NDArray[Any]


class Transfer(NamedTuple):
    """One chunk on its way from a worker to the next one in the ring."""

    sender: int
    receiver: int
    chunk: int
    elements: int
    bytes: int


class Step(NamedTuple):
    """What all workers do at once."""

    number: int  # from 1
    phase: str
    transfers: tuple[Transfer, ...]  # by sender


def ring_steps(vectors: Sequence[Vector]) -> Iterator[Step]:
    """Execute ring all-reduce in place; yield every step once it is done.

    Examples
    --------
    >>> vectors = [np.array([1, 2]), np.array([10, 20])]
    >>> for step in ring_steps(vectors):
    ...     print(step.phase, [vector.tolist() for vector in vectors])
    share-reduce [[1, 22], [11, 20]]
    share-only [[11, 22], [11, 22]]
    """
    num_workers = len(vectors)
    chunks = chunks_of(len(vectors[0]), num_workers)
    for number in range(1, 2 * num_workers - 1):
        phase = SHARE_REDUCE if number < num_workers else SHARE_ONLY
        sent = [_chunk_sent(worker, number, num_workers) for worker in range(num_workers)]
        # All send before anyone receives, so copies: a worker may be given what it has not yet sent.
        parcels = [vectors[worker][chunks[chunk]].copy() for worker, chunk in enumerate(sent)]
        transfers = []
        for sender, (chunk, parcel) in enumerate(zip(sent, parcels, strict=True)):
            receiver = (sender + 1) % num_workers
            _receive(vectors[receiver][chunks[chunk]], parcel, phase)
            transfers.append(Transfer(sender, receiver, chunk, parcel.size, parcel.nbytes))
        yield Step(number, phase, tuple(transfers))


def _chunk_sent(worker: int, number: int, num_workers: int) -> int:
    """Return which chunk a worker sends: its own first, then always the one it was given last.

    After share-reduce worker i has the whole sum of chunk i+1, and share-only begins with that one.
    The steps are numbered through, and w steps back is where one was: one formula for both phases.
    """
    return (worker + 1 - number) % num_workers


def _receive(own: Vector, parcel: Vector, phase: str) -> None:
    if phase == SHARE_REDUCE:
        np.add(own, parcel, out=own)
    else:
        own[:] = parcel
