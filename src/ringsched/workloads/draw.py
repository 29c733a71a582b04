"""Random draws that stay the same: `Random.random()` is the one stream that Python keeps stable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import TypeVar

_Item = TypeVar("_Item")

NUM_STREAMS = 2
JOBS, SERVERS = range(NUM_STREAMS)


class Draw:
    """One stream of a seed; how much is drawn from one stream leaves the other as it is.

    Examples
    --------
    >>> draw = Draw(0, JOBS)
    >>> draw.integer(1000, 6000), draw.choice([4, 8, 16, 32])
    (5222, 32)
    """

    def __init__(self, seed: int, stream: int) -> None:
        self._random = Random(seed * NUM_STREAMS + stream).random

    def uniform(self, low: float, high: float) -> float:
        """Return a number in [low, high]."""
        return low + (high - low) * self._random()

    def log_uniform(self, low: float, high: float) -> float:
        """Return a number in [low, high] whose logarithm is uniform."""
        return low * math.exp(math.log(high / low) * self._random())

    def integer(self, low: int, high: int) -> int:
        """Return an integer in [low, high], both included."""
        return low + int((high - low + 1) * self._random())

    def choice(self, items: Sequence[_Item]) -> _Item:
        """Return one of `items`, each as likely."""
        return items[self.integer(0, len(items) - 1)]

    def shuffled(self, items: Sequence[_Item]) -> list[_Item]:
        """Return `items` in random order (Fisher and Yates)."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            other = self.integer(0, last)
            result[last], result[other] = result[other], result[last]
        return result
