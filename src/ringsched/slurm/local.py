"""A real Slurm of many nodes with fake GPUs on this machine, for trying out and for tests."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from ringsched.errors import AdapterError, InputError
from ringsched.slurm import processes
from ringsched.slurm.commands import SlurmCommands
from ringsched.slurm.local_config import free_ports, write_config

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue")
_START_S = 30.0
_END_S = 10.0
_LONGEST_SOCKET = 107  # characters of the path of a socket


def missing_programs() -> list[str]:
    """Return what of Slurm and munge is not installed here."""
    return [program for program in PROGRAMS if _program(program) is None]


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


class LocalCluster:
    """A cluster in a folder: `start` it, `stop` it, from any process.

    Runs as whoever starts it, root or not; only root's can run jobs of several users.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    @property
    def config(self) -> Path:
        """What SLURM_CONF must say for commands to find the cluster."""
        return self.folder / "etc" / "slurm.conf"

    @property
    def _pids(self) -> Path:
        return self.folder / "run" / "processes.json"

    def start(self, gpus: Sequence[int], racks: int = 0) -> None:
        """Start a node for each number of GPUs, and wait until all of them are there."""
        if missing := missing_programs():
            raise AdapterError(
                f"not installed here: {', '.join(missing)}; on Debian: apt-get install slurm-wlm munge"
            )
        if len(f"{self.folder}/munge/munge.socket") > _LONGEST_SOCKET:
            raise InputError("is too long a path for sockets in it", file=str(self.folder))
        try:
            self.folder.mkdir(mode=0o755)
        except FileExistsError:
            raise InputError(
                "exists already; stop the cluster there, or choose another folder", file=str(self.folder)
            ) from None
        except OSError as error:
            raise InputError(f"cannot be made: {error.strerror}", file=str(self.folder)) from None
        try:
            self._start(gpus, racks)
        except BaseException:
            self.stop()
            raise

    def _start(self, gpus: Sequence[int], racks: int) -> None:
        for name in ("etc", "run", "state", "log", "spool", "munge", "dev"):
            (self.folder / name).mkdir(mode=0o755)
        write_config(self.folder, gpus, racks, free_ports(len(gpus) + 1))
        key = self.folder / "munge" / "munge.key"
        handle = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "wb") as file:  # noqa: PTH123
            file.write(os.urandom(1024))
        self._pids.write_text("{}")
        self.start_daemon("munged")
        if not processes.wait_until((self.folder / "munge" / "munge.socket").exists, _START_S):
            raise AdapterError(f"munged does not start; see {self.folder}/log")
        self.start_daemon("slurmctld")
        for at in range(len(gpus)):
            self.start_daemon(f"n{at + 1}")
        self.wait_for_nodes(len(gpus))

    def start_daemon(self, name: str) -> None:
        """Start `munged`, `slurmctld` or the slurmd of a node."""
        munge = self.folder / "munge"
        options = {
            "munged": [
                "munged", "--foreground", f"--socket={munge}/munge.socket", f"--key-file={munge}/munge.key",
                f"--log-file={munge}/munged.log", f"--pid-file={munge}/munged.pid",
                f"--seed-file={munge}/munged.seed",
            ],
            "slurmctld": ["slurmctld", "-D", "-f", str(self.config)],
        }  # fmt: skip
        program, *rest = options.get(name, ["slurmd", "-D", "-N", name, "-f", str(self.config)])
        found = _program(program)
        assert found is not None  # checked by start
        environment = {"PATH": os.environ.get("PATH", os.defpath), "SLURM_CONF": str(self.config)}
        pid = processes.start([found, *rest], self.folder / "log" / f"{name}.out", environment)
        self._pids.write_text(json.dumps(self._remembered() | {name: (pid, processes.birth(pid))}))

    def stop_daemon(self, name: str, number: signal.Signals = signal.SIGTERM) -> None:
        """End one of them, and wait until it has ended."""
        pid, born = self._remembered()[name]
        processes.end(pid, born, number)
        if not processes.wait_until(lambda: processes.birth(pid) != born, _END_S):
            processes.end(pid, born, signal.SIGKILL)

    def wait_for_nodes(self, count: int) -> None:
        """Wait until so many nodes can run jobs."""
        commands = SlurmCommands(timeout_s=5.0, config=self.config)

        def are_up() -> bool:
            try:
                states = commands.ask(
                    "sinfo", "--noheader", "--Node", "--states=idle,mixed,alloc", "--format=%N"
                )
            except AdapterError:
                return False
            return len(set(states.split())) == count

        if not processes.wait_until(are_up, _START_S):
            raise AdapterError(f"the nodes do not come up; see {self.folder}/log")

    def stop(self) -> None:
        """End the daemons and all jobs, and remove the folder; nothing is left of it."""
        if not self._pids.exists():
            if self.folder.exists() and self.config.exists():
                shutil.rmtree(self.folder)
            elif self.folder.exists() and any(self.folder.iterdir()):
                raise InputError("is not a cluster that was started here", file=str(self.folder))
            return
        daemons = self._remembered()
        for name in sorted(daemons, key=lambda name: name != "slurmctld"):  # first who would start more
            processes.end(*daemons[name], signal.SIGTERM)
        processes.wait_until(lambda: not self._left(daemons, signal.SIGKILL, only_jobs=True), _END_S)
        if not processes.wait_until(lambda: not self._left(daemons, None), _END_S):
            self._left(daemons, signal.SIGKILL)
            processes.wait_until(lambda: not self._left(daemons, None), _END_S)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _left(
        self, daemons: dict[str, tuple[int, str]], number: signal.Signals | None, *, only_jobs: bool = False
    ) -> list[int]:
        """Return what still runs, and signal it."""
        running = processes.of_jobs(self.config)
        if not only_jobs:
            running += [
                (pid, born) for pid, born in daemons.values() if born and processes.birth(pid) == born
            ]
        for pid, born in running:
            if number is not None:
                processes.end(pid, born, number)
        return [pid for pid, _ in running]

    def _remembered(self) -> dict[str, tuple[int, str]]:
        """Return the ids of all daemons, each with its time of birth."""
        return {
            name: (int(pid), str(born)) for name, (pid, born) in json.loads(self._pids.read_text()).items()
        }

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
