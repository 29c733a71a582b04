"""A real Slurm of many nodes with fake GPUs on this machine, for trying out and for tests."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from ringsched.errors import AdapterError, InputError
from ringsched.slurm.commands import SlurmCommands
from ringsched.slurm.local_config import free_ports, write_config
from ringsched.slurm.processes import Process, of_cluster, start, wait_until

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue")
_START_S = 30.0
_SOCKET_S = 5.0
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

    def start(self, gpus: Sequence[int], num_switches: int = 0) -> None:
        """Start a node for each number of GPUs, and wait until all of them are there."""
        if missing := missing_programs():
            names = ", ".join(missing)
            raise AdapterError(f"not installed here: {names}; on Debian: apt-get install slurm-wlm munge")
        if len(f"{self.folder}/munge/munge.socket") > _LONGEST_SOCKET:
            raise InputError("is too long a path for sockets in it", file=str(self.folder))
        try:
            self.folder.mkdir(mode=0o755)
        except FileExistsError:
            problem = "exists already; stop the cluster there, or choose another folder"
            raise InputError(problem, file=str(self.folder)) from None
        except OSError as error:
            raise InputError(f"cannot be made: {error.strerror}", file=str(self.folder)) from None
        try:
            self._start(gpus, num_switches)
        except BaseException:
            self._end()
            raise

    def _start(self, gpus: Sequence[int], num_switches: int) -> None:
        for name in ("etc", "run", "state", "log", "spool", "munge", "dev"):
            (self.folder / name).mkdir(mode=0o755)
        write_config(self.folder, gpus, num_switches, free_ports(len(gpus) + 1))
        key = os.open(self.folder / "munge" / "munge.key", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(key, "wb") as file:  # noqa: PTH123
            file.write(os.urandom(1024))
        self.start_daemon("munged")
        if not wait_until((self.folder / "munge" / "munge.socket").exists, _SOCKET_S):
            raise AdapterError(f"munged does not start: {self._last_words('munged')}")
        self.start_daemon("slurmctld")
        for at in range(len(gpus)):
            self.start_daemon(f"n{at + 1}")
        self.wait_for_nodes(len(gpus))

    def start_daemon(self, name: str) -> None:
        """Start `munged`, `slurmctld` or the slurmd of a node."""
        munge = self.folder / "munge"
        options = {
            "munged": [
                # By force: also in a folder that nobody else can look into, where only jobs of its owner run.
                "munged", "--foreground", "--force", f"--socket={munge}/munge.socket",
                f"--key-file={munge}/munge.key", f"--log-file={munge}/munged.log",
                f"--pid-file={munge}/munged.pid", f"--seed-file={munge}/munged.seed",
            ],
            "slurmctld": ["slurmctld", "-D", "-f", str(self.config)],
        }  # fmt: skip
        program, *rest = options.get(name, ["slurmd", "-D", "-N", name, "-f", str(self.config)])
        found = _program(program)
        assert found is not None  # checked by start
        environment = {"PATH": os.environ.get("PATH", os.defpath), "SLURM_CONF": str(self.config)}
        start([found, *rest], self._output_of(name), environment)

    def stop_daemon(self, name: str, number: signal.Signals = signal.SIGTERM) -> None:
        """End one of them, and wait until it has ended."""
        found = [
            process
            for process in of_cluster(self.config)
            if process.program == name or (process.program == "slurmd" and name in process.arguments)
        ]
        for each in (number, signal.SIGKILL):
            for process in found:
                process.end(each)
            if wait_until(lambda: not any(process.runs() for process in found), _END_S):
                return

    def wait_for_nodes(self, count: int) -> None:
        """Wait until so many nodes can run jobs."""
        commands = SlurmCommands(timeout_s=5.0, config=self.config)

        def are_up() -> bool:
            try:
                up = commands.ask("sinfo", "--noheader", "--Node", "--states=idle,mixed,alloc", "--format=%N")
            except AdapterError:
                return False
            return len(set(up.split())) == count

        if not wait_until(are_up, _START_S):
            raise AdapterError(f"the nodes do not come up: {self._last_words('slurmctld')}")

    def stop(self) -> None:
        """End the daemons and all jobs, and remove the folder; nothing is left of it."""
        if not self.config.exists():
            raise InputError("is not a cluster that was started here", file=str(self.folder))
        self._end()

    def _end(self) -> None:
        def left(number: signal.Signals, *, jobs_only: bool = False) -> list[Process]:
            found = [process for process in of_cluster(self.config) if process.in_job or not jobs_only]
            for process in found:
                process.end(number)
            return [process for process in found if process.runs()]

        self.stop_daemon("slurmctld")  # first who would start more
        wait_until(lambda: not left(signal.SIGKILL, jobs_only=True), _END_S)
        if not wait_until(lambda: not left(signal.SIGTERM), _END_S):
            wait_until(lambda: not left(signal.SIGKILL), _END_S)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _output_of(self, name: str) -> Path:
        return self.folder / "log" / f"{name}.out"

    def _last_words(self, name: str) -> str:
        try:
            lines = self._output_of(name).read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        return lines[-1] if lines else "it does not say why"

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
