"""What runs inside the private namespace: makes the servers, then runs blocks of jobs as it is told.

It is the first process there, so all others end with it; and it ends when its input does, that is, when
whoever started it is gone, by whatever means. One line of JSON in, one out.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
import time
from typing import Any

from ringsched.calibrate.fabric import address_of, build, enter, port_of
from ringsched.calibrate.peers import Address
from ringsched.calibrate.traffic import segments_again, wire_bytes
from ringsched.calibrate.worker import run_worker
from ringsched.errors import RingschedError

HEAD_START_S = 0.25  # for all workers of a block to find each other


def main() -> None:
    """Serve until the input ends."""
    lines = _Lines()
    try:
        asked = json.loads(lines.next())
        build(asked["servers"], asked["mbps"])
        _answer({"ready": True})
    except OSError as error:
        _answer({"error": str(error)})
        return
    while line := lines.next():
        before = wire_bytes(asked["servers"])
        said = _block(json.loads(line), lines)
        _answer(said | {"wire_bytes": wire_bytes(asked["servers"]) - before})


class _Lines:
    """Standard input, line by line, without a buffer that would hide its end."""

    def __init__(self) -> None:
        self._rest = b""

    def next(self) -> str:
        while b"\n" not in self._rest:
            self.more()
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def more(self) -> None:
        part = os.read(0, 65_536)
        if not part:
            os._exit(0)  # takes every worker along
        self._rest += part


def _block(asked: dict[str, Any], lines: _Lines) -> dict[str, Any]:
    """Run the jobs of a block at the same time; return what every worker did, or the first error."""
    begin_s = time.monotonic() + HEAD_START_S
    pipes: dict[int, tuple[int, int, int]] = {}  # reading end: child, job, rank
    for job, settings in enumerate(asked["jobs"]):
        ring = [
            Address(address_of(server), port_of(job, rank))
            for rank, server in enumerate(settings["placement"])
        ]
        for rank in range(len(ring)):
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(reading)
                _work(writing, rank, ring, settings, begin_s)
            os.close(writing)
            pipes[reading] = (child, job, rank)
    return {"begin_s": begin_s} | _gathered(pipes, lines)


def _work(writing: int, rank: int, ring: list[Address], settings: dict[str, Any], begin_s: float) -> None:
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        enter(settings["placement"][rank])
        before = segments_again()
        run = run_worker(
            rank,
            ring,
            message_mb=settings["message_mb"],
            compute_s=settings["compute_s"],
            iterations=settings.get("iterations"),
            seconds=settings.get("seconds"),
            timeout_s=settings["timeout_s"],
            start_at_s=begin_s + settings["start_s"],
        )
        said: dict[str, Any] = {
            "iterations": run.iterations,
            "sent_bytes": run.sent_bytes,
            "waited_s": run.waited_s,
            "segments_again": segments_again() - before,
        }
    except RingschedError as error:
        said = {"error": str(error)}
    except BaseException as error:
        said = {"error": f"a worker failed: {type(error).__name__}: {error}"}
    with os.fdopen(writing, "w") as file:
        json.dump(said, file)
    os._exit(0)


def _gathered(pipes: dict[int, tuple[int, int, int]], lines: _Lines) -> dict[str, Any]:
    texts = dict.fromkeys(pipes, b"")
    errors: list[str] = []
    with selectors.DefaultSelector() as selector:
        for reading in (0, *pipes):
            selector.register(reading, selectors.EVENT_READ)
        num_open = len(pipes)
        while num_open:
            for key, _ in selector.select():
                if key.fd == 0:
                    lines.more()
                elif part := os.read(key.fd, 1 << 20):
                    texts[key.fd] += part
                else:
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    os.waitpid(pipes[key.fd][0], 0)
                    num_open -= 1
    workers = []
    for reading, (_, job, rank) in pipes.items():
        said = json.loads(texts[reading]) if texts[reading] else {"error": "a worker died"}
        errors += [f"job {job}: {said['error']}"] if "error" in said else []
        workers.append({"job": job, "rank": rank} | said)
    return {"error": errors[0]} if errors else {"workers": workers}


def _answer(content: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
