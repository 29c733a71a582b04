"""The lab behind its routes: workers, searches and limits, started and stopped together."""

from __future__ import annotations

import asyncio

from fastapi import Request

from ringsched.web.limits import Limits
from ringsched.web.pool import NobodyIsFree, Pool, TimeIsUp, WorkerBroke, WorkerEnded
from ringsched.web.replies import BROKE, KILLED, Refused, Reply
from ringsched.web.searches import Searches

ABANDONED_S = 2.0  # how long abandoned work may continue; replacing a worker takes as long


class Lab:
    """The workers and searches that answer requests."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._pool = Pool(limits, limits.workers, warm=limits.workers)
        self._search_pool = Pool(limits, limits.searches, warm=1)
        self.searches = Searches(self._search_pool, limits)
        self.num_streams = 0
        self._examples: dict[str, Reply] = {}

    async def start(self) -> None:
        """Start the workers, and come back when the first can work."""
        await self._pool.start()
        self._later = asyncio.create_task(self._search_pool.start())

    def abort(self) -> None:
        """End the workers at once, also in the middle of their start."""
        self._pool.kill()
        self._search_pool.kill()

    def hang_up(self) -> None:
        """End all searches and their event streams."""
        self.searches.end_all()

    async def stop(self) -> None:
        """End all that runs."""
        await self.searches.stop_all()
        await asyncio.gather(self._pool.stop(), self._search_pool.stop())
        await asyncio.gather(self._later, return_exceptions=True)

    async def work(self, name: str, raw: bytes, request: Request | None = None) -> Reply:
        """Return the reply of a worker; if the client disconnects, the work ends soon after."""
        task = asyncio.create_task(self._pool.run(name, raw, time_limit_s=self.limits.work_s))
        try:
            if request is not None:
                await _until_gone(task, request)
            return await task
        except TimeIsUp:
            raise Refused(
                504, f"this takes longer than the limit of {self.limits.work_s:g} s per request"
            ) from None
        except NobodyIsFree:
            message = "all workers are busy; try again in a few seconds"
            raise Refused(503, message, headers={"Retry-After": "5"}) from None
        except WorkerBroke:
            raise Refused(413, BROKE) from None
        except WorkerEnded:
            raise Refused(503, KILLED, headers={"Retry-After": "5"}) from None
        except asyncio.CancelledError:
            if not task.cancelled():
                task.cancel()
                raise
            raise Refused(503, "the client has disconnected") from None

    async def example(self, name: str) -> Reply:
        """Return an example; there are few, so they are kept."""
        if name in self._examples:
            return self._examples[name]
        reply = await self.work("example", name.encode())
        if reply.status == 200:
            self._examples[name] = reply
        return reply


async def _until_gone(task: asyncio.Task[Reply], request: Request) -> None:
    """Wait for the work; cancel it a while after the client went away."""
    gone = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await asyncio.wait({task}, timeout=ABANDONED_S)
            task.cancel()
    finally:
        gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
