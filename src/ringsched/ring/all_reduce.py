"""A whole ring all-reduce, and what it moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ringsched.errors import InputError
from ringsched.ring.steps import SHARE_REDUCE, Step, Vector, ring_steps

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
