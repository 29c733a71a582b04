"""What is remembered of searches, and who may listen; no worker is needed for that."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from ringsched.web import searches as module
from ringsched.web.app import create_app
from ringsched.web.lab import Lab
from ringsched.web.limits import Limits
from ringsched.web.pool import Pool, WorkerBroke, WorkerEnded
from ringsched.web.replies import Refused, Reply
from ringsched.web.searches import Search, Searches
from ringsched.web.work import PLAN


class Ready(Pool):
    """Answers at once, with nothing or with an error."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    async def run(self, *_: object, **__: object) -> Reply:
        if self._error is not None:
            raise self._error
        return Reply(200, b"{}")


async def ended(searches: Searches) -> Search:
    search = searches.start(b"{}")
    await search.wait(300)
    await asyncio.sleep(0)  # its task ends after it
    return search


def remembered(searches: Searches, given: list[Search]) -> list[bool]:
    """Return which of them can still be asked for."""
    known = []
    for search in given:
        try:
            known.append(searches.named(search.id) is search)
        except Refused:
            known.append(False)
    return known


def test_as_many_searches_are_remembered_as_is_said() -> None:
    async def use() -> None:
        searches = Searches(Ready(), Limits(kept_searches=3))
        given = [await ended(searches) for _ in range(3)]
        assert remembered(searches, given) == [True] * 3
        given.append(await ended(searches))
        assert remembered(searches, given) == [False, True, True, True]

    asyncio.run(use())


def test_searches_are_forgotten_in_time() -> None:
    async def use() -> None:
        searches = Searches(Ready(), Limits(kept_s=0.0))
        given = [await ended(searches)]
        assert remembered(searches, given) == [False]

    asyncio.run(use())


def test_what_is_held_of_all_searches_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go first, whatever their number; one that runs is never forgotten."""
    assert module.MOST_HELD_BYTES == 256 * 2**20
    monkeypatch.setattr(module, "MOST_HELD_BYTES", 25_000)

    async def use() -> None:
        searches = Searches(Ready(), Limits())
        given = []
        for _ in range(3):
            given.append(await ended(searches))
            given[-1].on_told(PLAN, b" " * 10_000)
        assert remembered(searches, given) == [False, True, True]
        running = searches.start(b"{}")
        running.on_told(PLAN, b" " * 100_000)
        assert remembered(searches, [*given, running]) == [False, False, False, True]
        await running.wait(300)

    asyncio.run(use())


@pytest.mark.parametrize(
    ("error", "said"),
    [(WorkerBroke(), b"a retry would fail again"), (WorkerEnded(), b"was killed; try again")],
)
def test_a_search_whose_process_is_gone_says_whether_to_try_again(error: Exception, said: bytes) -> None:
    async def use() -> None:
        search = await ended(Searches(Ready(error), Limits()))
        assert search.state == "failed"
        assert said in search.content()

    asyncio.run(use())


def test_no_more_listen_at_once_than_may() -> None:
    """They come all at the same moment; when they have gone, others may."""
    limits = Limits(streams=3)
    lab = Lab(limits)
    search = Search()
    lab.searches._by_id[search.id] = search

    async def use() -> list[int]:
        transport = httpx.ASGITransport(create_app(limits=limits, lab=lab))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            path = f"/api/v1/searches/{search.id}/events"
            listeners = [asyncio.create_task(client.get(path)) for _ in range(5)]
            while lab.num_streams < 3 or not any(listener.done() for listener in listeners):
                if lab.num_streams > 3:
                    break
                await asyncio.sleep(0)
            search.end("stopped")
            answers = [*await asyncio.gather(*listeners), await client.get(path)]
            return [answer.status_code for answer in answers]

    statuses = asyncio.run(use())
    assert sorted(statuses[:-1]) == [200, 200, 200, 503, 503]
    assert statuses[-1] == 200
    assert lab.num_streams == 0
