"""Two controllers with copies of the configuration: never two that act, fail-over, no job lost."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.integration.slurm.real import Real, assert_no_gpu_twice, real_cluster
from tests.integration.slurm.users import User, needs_accounting, needs_root, new_users, register

from ringsched.clusters.slurm.lease import TERM_S

pytestmark = [pytest.mark.slurm, pytest.mark.compiled]


# The command line as another user, who need not be able to read this Python: it is loaded before.
AS_USER = """
import _strptime, os, sys
import ringsched.cli.main, ringsched.cli.slurm
from ringsched.clusters.slurm import lease
from ringsched.clusters.planning import _SMALL, Planner
from ringsched.model import Job, Scenario
job = Job(name="a", gpus=1, iterations=9, gradient_mb=9, minibatch=1, forward_ms=1, backward_ms=1)
for jobs in ((job,), (job.replace(name="b", running_on={"s": [0]}), job)):
    Planner(policy="fifo").plan(Scenario(cluster=_SMALL, jobs=jobs))
lease.TERM_S = int(sys.argv.pop(1))
lease.RENEW_S = lease.TERM_S / 4
user, group = map(int, sys.argv.pop(1).split(":"))
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(group)
    os.setuid(user)
from ringsched.cli import main
main(sys.argv[1:])
"""


SHORT_S = 4  # a lease that is short, so that the tests are


class Machine:
    """A head node: a controller with its own copy of the configuration, a path and a user of its own."""

    def __init__(self, real: Real, folder: Path, term_s: int, user: User | None = None) -> None:
        self.folder, self.uid = folder, os.geteuid() if user is None else user.uid
        self._term_s = term_s
        folder.mkdir(parents=True)
        for path in real.local.config.parent.iterdir():
            shutil.copy(path, folder)
        self.log = folder / "run.log"
        self._user = f"{os.geteuid()}:{os.getegid()}" if user is None else f"{user.uid}:{user.gid}"
        if user is not None:
            folder.chmod(0o700)  # the other one cannot look
            for path in (folder, *folder.iterdir()):
                os.chown(path, user.uid, user.gid)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = ("--poll-interval", "300ms", "--policy", "fifo")
        environment = {"SLURM_CONF": str(self.folder / "slurm.conf"), "HOME": str(self.folder)}
        environment["RINGSCHED_KERNELS"] = "python"  # its home has no compiled ones
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", AS_USER, str(self._term_s), self._user, "slurm", "run", *options],
                stdout=log, stderr=log, cwd="/", env=os.environ | environment,
            )  # fmt: skip

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def end(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def said(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def released(self) -> list[str]:
        return re.findall(r"^release (\w+):", self.said(), re.MULTILINE)


@contextmanager
def machines(real: Real, term_s: int, users: list[User] | None = None) -> Iterator[list[Machine]]:
    """Two of them, of which one is active."""
    base, folders = real.folder.parent, ("first/etc", "opt/second/slurm")
    both = [
        Machine(real, base / folder, term_s, user)
        for folder, user in zip(folders, users or [None, None], strict=True)  # type: ignore[list-item]
    ]
    try:
        for machine in both:
            machine.start()
        real.wait(lambda: any("is active" in machine.said() for machine in both), 60)
        yield both
    finally:
        for machine in both:
            machine.end()


@pytest.mark.parametrize(
    "term_s", [SHORT_S, pytest.param(TERM_S, marks=pytest.mark.slow)], ids=["short", "as-it-is"]
)
def test_fail_over(real: Real, term_s: int) -> None:
    """The active one is killed with a job in the queue; the other, with another path, takes over."""
    with machines(real, term_s) as both:
        active = _active(both)
        (other,) = (machine for machine in both if machine is not active)
        active.end()
        died_s = time.monotonic()
        job_id = real.sbatch("job", 16, "--gpus=16")
        real.wait(
            lambda: job_id in other.released(),
            60,
            said=lambda: f"{active.folder}:\n{active.said()}\n{other.folder}:\n{other.said()}",
        )
        print(f"taken over after {time.monotonic() - died_s:.1f} s")
        real.wait(lambda: len(real.runs()) == 1)
    assert active.released() == []


class Write(NamedTuple):
    """What slurmctld wrote down about a change of a job: in which generation of the lease, and by whom."""

    generation: int
    uid: int
    line: str


_CREATED = re.compile(r"Created reservation=ringsched-\d+ ")
_CHANGED = re.compile(r"_slurm_rpc_update_job: (?:complete )?JobId=\S+ uid=(\d+)")


def writes(real: Real, both: list[Machine]) -> list[Write]:
    """The changes of jobs by the two controllers in the order in which slurmctld made them."""
    found, generation = [], 0
    for line in (real.local.directory / "log" / "slurmctld.log").read_text().splitlines():
        if _CREATED.search(line):
            generation += 1
        elif (changed := _CHANGED.search(line)) and int(changed[1]) in {machine.uid for machine in both}:
            found.append(Write(generation, int(changed[1]), line))
    return found


def assert_never_two_that_act(changes: list[Write]) -> None:
    """Slurm's own log: whoever changes jobs in a generation of the lease is alone in it."""
    actors: dict[int, set[int]] = {}
    for change in changes:
        actors.setdefault(change.generation, set()).add(change.uid)
    assert [number for number, uids in actors.items() if len(uids) > 1] == []


