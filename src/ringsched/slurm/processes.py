"""Processes that go on without us, found again and ended, and nobody else's."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_STEP_S = 0.02


def start(arguments: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
    """Start a process in a session of its own; return its id."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawn(arguments[0], list(arguments), environment, file_actions=actions, setsid=True)


def birth(pid: int) -> str:
    """Return when a process was started, by the kernel's count; with its id this names it for ever."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # ours may have ended without anyone asking
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat[stat.rindex(")") + 2 :].split()
    return "" if fields[0] == "Z" else fields[19]


def end(pid: int, born: str, number: signal.Signals) -> None:
    """Send a signal to a process, if it is still the one that was meant."""
    if born and birth(pid) == born:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def wait_until(condition: Callable[[], bool], timeout_s: float) -> bool:
    """Wait for a condition; return whether it came true in time."""
    end_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end_s:
            return False
        time.sleep(_STEP_S)
    return True


def of_jobs(config: Path) -> list[tuple[int, str]]:
    """Return the processes of all jobs of the cluster with this slurm.conf, and their keepers."""
    mark = f"SLURM_CONF={config}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
            keeper = (entry / "comm").read_text().startswith("slurmstepd")
        except OSError:
            continue
        of_a_job = any(variable.startswith(b"SLURM_JOB_ID=") for variable in environment)
        # A shell that someone set up for this cluster has the configuration, but is in no job.
        if mark in environment and (keeper or of_a_job):
            found.append((int(entry.name), birth(int(entry.name))))
    return found
