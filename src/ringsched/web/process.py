"""One worker process seen from the server: asked, told to stop, killed."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from ringsched.web import worker
from ringsched.web.limits import Limits
from ringsched.web.replies import Reply

_STARTING = threading.Lock()


class TimeIsUp(Exception):
    """The work took longer than it may."""


class WorkerEnded(Exception):
    """The process is gone: killed, for want of memory or by somebody."""


class Done(NamedTuple):
    """A reply, and whether the worker should be replaced."""

    reply: Reply
    tired: bool


class WorkerProcess:
    """A process of its own, so that work that takes too long can be ended; methods block."""

    def __init__(self, limits: Limits) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=worker.main, args=(theirs, limits), daemon=True, name="ringsched worker"
        )
        with _STARTING, _interrupts_blocked():
            self._process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        self._sending = threading.Lock()  # what two threads send at once would come mixed up
        self._num_errands = 0

    @property
    def pid(self) -> int | None:
        """The number of the process."""
        return self._process.pid

    def errand(self) -> Errand:
        """Return the next errand, one after the other."""
        self._num_errands += 1
        return Errand(self, self._num_errands)

    def wait_until_ready(self) -> None:
        """Wait until it can work."""
        try:
            self._connection.recv()
        except (EOFError, OSError):
            raise WorkerEnded from None

    def send(self, *message: object) -> None:
        """Send a message, when no other thread does."""
        with self._sending:
            self._connection.send(message)

    def replied(self, deadline_s: float, on_told: Callable[[str, bytes], None]) -> Done:
        """Return the reply to what was sent; what the worker tells on the way goes to `on_told`."""
        try:
            while self._connection.poll(max(0.0, deadline_s - time.monotonic())):
                kind, *rest = self._connection.recv()
                if kind == worker.DONE:
                    return Done(*rest)
                on_told(*rest)
        except (EOFError, OSError):
            raise WorkerEnded from None
        raise TimeIsUp

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()

    def close(self) -> None:
        """Forget the process, which is killed first; not while another thread asks it something."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self._connection.close()


class Errand:
    """One request in the hands of a worker; methods block."""

    def __init__(self, process: WorkerProcess, number: int) -> None:
        self.process, self._number = process, number

    def run(self, name: str, raw: bytes, time_limit_s: float, on_told: Callable[[str, bytes], None]) -> Done:
        """Return the reply; what the worker tells on the way goes to `on_told`."""
        deadline_s = time.monotonic() + time_limit_s
        try:
            self.process.send(name, raw, self._number)
        except OSError:
            raise WorkerEnded from None
        return self.process.replied(deadline_s, on_told)

    def stop(self) -> None:
        """Ask for its end with what it has: no other errand's, and also if it has not begun yet."""
        with suppress(OSError):
            self.process.send(worker.STOP, self._number)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start a process that Ctrl-C does not reach before it ignores it by itself."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
