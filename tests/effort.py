"""How much is tried: less where the kernels run as plain Python, a hundred times slower."""

from __future__ import annotations

import os

from hypothesis import settings

AS_PYTHON = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"


def examples(number: int) -> settings:
    """So many random examples, a tenth of them as plain Python."""
    return settings(max_examples=tried(number))


def tried(number: int) -> int:
    """So many cases, a tenth of them as plain Python."""
    return -(-number // 10) if AS_PYTHON else number
