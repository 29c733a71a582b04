"""Ring all-reduce itself: chunks, the 2(w-1) steps (section 3 of the paper), and what they moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ringsched.errors import InputError
from ringsched.formatting import counted, one_line


def chunks_of(size: int, num_workers: int) -> tuple[slice, ...]:
    """Return `num_workers` neighbouring chunks that differ by at most one element, the longer ones first.

    The paper cuts into w sub-vectors of d/w; where w does not divide d some are one longer, and with
    fewer elements than workers some are empty.

    Examples
    --------
    >>> [(chunk.start, chunk.stop) for chunk in chunks_of(7, 3)]
    [(0, 3), (3, 5), (5, 7)]
    """
    shortest, num_longer = divmod(size, num_workers)
    starts = [at * shortest + min(at, num_longer) for at in range(num_workers + 1)]
    return tuple(slice(starts[at], starts[at + 1]) for at in range(num_workers))


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


_KINDS = "iufc"  # numpy's letters for integers, with and without sign, floats and complex numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class RingRun:
    """What came of a ring all-reduce.

    Every worker sends and receives 2d(w-1)/w and adds d(w-1)/w where w divides the d of a vector; else
    a chunk more or less, and all together 2d(w-1) and d(w-1).
    """

    vectors: tuple[Vector, ...]  # of each worker: the sum, the same bits for all
    num_steps: int
    sent_bytes: tuple[int, ...]  # by each worker
    received_bytes: tuple[int, ...]
    added_bytes: tuple[int, ...]  # what each worker summed up; the model's reduction term
    server_worker_bytes: int  # 2wd: each worker sends a vector to a server and receives one

    def __repr__(self) -> str:
        sent = f"{sum(self.sent_bytes)} bytes sent"
        return one_line(
            "RingRun", counted(len(self.vectors), "worker"), counted(self.num_steps, "step"), sent
        )


def all_reduce(
    vectors: Sequence[ArrayLike], *, on_step: Callable[[Step, Sequence[Vector]], None] | None = None
) -> RingRun:
    """Sum one vector of each worker by ring all-reduce, so that all of them have the sum.

    Parameters
    ----------
    vectors
        One for each worker of the ring, in its order; of one length and one type of number, in which
        they are summed. They are left as they are.
    on_step
        Called after every step with it and the vectors as they stand then.

    Examples
    --------
    >>> run = all_reduce([[1, 2, 3], [10, 20, 30], [100, 200, 300]])
    >>> run.vectors[0].tolist(), run.num_steps
    ([111, 222, 333], 4)
    >>> run.sent_bytes, run.server_worker_bytes
    ((32, 32, 32), 144)
    """
    own = _checked(vectors)
    sent, received, added, num_steps = [0] * len(own), [0] * len(own), [0] * len(own), 0
    for step in ring_steps(own):
        num_steps += 1
        for transfer in step.transfers:
            sent[transfer.sender] += transfer.bytes
            received[transfer.receiver] += transfer.bytes
            added[transfer.receiver] += transfer.bytes if step.phase == SHARE_REDUCE else 0
        if on_step is not None:
            on_step(step, own)
    return RingRun(
        vectors=tuple(own),
        num_steps=num_steps,
        sent_bytes=tuple(sent),
        received_bytes=tuple(received),
        added_bytes=tuple(added),
        server_worker_bytes=2 * sum(vector.nbytes for vector in own),
    )


def _checked(vectors: Sequence[ArrayLike]) -> list[Vector]:
    """Return copies of the vectors, or say what is wrong with them."""
    if len(vectors) == 0:
        raise InputError("must hold one vector for each worker", field="vectors")
    own: list[Vector] = []
    for at, given in enumerate(vectors):
        field = f"vectors[{at}]"
        try:
            vector = np.array(given)
        except ValueError:
            raise InputError("must be a vector of numbers", field=field) from None
        if vector.ndim != 1 or (vector.dtype.kind not in _KINDS and vector.size):
            raise InputError("must be a vector of numbers", field=field)
        if own and (vector.shape, vector.dtype) != (own[0].shape, own[0].dtype):
            raise InputError(
                f"must be like the first, {len(own[0])} numbers of type {own[0].dtype}, "
                f"not {len(vector)} of type {vector.dtype}",
                field=field,
            )
        own.append(vector)
    return own
