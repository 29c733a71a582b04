"""Running searches and their results, for requests and event streams."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time
from collections.abc import AsyncIterator

from ringsched.web.limits import Limits
from ringsched.web.pool import Errand, NobodyIsFree, Pool, TimeIsUp, WorkerBroke, WorkerEnded
from ringsched.web.replies import BROKE, KILLED, Refused, error_content, joined
from ringsched.web.work import PICTURES, PLAN, PROGRESS
from ringsched.web.worker import SEARCH

RUNNING, DONE, STOPPED, FAILED = "running", "done", "stopped", "failed"
GRACE_S = 5.0  # a search that was asked to stop, or is at its limit, has so long to come with its plan
HEARTBEAT_S = 15.0  # so that a listener who is gone is noticed
MOST_EVENTS_S = 0.1  # between events of one listener
MOST_HELD_BYTES = 256 * 2**20  # of plans and pictures, all searches together


class Search:
    """One search, from its start until it is forgotten."""

    def __init__(self) -> None:
        self.id = secrets.token_urlsafe(12)
        self.state = RUNNING
        self.ended_s: float | None = None
        self.errand: Errand | None = None
        self.stopping = False
        self._parts: dict[str, str] = {}  # JSON as the worker wrote it
        self._num_plans = 0
        self._changed = asyncio.Event()

    def on_told(self, kind: str, content: bytes) -> None:
        """Take what the worker tells."""
        self._parts[kind] = content.decode()
        if kind == PICTURES:  # they follow their plan
            self._num_plans += 1
        self._tell_all()

    def end(self, state: str, error: bytes | None = None) -> None:
        """Record how it ended; only the first call counts."""
        if self.state != RUNNING:
            return
        self.state, self.ended_s = state, time.monotonic()
        if error is not None:
            self._parts["error"] = json.dumps(json.loads(error)["error"])
        self._tell_all()

    @property
    def size_bytes(self) -> int:
        """What is held of it."""
        return sum(sys.getsizeof(part) for part in self._parts.values())

    def content(self, *, pictures: bool = False) -> bytes:
        """Return state, progress, the best plan so far, and the error if there is one."""
        names = [PROGRESS, PLAN, "error", *([PICTURES] if pictures else [])]
        parts = {name: self._parts[name] for name in names if name in self._parts}
        return joined({"state": json.dumps(self.state), PROGRESS: "null"} | parts)

    async def events(self) -> AsyncIterator[bytes]:
        """Yield server-sent events until the end."""
        progress, num_plans = "", 0
        while True:
            changed = self._changed
            if self.state != RUNNING:
                yield _event("end", self.content(pictures=True))
                return
            if self._num_plans > num_plans:
                num_plans = self._num_plans
                yield _event("better", joined({name: self._parts.get(name, "null") for name in _BETTER}))
            if self._parts.get(PROGRESS, "") != progress:
                progress = self._parts[PROGRESS]
                yield _event("progress", progress.encode())
            try:
                await asyncio.wait_for(changed.wait(), HEARTBEAT_S)
                await asyncio.sleep(MOST_EVENTS_S)
            except TimeoutError:
                yield b": still here\n\n"

    async def wait(self, timeout_s: float) -> None:
        """Wait until it has ended, or so long."""
        until_s = time.monotonic() + timeout_s
        while self.state == RUNNING and (left_s := until_s - time.monotonic()) > 0:
            try:
                await asyncio.wait_for(self._changed.wait(), left_s)
            except TimeoutError:
                return

    def _tell_all(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


_BETTER = (PROGRESS, PLAN, PICTURES)


class Searches:
    """All searches that run or are remembered."""

    def __init__(self, pool: Pool, limits: Limits) -> None:
        self._pool, self._limits = pool, limits
        self._by_id: dict[str, Search] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, raw: bytes) -> Search:
        """Start a search, or refuse if as many as may run already."""
        if len(self._tasks) >= self._limits.searches:
            raise Refused(
                503,
                f"{len(self._tasks)} searches are already running; stop one",
                headers={"Retry-After": "5"},
            )
        search = Search()
        self._by_id[search.id] = search
        self._forget()
        task = asyncio.get_running_loop().create_task(self._run(search, raw))
        self._tasks[search.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(search.id, None))
        return search

    def named(self, name: str) -> Search:
        """Return a search by its id."""
        self._forget()
        if name not in self._by_id:
            raise Refused(404, "no such search, or it has expired")
        return self._by_id[name]

    async def stop(self, search: Search) -> None:
        """Ask a search to end; if it does not listen, it is killed."""
        if search.state != RUNNING:
            return
        if search.errand is not None:
            # In a thread, for a worker that is stuck reads nothing; if it is killed, the thread ends too.
            asyncio.get_running_loop().run_in_executor(None, search.errand.stop)
            search.stopping = True
            await search.wait(GRACE_S)
        search.end(STOPPED)
        if (task := self._tasks.get(search.id)) is not None:
            task.cancel()

    async def stop_all(self) -> None:
        """End all, and wait for their end."""
        tasks = list(self._tasks.values())
        self.end_all()
        await asyncio.gather(*tasks, return_exceptions=True)

    def end_all(self) -> None:
        """End all searches at shutdown."""
        for search in self._by_id.values():
            search.end(STOPPED)
        for task in self._tasks.values():
            task.cancel()

    async def _run(self, search: Search, raw: bytes) -> None:
        def on_start(errand: Errand) -> None:
            search.errand = errand

        time_limit_s = self._limits.search_s + GRACE_S
        try:
            reply = await self._pool.run(
                SEARCH, raw, time_limit_s=time_limit_s, on_told=search.on_told, on_start=on_start
            )
        except TimeIsUp:
            search.end(FAILED, error_content(f"the search did not end within {time_limit_s:g} s"))
        except NobodyIsFree:
            search.end(FAILED, error_content("no process for the search could be started; try again"))
        except WorkerEnded as error:
            search.end(FAILED, error_content(BROKE if isinstance(error, WorkerBroke) else KILLED))
        else:
            if reply.status == 200:
                search.end(STOPPED if search.stopping else DONE)
            else:
                search.end(FAILED, reply.content)
        finally:
            search.errand = None

    def _forget(self) -> None:
        """Forget what ended long ago, and the oldest of too many."""
        ended = [search for search in self._by_id.values() if search.ended_s is not None]
        too_many = len(self._by_id) - self._limits.kept_searches
        for at, search in enumerate(sorted(ended, key=lambda search: search.ended_s or 0.0)):
            if at < too_many or time.monotonic() - (search.ended_s or 0.0) > self._limits.kept_s:
                del self._by_id[search.id]
        self._forget_the_largest()

    def _forget_the_largest(self) -> None:
        """Forget the oldest that ended until what is held of all is no more than it may be."""
        held = sum(search.size_bytes for search in self._by_id.values())
        for search in list(self._by_id.values()):
            if held > MOST_HELD_BYTES and search.ended_s is not None:
                held -= search.size_bytes
                del self._by_id[search.id]


def _event(kind: str, content: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), content)
