"""A slurmdbd with a MariaDB of its own, for tests of operators."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ringsched.clusters.slurm.local import free_ports

PROGRAMS = ("mariadbd", "mariadb-install-db", "mariadb", "slurmdbd", "sacctmgr")


def missing() -> list[str]:
    """What must be installed: apt-get install slurmdbd mariadb-server."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    return [program for program in PROGRAMS if shutil.which(program, path=path) is None]


CONFIG = """\
AuthType=auth/munge
AuthInfo=socket={munge}
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
LogFile={base}/slurmdbd.log
PidFile={base}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={storage}
StorageUser=slurm
StoragePass=slurm
StorageLoc=accounts
"""


class Accounting:
    """The daemons, and what slurm.conf needs to know of them."""

    def __init__(self, base: Path, munge_socket: Path) -> None:
        self._base, self._munge = base, munge_socket
        self._port, self._storage = free_ports(2)
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def settings(self) -> str:
        return (
            "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\n"
            f"AccountingStoragePort={self._port}\nAccountingStoragePass={self._munge}\n"
            "AccountingStorageTRES=gres/gpu\nAccountingStorageEnforce=associations,limits,qos\n"
        )

    def start_database(self) -> None:
        data = self._base / "data"
        options = [f"--datadir={data}", "--user=root"]
        small = ["--innodb-buffer-pool-size=16M", "--innodb-log-file-size=4M", "--innodb-flush-method=nosync"]
        self._run(
            "mariadb-install-db", *options, "--auth-root-authentication-method=normal", "--skip-test-db"
        )
        self._start(
            "mariadbd", *options, *small, f"--socket={self._base}/sql.socket", "--bind-address=127.0.0.1",
            f"--port={self._storage}", f"--pid-file={self._base}/sql.pid",
        )  # fmt: skip
        grant = "CREATE USER slurm@'%' IDENTIFIED BY 'slurm'; GRANT ALL ON *.* TO slurm@'%';"
        sql = ["mariadb", f"--socket={self._base}/sql.socket", "--user=root", "--execute", grant]
        self._until(lambda: subprocess.run(sql, capture_output=True, check=False).returncode == 0)

    def start_slurmdbd(self) -> None:
        """After munged; the configuration is where `SLURM_CONF` is."""
        config = self._base / "slurmdbd.conf"
        config.write_text(
            CONFIG.format(base=self._base, munge=self._munge, port=self._port, storage=self._storage)
        )
        config.chmod(0o600)
        environment = {"SLURM_CONF": str(self._base / "slurm.conf"), "PATH": os.environ["PATH"]}
        self._start("slurmdbd", "-D", environment=environment)
        self._until(lambda: self._listens())

    def stop(self) -> None:
        for process in reversed(self._started):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _listens(self) -> bool:
        import socket

        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def _start(self, program: str, *arguments: str, environment: dict[str, str] | None = None) -> None:
        with (self._base / f"{program}.out").open("wb") as output:
            self._started.append(
                subprocess.Popen([_path(program), *arguments], stdout=output, stderr=output, env=environment)
            )

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run([_path(program), *arguments], check=True, capture_output=True)

    def _until(self, condition: object, timeout_s: float = 60.0) -> None:
        end_s = time.monotonic() + timeout_s
        while not condition():  # type: ignore[operator]
            assert time.monotonic() < end_s, "the accounting does not start"
            time.sleep(0.1)


def _path(program: str) -> str:
    found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert found is not None
    return found


@contextmanager
def accounting(base: Path, munge_socket: Path) -> Iterator[Accounting]:
    base.mkdir()
    daemons = Accounting(base, munge_socket)
    try:
        daemons.start_database()
        yield daemons
    finally:
        daemons.stop()
        shutil.rmtree(base, ignore_errors=True)
