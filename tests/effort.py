"""How much is tried: all of it at night, a third by day, little where the kernels run as plain Python."""

from __future__ import annotations

import os

from hypothesis import settings

AS_PYTHON = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"  # a hundred times slower
AT_NIGHT = os.environ.get("HYPOTHESIS_PROFILE") == "search"


def examples(number: int) -> settings:
    """So many random examples at night, a third of them by day, a tenth as plain Python."""
    return settings(max_examples=tried(number))


def tried(number: int) -> int:
    """So many cases at night, a third of them by day, a tenth as plain Python."""
    return -(-number // (10 if AS_PYTHON else 1 if AT_NIGHT else 3))
