"""Rings for real, over the loopback: sums, bytes, and neighbours that are missing, wrong or die."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.helpers import run, run_process, sentence

from ringsched.calibrate.measurements import load_measurements
from ringsched.calibrate.neighbours import Address, RingBroken, meet, ring_from_text
from ringsched.calibrate.worker import WorkerRun, run_worker

LONG_S = 60.0  # what no test waits for


def free_ring(num_workers: int) -> tuple[Address, ...]:
    """Addresses that nobody listens at."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(num_workers)]
    ring = tuple(Address("127.0.0.1", each.getsockname()[1]) for each in sockets)
    for each in sockets:
        each.close()
    return ring


def run_ring(num_workers: int, **settings: Any) -> list[WorkerRun]:
    ring, done = free_ring(num_workers), {}

    def work(rank: int) -> None:
        done[rank] = run_worker(rank, ring, **settings)

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(num_workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [done[rank] for rank in range(num_workers)]


@pytest.mark.parametrize("num_workers", [2, 3, 5])
def test_every_worker_sends_what_the_model_says(num_workers: int) -> None:
    message_mb = 0.12  # 30000 elements: every number of workers here divides it
    runs = run_ring(num_workers, message_mb=message_mb, iterations=4)
    for each in runs:
        assert len(each.iterations) == 4
        expected = 4 * 2 * message_mb * 1e6 * (num_workers - 1) / num_workers
        assert each.sent_bytes == each.received_bytes == expected
        assert all(part > 0 for step in each.iterations for part in (step.exchange_s, step.reduce_s))


def test_all_stop_after_the_same_iteration() -> None:
    runs = run_ring(3, message_mb=0.001, compute_s=0.01, seconds=0.2)
    assert len({len(each.iterations) for each in runs}) == 1
    assert all(step.compute_s >= 0.01 for each in runs for step in each.iterations)


def test_unreachable_neighbour() -> None:
    with pytest.raises(RingBroken, match=r"rank 1 at 127\.0\.0\.1:\d+ cannot be reached: connection refused"):
        meet(0, free_ring(2), elements=1, timeout_s=0.2)


def test_neighbour_that_never_calls() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        ring = (*free_ring(1), Address("127.0.0.1", silent.getsockname()[1]))
        with pytest.raises(RingBroken, match=r"rank 1 at .* did not connect within 0\.3 s"):
            meet(0, ring, elements=1, timeout_s=0.3)


def test_strangers_are_hung_up_on_and_others_settings_are_named() -> None:
    ring, said = free_ring(2), []

    def other() -> None:
        with pytest.raises(RingBroken) as error:
            meet(1, ring, elements=8, timeout_s=5.0)
        said.append(str(error.value))

    thread = threading.Thread(target=other)
    thread.start()
    for _ in range(200):
        try:
            with socket.create_connection(ring[1]) as stranger:
                stranger.sendall(b"GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n")
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
    with pytest.raises(RingBroken):
        meet(0, ring, elements=4, timeout_s=5.0)
    thread.join()
    assert "has a ring of 2 workers and 4 elements, this one of 2 and 8" in said[0]


@contextmanager
def processes(num_workers: int, *options: object) -> Iterator[list[subprocess.Popen[str]]]:
    """A ring of processes, which are ended in any case."""
    ring = ",".join(str(address) for address in free_ring(num_workers))
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "ringsched", "calibrate", "worker", "--rank", str(rank), "--ring", ring]
            + [str(option) for option in options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(num_workers)
    ]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def test_processes(tmp_path: Path) -> None:
    output = tmp_path / "row.csv"
    with processes(2, "--message-mb", 0.1, "--iterations", 3, "--json", "-o", output) as ring:
        for rank, process in enumerate(ring):
            out, err = process.communicate(timeout=LONG_S)
            assert process.returncode == 0, err
            content = json.loads(out)
            assert (content["rank"], content["sent_bytes"]) == (rank, 300_000)
    (row,) = load_measurements(output)
    assert (row.servers, row.workers, row.message_mb) == (1, 2, 0.1)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_neighbour_that_dies_or_stops(number: signal.Signals) -> None:
    with processes(3, "--message-mb", 0.1, "--duration", 1000, "--peer-timeout", 3) as ring:
        time.sleep(1.5)
        os.kill(ring[1].pid, number)
        said = [ring[rank].communicate(timeout=LONG_S)[1] for rank in (0, 2)]
        assert [ring[rank].returncode for rank in (0, 2)] == [1, 1], said
        assert all(text.startswith("Error: rank ") and text.count("\n") == 1 for text in said)
        assert any("rank 1 at" in text for text in said)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--ring", "a"), "--ring must be host:port"),
        (("--ring", "a:1,a:1"), "--ring names an address twice"),
        (("--ring", "a:1"), "--ring must name 2 to 1024 workers, not 1"),
        (("--ring", "a:1,b:99999"), "--ring must be host:port"),
        (("--rank", 2), "--rank must be at most 1, not 2"),
        (("--message-mb", 0), "--message-mb must be a number > 0"),
        (("--compute", -1), "--compute must be a number >= 0"),
        (("--iterations", 0), "--iterations must be an integer >= 1"),
        (("--iterations", 1, "--duration", 1), "--duration cannot be combined with --iterations"),
        (("--peer-timeout", 0), "--peer-timeout must be a number > 0"),
    ],
)
def test_wrong_options(options: tuple[object, ...], said: str) -> None:
    given = {"--rank": 0, "--ring": "127.0.0.1:1,127.0.0.1:2"}
    given |= dict(zip(options[::2], options[1::2], strict=True))  # type: ignore[arg-type]
    assert said in sentence(run("calibrate", "worker", *(part for pair in given.items() for part in pair)))


def test_nobody_there() -> None:
    ring = ",".join(str(address) for address in free_ring(2))
    done = run_process("calibrate", "worker", "--rank", 0, "--ring", ring, "--peer-timeout", 0.3)
    assert done.returncode == 1
    assert "cannot be reached" in done.stderr


def test_text_of_rings() -> None:
    assert ring_from_text("[fe80::1]:5,b:6")[0] == Address("fe80::1", 5)
