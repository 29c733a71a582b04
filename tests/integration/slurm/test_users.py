"""Two users and an operator without root: each job runs as its owner, and nobody reaches another's job."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.integration.slurm.accounting import missing
from tests.integration.slurm.real import SLEEPS, Real, real_cluster

from ringsched.clusters.slurm.comments import comment_of
from ringsched.clusters.slurm.lease import Fenced, Lease
from ringsched.errors import AdapterError

NO_ACCOUNTING = missing()
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.compiled,
    pytest.mark.skipif(os.geteuid() != 0, reason="TWO USERS NOT TESTED: only root can make users"),
]
needs_accounting = pytest.mark.skipif(
    bool(NO_ACCOUNTING),
    reason=f"OPERATOR NOT TESTED: {', '.join(NO_ACCOUNTING)} missing; "
    "apt-get install slurmdbd mariadb-server",
)


@dataclass(frozen=True)
class User:
    """A user of this machine; its commands are those of `Commands`."""

    name: str
    uid: int
    gid: int
    config: Path

    def ask(self, *arguments: str) -> str:
        done = subprocess.run(
            arguments,
            env={"PATH": os.environ["PATH"], "SLURM_CONF": str(self.config), "HOME": "/tmp"},
            user=self.uid, group=self.gid, extra_groups=[], cwd="/tmp", capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if done.returncode:
            raise AdapterError(done.stderr.strip(), refused=True)
        return done.stdout

    def tell(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        return self.ask(*arguments)

    def sbatch(self, real: Real, name: str, gpus: int, *options: str) -> str:
        comment = comment_of({**SLEEPS, "gpus": gpus, "iterations": 1})
        return self.ask(
            "sbatch", "--parsable", "--hold", "--output=/dev/null", f"--comment={comment}", f"--gpus={gpus}",
            *options, str(real.folder / "job.sh"), str(real.folder), name, "0.3",
        ).strip()  # fmt: skip


@pytest.fixture
def users() -> Iterator[Callable[[Real], list[User]]]:
    """Three users of this machine, for as long as the test runs."""
    names = [f"rs-{os.getpid()}-{at}" for at in range(3)]
    try:
        for name in names:
            subprocess.run(["useradd", "--no-create-home", name], check=True, capture_output=True)
        entries = [pwd.getpwnam(name) for name in names]
        yield lambda real: [
            User(entry.pw_name, entry.pw_uid, entry.pw_gid, real.local.config) for entry in entries
        ]
    finally:
        for name in names:
            subprocess.run(["userdel", name], check=False, capture_output=True)


def test_two_users(users: Callable[[Real], list[User]]) -> None:
    with real_cluster((4, 4, 8, 8)) as real:
        first, second, _ = users(real)
        ids = {
            f"{user.name}-{gpus}": user.sbatch(real, f"{user.name}-{gpus}", gpus)
            for user in (first, second)
            for gpus in (8, 16)
        }
        mine = ids[f"{first.name}-8"]
        for command in (["scontrol", "release", mine], ["scontrol", "update", f"jobid={mine}", "Nice=5"]):
            with pytest.raises(AdapterError):
                second.tell(*command)
        with pytest.raises(AdapterError):  # nor its note
            second.tell("scontrol", "update", f"jobid={mine}", "Comment=x")
        real.run(real.controller())
        runs = {run.name: run for run in real.runs()}
    assert {name: run.job_id for name, run in runs.items()} == ids
    for name, run in runs.items():
        assert name.startswith(f"{run.user}-")


def test_a_user_without_rights_cannot_be_the_controller(users: Callable[[Real], list[User]]) -> None:
    with real_cluster((4,)) as real:
        first, second, _ = users(real)
        job_id = first.sbatch(real, "job", 4)
        with pytest.raises(AdapterError, match="needs operator rights"):
            Lease(commands=second).acquire()
        cycle = real.controller(commands=second).cycle()
        assert cycle.started == frozenset()
        assert real.jobs()[job_id].held
        assert "ringsched_note" not in real.jobs()[job_id].comment


@needs_accounting
def test_an_operator_without_root(users: Callable[[Real], list[User]]) -> None:
    """Operator rights suffice for the lease, for every layout and for the QOS; jobs stay their owners'."""
    with real_cluster((4, 4, 8, 8), with_accounts=True) as real:
        first, second, operator = users(real)
        sacctmgr = ["sacctmgr", "--immediate"]
        real.commands.tell(*sacctmgr, "add", "qos", "high", "priority=100")
        real.commands.tell(*sacctmgr, "add", "qos", "few", "MaxTRESPerUser=gres/gpu=4")
        real.commands.tell(*sacctmgr, "add", "account", "lab")
        for user in (first, second, operator):
            real.commands.tell(*sacctmgr, "add", "user", user.name, "account=lab", "qos=normal,high,few")
        real.commands.tell(*sacctmgr, "modify", "user", operator.name, "set", "AdminLevel=Operator")
        real.commands.tell("scontrol", "reconfigure")
        real.wait(lambda: _can_reserve(operator))
        ids = {
            "low": first.sbatch(real, "low", 16, "--qos=normal"),
            "split": second.sbatch(real, "split", 8, "--qos=normal"),
            "high": second.sbatch(real, "high", 16, "--qos=high"),
            "few-a": first.sbatch(real, "few-a", 4, "--qos=few"),
        }
        refused = first.sbatch(real, "few-b", 8, "--qos=few")
        lease = Lease(commands=operator)
        assert lease.acquire()
        real.run(real.controller(commands=Fenced(real=operator, lease=lease)))
        lease.release()
        runs = {run.name: run for run in real.runs()}
        assert {name: run.job_id for name, run in runs.items()} == ids
        assert runs["high"].start_s < runs["low"].start_s
        assert {name: run.user for name, run in runs.items()} == {
            "low": first.name, "split": second.name, "high": second.name, "few-a": first.name
        }  # fmt: skip
        job = real.jobs()[refused]
        assert job.held
        assert "QOS" in job.comment


def _can_reserve(operator: User) -> bool:
    lease = Lease(commands=operator)
    try:
        return lease.acquire()
    except AdapterError:
        return False
    finally:
        lease.release()
