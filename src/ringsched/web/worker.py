"""A worker process: takes requests from a pipe, and ends when the pipe is closed."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ringsched.web.limits import Limits

READY, STOP, TOLD, DONE = "ready", "stop", "told", "done"
SEARCH = "search"


def main(connection: Connection, limits: Limits) -> None:
    """Work until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then ends us
    inbox = _Inbox(connection)
    _limit_memory(limits.memory_bytes)
    # Everything is compiled or loaded before the first request, so that no request waits for the compiler.
    os.environ.setdefault("RINGSCHED_KERNELS", "compiled")
    from ringsched.web.work import warm_up

    warm_up()
    connection.send((READY,))
    while True:
        name, raw, number = inbox.next()
        reply = _replied(name, raw, limits, connection, partial(inbox.is_stopped, number))
        connection.send((DONE, reply, _peak_bytes() > limits.worker_bytes))


def _replied(
    name: str, raw: bytes, limits: Limits, connection: Connection, should_stop: Callable[[], bool]
) -> Any:
    from ringsched.web.work import reply_to, search

    if name != SEARCH:
        return reply_to(name, raw, limits)
    return search(raw, limits, lambda kind, content: connection.send((TOLD, kind, content)), should_stop)


class _Inbox:
    """Reads the pipe in a thread, to notice a stop request or the end of the server during work."""

    def __init__(self, connection: Connection) -> None:
        self._last_stopped = 0  # a stop request may arrive before its request, or after it is done
        self._requests: queue.SimpleQueue[tuple[str, bytes, int]] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def next(self) -> tuple[str, bytes, int]:
        return self._requests.get()

    def is_stopped(self, number: int) -> bool:
        return number == self._last_stopped

    def _read(self, connection: Connection) -> None:
        try:
            while True:
                kind, *rest = connection.recv()
                if kind == STOP:
                    self._last_stopped = max(self._last_stopped, *rest)
                else:
                    self._requests.put((kind, *rest))
        except (EOFError, OSError):
            os._exit(0)  # the server is gone, so no result is needed


def _limit_memory(most_bytes: int) -> None:
    """Let a request that wants too much end with a MemoryError, where the system can do that."""
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))


def _peak_bytes() -> int:
    """Return the most memory this process ever held; getrusage would begin with that of its parent."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)
