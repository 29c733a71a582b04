"""How a vector is cut into as many chunks as the ring has workers."""

from __future__ import annotations


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
