"""Two controllers with copies of the configuration: never two that act, fail-over, no job lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.integration.slurm.real import Real, assert_no_gpu_twice

from ringsched.clusters.slurm.lease import Lease

pytestmark = [pytest.mark.slurm, pytest.mark.compiled]


class Machine:
    """A head node: its own copy of the configuration under a path of its own, and a controller."""

    def __init__(self, real: Real, name: str) -> None:
        self.folder = real.folder / name
        self.folder.mkdir()
        for path in real.local.config.parent.iterdir():
            (self.folder / path.name).write_bytes(path.read_bytes())
        self.log = self.folder / "run.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = ("--poll-interval", "300ms", "--policy", "fifo")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ringsched", "slurm", "run", *options],
                stdout=log, stderr=log, cwd=self.folder,
                env=os.environ | {"SLURM_CONF": str(self.folder / "slurm.conf")},
            )  # fmt: skip

    def send(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def end(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def released(self) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line.split(":")[0].removeprefix("release ") for line in lines if line.startswith("release ")]


@contextmanager
def machines(real: Real) -> Iterator[list[Machine]]:
    both = [Machine(real, name) for name in ("first", "second")]
    try:
        yield both
    finally:
        for machine in both:
            machine.end()


def test_fail_over_takes_less_than_20_seconds(real: Real) -> None:
    """One is killed with a job in the queue; the other, with another path, takes over."""
    with machines(real) as (first, second):
        first.start()
        real.wait(lambda: "ringsched-1" in Lease(commands=real.commands)._rows(), 60)
        second.start()
        real.wait(lambda: "waiting" in second.log.read_text(), 60)
        first.end()
        died_s = time.monotonic()
        job_id = real.sbatch("job", 16, "--gpus=16")
        real.wait(lambda: job_id in second.released(), 60)
        print(f"taken over after {time.monotonic() - died_s:.1f} s")
        real.wait(lambda: len(real.runs()) == 1)
    assert first.released() == []


@pytest.mark.parametrize(
    "length_s", [30, pytest.param(300, marks=pytest.mark.slow)], ids=["short", "five-minutes"]
)
def test_killed_and_paused_in_turn(real: Real, length_s: int) -> None:
    """Each is killed, or paused for longer than its lease; every job runs once, and no GPU is held twice."""
    draw = random.Random(5)
    names: list[str] = []
    with machines(real) as both:
        for machine in both:
            machine.start()
        end_s = time.monotonic() + length_s
        while time.monotonic() < end_s:
            for _ in range(3):
                names.append(f"job{len(names)}")
                gpus = draw.choice((4, 8, 16))
                real.sbatch(names[-1], gpus, f"--gpus={gpus}")
            machine = draw.choice(both)
            if draw.random() < 0.5:
                machine.end()
                time.sleep(draw.uniform(0, 3))
                machine.start()
            else:
                machine.send(signal.SIGSTOP)
                time.sleep(draw.uniform(1, 16))
                machine.send(signal.SIGCONT)
        real.wait(lambda: all(job.done for job in real.jobs().values()), 120)
    runs = real.runs()
    assert Counter(run.name for run in runs) == Counter(names)
    assert_no_gpu_twice(runs)
    released = Counter(job for machine in both for job in machine.released())
    assert set(released) == set(real.jobs())
