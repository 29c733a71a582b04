"""Random numbers for kernels: the same on every machine, compiled or not."""

from __future__ import annotations

from random import Random

import numpy as np

from ringsched.engine.state import Integers
from ringsched.jit import kernel

# L'Ecuyer (CACM 31, 1988): two small generators whose difference has a period of 2.3e18; all fits int64.
_FIRST = 2147483563
_SECOND = 2147483399


def new_chance(seed: str) -> Integers:
    """Return the state of a generator; strings that differ give streams that differ."""
    generator = Random(seed)
    return np.array([generator.randrange(1, _FIRST), generator.randrange(1, _SECOND)], dtype=np.int64)


@kernel
def below(chance: Integers, limit: int) -> int:
    """Return a whole number from 0 to `limit` - 1."""
    chance[0] = chance[0] * 40014 % _FIRST
    chance[1] = chance[1] * 40692 % _SECOND
    return int((chance[0] - chance[1]) % _FIRST % limit)
