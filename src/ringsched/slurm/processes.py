"""Processes of a local cluster, which go on without us: found again and ended, and nobody else's."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_STEP_S = 0.02
_DAEMONS = ("munged", "slurmctld", "slurmd", "slurmscriptd", "slurmstepd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process; `born`, when it was started by the kernel's count, names it for ever with its id."""

    pid: int
    born: str
    program: str
    arguments: tuple[str, ...]
    in_job: bool

    def end(self, number: signal.Signals) -> None:
        """Send it a signal, if its id is still its own."""
        if self.runs():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def runs(self) -> bool:
        """Whether it is still there."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)  # our own may have ended without anyone asking
        return _born(self.pid) == self.born


def start(arguments: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
    """Start a process in a session of its own."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    os.posix_spawn(arguments[0], list(arguments), environment, file_actions=actions, setsid=True)


def of_cluster(config: Path) -> list[Process]:
    """Return the daemons and the jobs' processes of the cluster with this slurm.conf."""
    return [
        process
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and (process := _process(entry, config)) is not None
    ]


def _process(entry: Path, config: Path) -> Process | None:
    try:
        environment = (entry / "environ").read_bytes().split(b"\0")
        if f"SLURM_CONF={config}".encode() not in environment:
            return None
        program = (entry / "comm").read_text().strip()
        arguments = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:  # it has ended, or is someone else's
        return None
    # slurmstepd keeps a job's processes, and without slurmctld does not end by being asked.
    in_job = program == "slurmstepd" or any(word.startswith(b"SLURM_JOB_ID=") for word in environment)
    born = _born(int(entry.name))
    # A shell that someone set up for this cluster has the configuration too, but is in no job.
    if not born or not (in_job or program in _DAEMONS):
        return None
    return Process(pid=int(entry.name), born=born, program=program, arguments=tuple(arguments), in_job=in_job)


def _born(pid: int) -> str:
    """Return when a process was started; nothing if it has ended, also if nobody has asked how."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat[stat.rindex(")") + 2 :].split()
    return "" if fields[0] == "Z" else fields[19]


def wait_until(condition: Callable[[], bool], timeout_s: float) -> bool:
    """Wait for a condition; return whether it came true in time."""
    end_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end_s:
            return False
        time.sleep(_STEP_S)
    return True
