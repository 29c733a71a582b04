"""Users of this machine that last as long as a test, and their rights in Slurm."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.integration.slurm.accounting import missing
from tests.integration.slurm.real import SLEEPS, Real

from ringsched.clusters.slurm.comments import comment_of
from ringsched.clusters.slurm.lease import Lease
from ringsched.errors import AdapterError

NO_ACCOUNTING = missing()
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="TWO USERS NOT TESTED: only root can make users")
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


@contextmanager
def new_users(real: Real, count: int) -> Iterator[list[User]]:
    names = [f"rs-{os.getpid()}-{at}" for at in range(count)]
    try:
        for name in names:
            subprocess.run(["useradd", "--no-create-home", name], check=True, capture_output=True)
        entries = [pwd.getpwnam(name) for name in names]
        yield [User(entry.pw_name, entry.pw_uid, entry.pw_gid, real.local.config) for entry in entries]
    finally:
        for name in names:
            subprocess.run(["userdel", "--force", name], check=False, capture_output=True)


def register(real: Real, users: list[User], operators: list[User], *, qos: str = "normal") -> None:
    """Enter users into the accounts of the cluster, some as operators."""
    sacctmgr = ("sacctmgr", "--immediate")
    real.commands.tell(*sacctmgr, "add", "account", "lab")
    for group, more in ((users, ()), (operators, ("AdminLevel=Operator",))):
        if group:
            names = ",".join(user.name for user in group)
            real.commands.tell(*sacctmgr, "add", "user", names, "account=lab", f"qos={qos}", *more)
    real.commands.tell("scontrol", "reconfigure")
    for operator in operators:
        real.wait(lambda operator=operator: _can_reserve(operator))  # type: ignore[misc]


def _can_reserve(operator: User) -> bool:
    lease = Lease(commands=operator)
    try:
        return lease.acquire()
    except AdapterError:
        return False
    finally:
        lease.release()
