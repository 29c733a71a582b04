"""Slurm's own commands: argument lists only, never a shell, and always a timeout."""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ringsched.errors import AdapterError

TIMEOUT_S = 30.0
# The variables passed to a command; others, such as SBATCH_ variables, would change its behaviour.
_KEPT = ("PATH", "SLURM_CONF", "LANG", "LC_ALL", "TZ")


@dataclass(frozen=True, slots=True)
class InMemory:
    """An argument that names an anonymous file in memory, which no other user can read."""

    option: str  # the prefix of the path, such as `--export-file=`
    content: bytes
    label: str  # what a dry run shows


class Commands(Protocol):
    """The interface to Slurm; apart from a clock, the only external input of the controller."""

    def ask(self, *arguments: str, owner: Owner | None = None) -> str:
        """Return the output of a read-only command, run as `owner` if given."""

    def tell(
        self,
        *arguments: str | InMemory,
        owner: Owner | None = None,
        text: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """Run a command that changes something, as `owner` if given.

        `text` is its standard input; `environment` is its environment instead of a few variables of ours.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmCommands:
    """Runs the commands.

    Parameters
    ----------
    timeout_s
        Time limit of a command; without slurmctld, commands wait for minutes.
    config
        The slurm.conf of the cluster, instead of SLURM_CONF.
    """

    timeout_s: float = TIMEOUT_S
    config: Path | None = None

    def ask(self, *arguments: str, owner: Owner | None = None) -> str:
        """Run a read-only command."""
        return self._run(arguments, owner)

    def tell(
        self,
        *arguments: str | InMemory,
        owner: Owner | None = None,
        text: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """Run a command that changes something."""
        with contextlib.ExitStack() as stack:
            handles: list[int] = []
            filled = [_filled(argument, stack, handles) for argument in arguments]
            return self._run(filled, owner, text, handles, environment)

    def _environment(self, given: Mapping[str, str] | None) -> dict[str, str]:
        kept = {key: os.environ[key] for key in _KEPT if key in os.environ}
        if self.config is not None:
            kept["SLURM_CONF"] = str(self.config)
        if given is None:
            return kept
        # Whatever a user's environment says, it is this cluster.
        elsewhere = ("SLURM_CONF", "SLURM_CLUSTERS")
        here = {key: value for key, value in given.items() if key not in elsewhere}
        return here | {key: value for key, value in kept.items() if key == "SLURM_CONF"}

    def _run(
        self,
        arguments: Sequence[str],
        owner: Owner | None = None,
        text: str | None = None,
        handles: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
    ) -> str:
        program = shutil.which(arguments[0])
        if program is None:
            raise AdapterError(f"command {arguments[0]!r} not found; install Slurm")
        try:
            done: subprocess.CompletedProcess[bytes] = subprocess.run(
                [program, *arguments[1:]],
                # As bytes: text would lose the carriage returns of a script.
                input=None if text is None else text.encode("utf-8", "surrogateescape"),
                stdin=subprocess.DEVNULL if text is None else None,
                capture_output=True,
                env=self._environment(environment),
                cwd="/",
                timeout=self.timeout_s,
                check=False,
                pass_fds=handles,
                start_new_session=True,  # Ctrl-C is handled here; a running command completes
                **({} if owner is None else owner.rights()),
            )
        except subprocess.TimeoutExpired:
            said = f"{shown(arguments)} did not respond within {self.timeout_s:g} s"
            raise AdapterError(
                f"{said}; check that slurmctld is running", refused=_is_as_other(owner)
            ) from None
        except (OSError, ValueError, subprocess.SubprocessError) as error:  # ValueError: a null byte
            raise AdapterError(f"{shown(arguments)} cannot be run: {error}", refused=True) from None
        said, complaint = (part.decode("utf-8", "surrogateescape") for part in (done.stdout, done.stderr))
        if done.returncode != 0:
            hint = "; is SLURM_CONF set?" if "configuration" in complaint else ""
            raise AdapterError(
                f"{shown(arguments)} failed: {_reason(complaint)}{hint}",
                refused=_is_as_other(owner) or _is_refusal(complaint),
            )
        # `scancel` always exits with 0, so its messages decide.
        if arguments[0] == "scancel" and "error:" in complaint:
            raise AdapterError(f"{shown(arguments)} failed: {_reason(complaint)}", refused=True)
        return said


def shown(arguments: Sequence[str]) -> str:
    """Return a command for a message, without long arguments.

    Examples
    --------
    >>> shown(["scontrol", "update", "jobid=3", "AdminComment={...}"])
    'scontrol update jobid=3'
    """
    return " ".join(shlex.quote(argument) for argument in arguments[:3])


def _reason(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if line.strip()]
    return lines[0].strip().encode("utf-8", "replace").decode() if lines else "no message"


def _is_refusal(stderr: str) -> bool:
    """Whether slurmctld itself refused, so that nothing was done; otherwise it may have been done."""
    unknown = ("Unable to contact", "timed out", "Timed out", "Zero Bytes", "connection refused")
    return not any(word.lower() in stderr.lower() for word in unknown)


def _is_as_other(owner: Owner | None) -> bool:
    """Whether a command runs as another user, so that its failure concerns only that user's job.

    Otherwise one user whose home directory or environment makes `sbatch` hang would block all users. A
    job that was submitted nevertheless is held, and the next cycle cancels it.
    """
    return owner is not None and not owner.is_me


def _filled(argument: str | InMemory, stack: contextlib.ExitStack, handles: list[int]) -> str:
    if isinstance(argument, str):
        return argument
    handle = os.memfd_create(argument.label)
    stack.callback(os.close, handle)
    handles.append(handle)
    with open(handle, "wb", closefd=False) as file:
        file.write(argument.content)
    return f"{argument.option}/proc/self/fd/{handle}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A user of this machine."""

    uid: int
    gid: int
    name: str
    home: Path
    umask: int = 0o022

    @property
    def is_me(self) -> bool:
        """Whether we act as this user already."""
        return self.uid == os.geteuid()

    @property
    def is_reachable(self) -> bool:
        """Whether we can act as this user."""
        return self.is_me or os.geteuid() == 0

    def rights(self) -> dict[str, Any]:
        """Return the subprocess options to act as this user."""
        if self.is_me:
            return {"umask": self.umask}
        if not self.is_reachable:
            raise AdapterError(f"only root can act as user {self.name!r}", refused=True)
        groups = os.getgrouplist(self.name, self.gid)
        return {"user": self.uid, "group": self.gid, "extra_groups": groups, "umask": self.umask}


def owner_of(uid: int, gid: int | None = None) -> Owner:
    """Return the user with this number, in the given group or the usual one.

    Examples
    --------
    >>> owner_of(os.geteuid()).is_me
    True
    """
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise AdapterError(f"user {uid} is not known on this machine", refused=True) from None
    return Owner(
        uid=uid, gid=entry.pw_gid if gid is None else gid, name=entry.pw_name, home=Path(entry.pw_dir)
    )


NEW_JOB = "NEW"  # the id that a dry run gives to a job that would be new


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """Runs read-only commands, and only prints commands that would change something."""

    real: Commands
    show: Callable[[str], None]

    def ask(self, *arguments: str, owner: Owner | None = None) -> str:
        """Run a read-only command."""
        return self.real.ask(*arguments, owner=owner)

    def tell(
        self,
        *arguments: str | InMemory,
        owner: Owner | None = None,
        text: str | None = None,  # noqa: ARG002
        environment: Mapping[str, str] | None = None,  # noqa: ARG002
    ) -> str:
        """Print a command as it would be typed, with its user."""
        who = "" if owner is None or owner.is_me else f"[as {owner.name}] "
        words = [
            shlex.quote(argument) if isinstance(argument, str) else f"{argument.option}<{argument.label}>"
            for argument in arguments
        ]
        self.show(who + " ".join(words))
        return NEW_JOB if arguments[0] == "sbatch" else ""
