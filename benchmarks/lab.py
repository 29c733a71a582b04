"""How soon the lab answers over HTTP: constructive policies, pictures included, and a crowd at once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError

from benchmarks.effort import sized
from benchmarks.measure import best_of

POLICIES = ("longest-first", "list-scheduling", "sjf-bco")
REPEATS = sized({"paper": 15, "large": 3}, {"paper": 1})
CROWD = 50


def lab() -> dict[str, Any]:
    """`ringsched serve`: a plan with its pictures, from the request to the last byte, warm."""
    results: dict[str, Any] = {}
    with _server() as url:
        for example, repeats in REPEATS.items():
            name = {"paper": "160 jobs", "large": "2,000 jobs"}[example]
            scenario = json.loads(_asked(f"{url}/examples/{example}"))["scenario"]
            for policy in POLICIES:
                ask = _plan_request(url, scenario, policy)
                ask()
                times_s = sorted(best_of(ask, repeats=1) for _ in range(repeats))
                results[f"{name}, {policy}, ms"] = 1e3 * times_s[0]
                results[f"{name}, {policy}, median ms"] = 1e3 * times_s[len(times_s) // 2]
            if example == "paper":
                results |= _crowd(ask)
    return results


def _plan_request(url: str, scenario: Any, policy: str) -> Callable[[], bytes]:
    body = json.dumps({"scenario": scenario, "policy": policy, "pictures": True}).encode()
    return lambda: _asked(f"{url}/plan", body)


def _crowd(ask: Callable[[], bytes]) -> dict[str, Any]:
    """Send many requests at once, and count the answers and the refusals."""

    def status(_: int) -> int:
        try:
            ask()
        except HTTPError as error:
            return error.code
        return 200

    started = time.perf_counter()
    with ThreadPoolExecutor(CROWD) as threads:
        statuses = list(threads.map(status, range(CROWD)))
    return {
        f"{CROWD} at once, answered": statuses.count(200),
        f"{CROWD} at once, refused with status 503": statuses.count(503),
        f"{CROWD} at once, s": time.perf_counter() - started,
    }


def _asked(url: str, body: bytes | None = None) -> bytes:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        content: bytes = answer.read()
    return content


@contextmanager
def _server() -> Iterator[str]:
    command = [sys.executable, "-m", "ringsched", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[-1] + "api/v1"
        finally:
            server.terminate()
