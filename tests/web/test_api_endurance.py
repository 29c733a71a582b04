"""A day's worth of requests, good and bad, in a short time: the server is as it was before."""

from __future__ import annotations

import contextlib
import random
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psutil
import pytest
from tests.web.conftest import HANGS_S, Served, ended, started, workers_of
from tests.web.hostile import GARBAGE, JSON, PLANS, planned, planned_in_the_end, spoken

pytestmark = pytest.mark.compiled

FEW_S, MANY_S = 3.0, 120.0
LEAST = 5  # requests of each client, however slow the machine is: they have something of all kinds
NUM_CLIENTS = 12
GROWTH = 40 * 2**20  # bytes that the server itself may have more after all than after the first part
WORKER_BYTES = 1200 * 2**20  # what no worker may hold at the end
USUAL = {200, 413, 422}
ENOUGH = 200  # requests of one client, of which a fifth are bad and 2 % too large
FINE = {200, 201, 400, 403, 404, 405, 408, 409, 413, 415, 422, 503, 504}


class Crowd:
    """Clients that ask for whatever comes to their minds."""

    def __init__(self, served: Served, small: Any) -> None:
        self.served = served
        self.client = httpx.Client(base_url=f"{served.url}/api/v1", timeout=HANGS_S)
        self.good = [planned(small, policy, pictures=True) for policy in ("sjf-bco", "first-fit", "random")]
        self.bad = [content for content, _ in PLANS.values()]
        self.searched = planned(small, "search", iterations=50)

    def ask(self, seed: int) -> int:
        """Send one request and return its status; 0 for those without an answer to wait for."""
        chance = random.Random(seed)
        ways = [self._plan, self._plan, self._plan, self._bad, self._bad, self._search, self._garbage]
        ways += [self._origin, self._gone, self._large] if chance.random() < 0.3 else []
        return chance.choice(ways)(chance)

    def _plan(self, chance: random.Random) -> int:
        return self._post("/plan", chance.choice(self.good))

    def _bad(self, chance: random.Random) -> int:
        return self._post(
            chance.choice(["/plan", "/verify", "/compare", "/searches"]), chance.choice(self.bad)
        )

    def _search(self, chance: random.Random) -> int:
        answer = self.client.post("/searches", content=self.searched, headers=JSON)
        if answer.status_code == 201 and chance.random() < 0.5:
            return self.client.delete(f"/searches/{answer.json()['id']}").status_code
        return answer.status_code

    def _garbage(self, chance: random.Random) -> int:
        with contextlib.suppress(ConnectionResetError):
            spoken(self.served.port, chance.choice(list(GARBAGE.values()))[0])
        return 0

    def _origin(self, _: random.Random) -> int:
        return self.client.get("/about", headers={"Origin": "http://evil.example"}).status_code

    def _gone(self, chance: random.Random) -> int:
        body = chance.choice(self.good)
        head = b"POST /api/v1/plan HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", self.served.port)) as connection:
            connection.sendall(
                head + b"Content-Length: %d\r\n\r\n" % len(body) + body[: chance.randrange(len(body))]
            )
        return 0

    def _large(self, _: random.Random) -> int:
        return self._post("/plan", b" " * 40_000_000)

    def _post(self, path: str, content: bytes) -> int:
        return self.client.post(path, content=content, headers=JSON).status_code


def held(served: Served) -> tuple[int, list[int]]:
    """Return the bytes that the server and its workers hold."""
    workers = []
    for worker in workers_of(served.process.pid):
        with contextlib.suppress(psutil.NoSuchProcess):  # one that was given up, and has just ended
            workers.append(worker.memory_info().rss)
    return psutil.Process(served.process.pid).memory_info().rss, workers


def crowded(crowd: Crowd, seconds: float, first_seed: int) -> list[int]:
    """Let several clients ask for so long, and return the statuses."""
    until_s = time.monotonic() + seconds

    def client(number: int) -> list[int]:
        statuses, seed = [], first_seed + number
        while time.monotonic() < until_s or len(statuses) < LEAST:
            statuses.append(crowd.ask(seed))
            seed += NUM_CLIENTS
        return statuses

    with ThreadPoolExecutor(NUM_CLIENTS) as threads:
        return [status for statuses in threads.map(client, range(NUM_CLIENTS)) for status in statuses]


def alone(crowd: Crowd, statuses: list[int]) -> list[int]:
    """Let one client ask until all usual statuses were seen: on a slow machine a crowd gets 503 for most."""
    more: list[int] = []
    while len(more) < ENOUGH and not {*statuses, *more} >= USUAL:
        more.append(crowd.ask(2 * 10**6 + len(more)))
    return more


def endure(seconds: float, small: Any) -> None:
    served = started("--workers", "2", "--request-timeout", "5")
    try:
        crowd = Crowd(served, small)
        statuses = crowded(crowd, seconds / 2, 0)
        before, _ = held(served)
        statuses += crowded(crowd, seconds / 2, 10**6)
        assert planned_in_the_end(crowd.client, crowd.good[0])
        statuses += alone(crowd, statuses)
        after, workers = held(served)
    finally:
        crowd.client.close()
        assert ended(served) == 143
    print(Counter(statuses), before, after, workers)
    assert set(statuses) <= FINE | {0}
    assert set(statuses) >= USUAL
    assert after - before < GROWTH
    assert max(workers) < WORKER_BYTES
    assert len(workers) <= 4


def test_a_short_day(small: Any) -> None:
    endure(FEW_S, small)


@pytest.mark.slow
def test_a_long_day(small: Any) -> None:
    endure(MANY_S, small)
