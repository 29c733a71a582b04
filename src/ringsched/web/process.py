"""One worker process seen from the server: asked, told to stop, killed."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ringsched.web import worker
from ringsched.web.limits import Limits
from ringsched.web.replies import Reply

_STARTING = threading.Lock()
EXIT_S = 5.0  # between the end of the pipe and that of the process


class TimeIsUp(Exception):
    """The work took longer than it may."""


class WorkerEnded(Exception):
    """The process is gone: somebody killed it."""


class WorkerBroke(WorkerEnded):
    """The process is gone by what it worked on: it wanted more memory than there is, or crashed."""


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
        self._oom_kills = num_oom_kills()

    @property
    def pid(self) -> int | None:
        """The number of the process."""
        return self._process.pid

    def errand(self) -> Errand:
        """Return the next errand, one after the other."""
        self._num_errands += 1
        self._oom_kills = num_oom_kills()
        return Errand(self, self._num_errands)

    def wait_until_ready(self) -> None:
        """Wait until it can work."""
        try:
            self._connection.recv()
        except (EOFError, OSError):
            raise self.end() from None

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
            raise self.end() from None
        raise TimeIsUp

    def end(self) -> WorkerEnded:
        """Return why the process is gone, whose end of the pipe is closed already."""
        self._process.join(EXIT_S)
        return why_it_ended(self._process.exitcode, num_oom_kills() > self._oom_kills)

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
            raise self.process.end() from None
        return self.process.replied(deadline_s, on_told)

    def stop(self) -> None:
        """Ask for its end with what it has: no other errand's, and also if it has not begun yet."""
        with suppress(OSError):
            self.process.send(worker.STOP, self._number)


def why_it_ended(exit_code: int | None, memory_ran_out: bool) -> WorkerEnded:
    """Return what the end of a process means for its request.

    The system kills for want of memory by the same signal as anybody else does; but it counts.

    Examples
    --------
    >>> [why_it_ended(-signal.SIGKILL, memory_ran_out) for memory_ran_out in (True, False)]
    [WorkerBroke(), WorkerEnded()]
    """
    by_somebody = exit_code in (None, 0, -signal.SIGTERM) or (
        exit_code == -signal.SIGKILL and not memory_ran_out
    )
    return WorkerEnded() if by_somebody else WorkerBroke()


def num_oom_kills() -> int:
    """Return how many processes the system has killed for want of memory; 0 where it does not say."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start a process that Ctrl-C does not reach before it ignores it by itself."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
