"""How much is measured: all of it, or a little, to see that every part works (`--quick`)."""

from __future__ import annotations

import os
from typing import TypeVar

_T = TypeVar("_T")

VARIABLE = "RINGSCHED_BENCH_QUICK"  # in the environment, as some parts start processes


def sized(full: _T, quick: _T) -> _T:
    """Return `full`, or `quick` under `--quick`."""
    return quick if os.environ.get(VARIABLE) else full