def test_the_log_would_show_two_that_act() -> None:
    fine = [Write(1, 7, ""), Write(1, 7, ""), Write(2, 8, ""), Write(3, 7, "")]
    assert_never_two_that_act(fine)
    with pytest.raises(AssertionError):
        assert_never_two_that_act([*fine, Write(3, 8, "")])


@needs_root
@needs_accounting
@pytest.mark.parametrize(
    ("term_s", "length_s"),
    [(SHORT_S, 1), pytest.param(TERM_S, 300, marks=pytest.mark.slow)],
    ids=["short", "five-minutes"],
)
def test_killed_and_paused_in_turn(term_s: int, length_s: int) -> None:
    """Two operators, each under a path of its own: killed, or paused for longer than the lease.

    Each is stopped soon after jobs arrive, so also in the middle of its writes.
    """
    draw = random.Random(5)
    with (
        real_cluster((4, 4, 8, 8), with_accounts=True) as real,
        new_users(real, 2) as users,
    ):
        register(real, [], users)
        with machines(real, term_s, users) as both:
            ids = _disturbed(real, both, term_s, length_s, draw)
            real.wait(lambda: all(job.done for job in real.jobs().values()), 120)
        changes = writes(real, both)
        runs = real.runs()
    assert sorted((run.name, run.job_id) for run in runs) == sorted(ids.items())
    assert_no_gpu_twice(runs)
    assert_never_two_that_act(changes)
    assert {change.uid for change in changes} == {machine.uid for machine in both}  # each had its turns
    assert len({change.generation for change in changes}) >= max(2, length_s // 30)


def _disturbed(
    real: Real, both: list[Machine], term_s: int, length_s: float, draw: random.Random
) -> dict[str, str]:
    """Submit jobs, and kill or pause who is active, until both have been; return the ids of the jobs."""
    ids: dict[str, str] = {}
    end_s = time.monotonic() + length_s
    for turn in count():
        for _ in range(3):
            name, gpus = f"job{len(ids)}", draw.choice((4, 8, 16))
            ids[name] = real.sbatch(name, gpus, f"--gpus={gpus}")
        time.sleep(draw.uniform(0, 0.6))
        machine = _active(both)
        if turn % 2:
            machine.end()
            time.sleep(draw.uniform(0, 3))
            machine.start()
        else:
            machine.send(signal.SIGSTOP)
            longer_s = draw.choice((1.5, 3.0, 4.0)) if turn else 3.0  # than the lease
            time.sleep(1.0 if turn and draw.random() < 0.25 else term_s + longer_s)
            machine.send(signal.SIGCONT)
        if turn and time.monotonic() > end_s and len({change.uid for change in writes(real, both)}) == 2:
            return ids
    raise AssertionError


def _active(both: list[Machine]) -> Machine:
    """Whoever does not wait, or has said something last."""
    return max(both, key=lambda each: (not each.said().endswith("is active\n"), each.log.stat().st_mtime))
