"""Ctrl-C and SIGTERM: the program ends soon and in order, whatever it is in the middle of.

Python raises KeyboardInterrupt in whatever runs at that moment. Where that is a callback out of C, such
as llvmlite's while kernels are compiled or loaded, or a finaliser, the exception is printed and lost
and the program goes on. Here a lost one is raised again a moment later.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

AGAIN_S = 0.02
TWICE_S = 0.5  # signals closer than this are one press: `timeout` and others signal the child and its group
WORDS: dict[int, str] = {signal.SIGINT: "Error: interrupted", signal.SIGTERM: "stopped by SIGTERM"}

_received: list[int] = []
_answered = threading.Event()


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM.

    A separate class: when a plain KeyboardInterrupt passes through `exec` of a text, as dataclasses
    and named tuples use it, Python kills itself by SIGINT at its end, though it was caught.
    """


def listen() -> None:
    """Turn the signals into `Interrupted`, except those that the parent process made us ignore."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _interrupt)
    sys.unraisablehook = _on_lost


def answered() -> int | None:
    """Return the signal that asked us to end, which is now not raised again; None if there was none."""
    _answered.set()
    return _received[0] if _received else None


@contextmanager
def stop_requests(*, hold: Callable[[], bool]) -> Iterator[Callable[[], bool]]:
    """Give a function that says whether Ctrl-C was pressed; pressed again, it interrupts as always.

    For a search, which can end with what it has as soon as it has a plan: from when on `hold` says True.
    """
    pressed_s = math.inf

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal pressed_s
        if not hold():
            _interrupt(number, frame)
        if time.monotonic() - pressed_s >= TWICE_S:
            _interrupt(number, frame)
        pressed_s = min(pressed_s, time.monotonic())

    if signal.getsignal(signal.SIGINT) is not _interrupt:
        yield lambda: False
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield lambda: pressed_s < math.inf
    finally:
        if pressed_s == math.inf:  # else the second signal of that press may still be on its way
            signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    _received.append(number)
    raise Interrupted


def _on_lost(lost: Any) -> None:
    if not issubclass(lost.exc_type, Interrupted):
        sys.__unraisablehook__(lost)
        return
    again = threading.Timer(AGAIN_S, _raise_again)
    again.daemon = True
    again.start()


def _raise_again() -> None:
    """Send the signal again, once the hook has ended: what is raised within it is lost for good."""
    while _is_in_hook():
        _answered.wait(AGAIN_S)
    if not _answered.is_set():
        os.kill(os.getpid(), _received[0])


def _is_in_hook() -> bool:
    """Whether the main thread is in `_on_lost`: on a busy machine it takes long to start a thread."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and frame.f_code is not _on_lost.__code__:
        frame = frame.f_back
    return frame is not None
