"""A pool of warm workers for the event loop: each request has one to itself, for a limited time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ringsched.web.limits import Limits
from ringsched.web.process import Done, Errand, TimeIsUp, WorkerBroke, WorkerEnded, WorkerProcess
from ringsched.web.replies import Reply

Told = Callable[[str, bytes], None]
AGAIN_S = 5.0  # after a worker that could not be started


class NobodyIsFree(Exception):
    """All workers were busy for as long as a request may take."""


class Pool:
    """So many workers; one that was killed, or needed much memory, is replaced.

    The first `warm` of them are there from the start, the others when they are needed.
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
        """Start all workers, the first alone: what it has to compile the others find in the cache.

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
        try:
            return await asyncio.wait_for(self._idle.get(), self._limits.work_s)
        except TimeoutError:
            raise NobodyIsFree from None

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
