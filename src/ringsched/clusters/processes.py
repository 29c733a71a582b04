"""Processes of a local cluster: started in the background, found again by a variable of their environment."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_STEP_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process; `born`, when it was started by the kernel's count, identifies it together with its id."""

    pid: int
    born: str
    program: str
    arguments: tuple[str, ...]
    environment: tuple[bytes, ...]

    def end(self, number: signal.Signals) -> None:
        """Send it a signal, if its id is still its own."""
        if self.runs():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def runs(self) -> bool:
        """Whether it is still there."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)  # our own child may have ended without a wait
        return _born(self.pid) == self.born


def start(arguments: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
    """Start a process in a new session."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    os.posix_spawn(arguments[0], list(arguments), environment, file_actions=actions, setsid=True)


def processes_with(variable: str) -> Iterator[Process]:
    """Yield the processes that have `NAME=VALUE` in their environment, as far as we may look."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environment = tuple((entry / "environ").read_bytes().split(b"\0"))
            if variable.encode() not in environment:
                continue
            program = (entry / "comm").read_text().strip()
            arguments = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:  # it has ended, or belongs to another user
            continue
        if born := _born(int(entry.name)):
            yield Process(
                pid=int(entry.name),
                born=born,
                program=program,
                arguments=tuple(arguments),
                environment=environment,
            )


def _born(pid: int) -> str:
    """Return when a process was started; nothing if it has ended, even as a zombie."""
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
