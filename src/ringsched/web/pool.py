"""A pool of warm workers for the event loop: each request has one to itself, for a limited time."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ringsched.web import worker
from ringsched.web.limits import Limits
from ringsched.web.replies import Reply

_STARTING = threading.Lock()
EXIT_S = 5.0  # between the end of the pipe and that of the process


class TimeIsUp(Exception):
    """The work took longer than it may."""


class WorkerEnded(Exception):
    """The process was killed."""


class WorkerBroke(WorkerEnded):
    """The process ran out of memory or crashed because of its request."""


class Done(NamedTuple):
    """A reply, and whether the worker should be replaced."""

    reply: Reply
    tired: bool


class WorkerProcess:
    """A separate process, so that work that takes too long can be ended; methods block."""

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
        """Ask the request to end with its current result, even if it has not started yet."""
        with suppress(OSError):
            self.process.send(worker.STOP, self._number)


def why_it_ended(exit_code: int | None, memory_ran_out: bool) -> WorkerEnded:
    """Return what the end of a process means for its request.

    The system uses the same signal when memory runs out, but counts such kills.

    Examples
    --------
    >>> [why_it_ended(-signal.SIGKILL, memory_ran_out) for memory_ran_out in (True, False)]
    [WorkerBroke(), WorkerEnded()]
    """
    was_killed = exit_code in (None, 0, -signal.SIGTERM) or (
        exit_code == -signal.SIGKILL and not memory_ran_out
    )
    return WorkerEnded() if was_killed else WorkerBroke()


def num_oom_kills() -> int:
    """Return how many processes the system has killed because memory ran out; 0 if unknown."""
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


Told = Callable[[str, bytes], None]
AGAIN_S = 5.0  # after a worker that could not be started
START_S = 300.0  # that a worker may take to start on a busy machine


class NobodyIsFree(Exception):
    """All workers were busy for as long as a request may take, or a new one did not start."""


class Pool:
    """A fixed number of workers; one that was killed or used much memory is replaced.

    The first `warm` of them are there from the start, the rest when needed.
    """

    def __init__(self, limits: Limits, size: int, warm: int) -> None:
        self._limits, self._size, self._warm = limits, size, warm
        self._num_started = 0
        self._idle: asyncio.Queue[WorkerProcess] = asyncio.Queue()
        self._all: set[WorkerProcess] = set()
        # One thread for each worker that is asked, and one more for each that is being replaced.
        self._threads = ThreadPoolExecutor(2 * size, thread_name_prefix="ringsched-worker")
        self._renewing: set[asyncio.Task[None]] = set()
        self._closed = False

    async def start(self) -> None:
        """Start all workers, the first one alone, so that later ones find its compiled kernels in the cache.

        If the first does not come up, WorkerEnded is raised.
        """
        self._num_started = self._warm
        await self._try_to_add()
        for _ in range(self._warm - 1):
            self._in_background(self._add())

    def kill(self) -> None:
        """End all workers at once, also those that are still starting."""
        self._closed = True
        for process in self._all:
            process.kill()

    async def stop(self) -> None:
        """End all workers, and wait for their end."""
        self.kill()
        await asyncio.gather(*self._renewing, return_exceptions=True)
        await asyncio.to_thread(self._threads.shutdown)
        for process in self._all:
            process.close()
        self._all.clear()

    async def run(
        self,
        name: str,
        raw: bytes,
        *,
        time_limit_s: float,
        on_told: Told = lambda _kind, _content: None,
        on_start: Callable[[Errand], None] = lambda _: None,
    ) -> Reply:
        """Return the reply of the next worker that is free; if cancelled, the worker is killed.

        `on_told` is called in the event loop.
        """
        if self._idle.empty() and self._num_started < self._size:
            self._num_started += 1
            self._in_background(self._add())
        process = await self._next_idle()
        errand = process.errand()
        on_start(errand)
        loop = asyncio.get_running_loop()

        def tell(kind: str, content: bytes) -> None:
            loop.call_soon_threadsafe(on_told, kind, content)

        asked = loop.run_in_executor(self._threads, errand.run, name, raw, time_limit_s, tell)
        done: Done | None = None
        try:
            done = await asyncio.shield(asked)
            return done.reply
        finally:
            if done is None or done.tired:
                process.kill()
                self._in_background(self._renew(process, asked))
            else:
                self._idle.put_nowait(process)

    async def _next_idle(self) -> WorkerProcess:
        """Wait as long as a request may take, and longer while a worker is starting."""
        given_up_s = time.monotonic() + START_S
        while True:
            with suppress(TimeoutError):
                return await asyncio.wait_for(self._idle.get(), self._limits.work_s)
            if not self._idle.empty():  # a worker became free at the last moment
                return self._idle.get_nowait()
            if not self._renewing or time.monotonic() > given_up_s:
                raise NobodyIsFree

    def _in_background(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._renewing.add(task)
        task.add_done_callback(self._renewing.discard)

    async def _renew(self, process: WorkerProcess, asked: asyncio.Future[Done]) -> None:
        await asyncio.gather(asked, return_exceptions=True)  # its thread has the pipe until then
        self._all.discard(process)
        await asyncio.to_thread(process.close)
        await self._add()

    async def _add(self) -> None:
        """Add a worker, however often one has to be started."""
        while not self._closed:
            try:
                await self._try_to_add()
                return
            except (WorkerEnded, OSError):
                await asyncio.sleep(0 if self._closed else AGAIN_S)

    async def _try_to_add(self) -> None:
        loop = asyncio.get_running_loop()
        process = await loop.run_in_executor(self._threads, WorkerProcess, self._limits)
        self._all.add(process)
        if self._closed:
            process.kill()
        try:
            await loop.run_in_executor(self._threads, process.wait_until_ready)
        except WorkerEnded:
            self._all.discard(process)
            process.close()
            raise
        self._idle.put_nowait(process)


__all__ = ["NobodyIsFree", "Pool", "TimeIsUp", "WorkerBroke", "WorkerEnded"]
