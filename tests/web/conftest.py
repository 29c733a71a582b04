"""A real server, started once, as a user would."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx
import psutil
import pytest

HANGS_S = 300.0  # what takes longer never ends


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    process: subprocess.Popen[str]
    url: str

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])


def hear_ctrl_c() -> None:
    """A shell starts its background work deaf to Ctrl-C, and so would be all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def started(*options: str) -> Served:
    """Start `ringsched serve` on a free port and wait until it answers."""
    command = [sys.executable, "-m", "ringsched", "serve", "--port", "0", *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=dict(os.environ), preexec_fn=hear_ctrl_c
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://[^/]+", line)
    assert found, f"it printed {line!r}"
    return Served(process, found[0])


def ended(served: Served, number: int = signal.SIGTERM) -> int:
    served.process.send_signal(number)
    assert served.process.stdout is not None
    served.process.stdout.close()
    return served.process.wait(timeout=HANGS_S)


def workers_of(pid: int) -> list[psutil.Process]:
    """Return the workers of a server, or of a test; any of them may end while it is looked at."""
    found = []
    for child in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # a zombie is none too
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child)
    return found


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    # On a busy machine a worker may take long to start; no test is about that.
    server = started("--workers", "2", "--request-timeout", str(HANGS_S))
    yield server
    ended(server)


@pytest.fixture(scope="session")
def client(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{served.url}/api/v1", timeout=HANGS_S) as client:
        yield client


@pytest.fixture(scope="session")
def small(client: httpx.Client) -> dict[str, Any]:
    scenario: dict[str, Any] = client.get("/examples/small").json()["scenario"]
    return scenario


@pytest.fixture(scope="session")
def plan(client: httpx.Client, small: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = client.post("/plan", json={"scenario": small, "policy": "sjf-bco"}).json()
    found: dict[str, Any] = answer["plan"]
    return found
