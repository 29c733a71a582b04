"""Ctrl-C as a wish instead of a blow."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts(*, hold: bool) -> Iterator[Callable[[], bool]]:
    """Give a function that says whether Ctrl-C was pressed; pressed again, it interrupts as always.

    Without `hold` nothing is held back.
    """
    pressed = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            signal.default_int_handler(number, frame)
        pressed = True

    # Whoever was started deaf to it, as by a shell in the background, stays so.
    if not hold or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
