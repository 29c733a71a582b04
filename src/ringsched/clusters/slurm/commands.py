"""Slurm's own commands: argument lists only, never a shell, and always a timeout."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ringsched.errors import AdapterError

TIMEOUT_S = 30.0
# The variables passed to a command; others, such as SBATCH_ variables, would change its behaviour.
_KEPT = ("PATH", "SLURM_CONF", "LANG", "LC_ALL", "TZ")
_WHOLE_LISTS = {"SLURM_BITSTR_LEN": "0"}  # without it, Slurm cuts off the tasks of an array


class Commands(Protocol):
    """The interface to Slurm; apart from a clock, the only external input of the controller."""

    def ask(self, *arguments: str) -> str:
        """Return the output of a read-only command."""

    def tell(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        """Run a command that changes something; `environment` replaces the few variables of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmCommands:
    """Runs the commands.

    Parameters
    ----------
    timeout_s
        Time limit of a command; without slurmctld, commands wait for minutes.
    config
        The slurm.conf of the cluster, instead of SLURM_CONF.
    left_s
        How long commands may still change something. It is asked in the new process, at the last moment:
        this process may have been paused since it was asked here.
    """

    timeout_s: float = TIMEOUT_S
    config: Path | None = None
    left_s: Callable[[], float] | None = None

    def ask(self, *arguments: str) -> str:
        """Run a read-only command."""
        return self._run(arguments, self._environment(), None)

    def tell(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        """Run a command that changes something."""
        return self._run(arguments, self._environment() if environment is None else environment, self.left_s)

    def _environment(self) -> dict[str, str]:
        kept = {key: os.environ[key] for key in _KEPT if key in os.environ} | _WHOLE_LISTS
        return kept if self.config is None else kept | {"SLURM_CONF": str(self.config)}

    def _run(
        self, arguments: Sequence[str], environment: Mapping[str, str], left_s: Callable[[], float] | None
    ) -> str:
        program = shutil.which(arguments[0])
        if program is None:
            raise AdapterError(f"command {arguments[0]!r} not found; install Slurm")

        def check() -> None:
            if left_s is not None and left_s() <= 0:
                raise TimeoutError

        try:
            done = subprocess.run(
                [program, *arguments[1:]],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=environment,
                cwd="/",
                timeout=self.timeout_s if left_s is None else max(0.0, min(self.timeout_s, left_s())),
                check=False,
                start_new_session=True,  # Ctrl-C is handled here; a running command completes
                preexec_fn=None if left_s is None else check,
            )
        except subprocess.TimeoutExpired:
            said = f"{shown(arguments)} did not respond within {self.timeout_s:g} s"
            raise AdapterError(f"{said}; check that slurmctld is running") from None
        except subprocess.SubprocessError:
            raise AdapterError(f"{shown(arguments)} was not run: it is too late") from None
        except (OSError, ValueError) as error:  # ValueError: a null byte
            raise AdapterError(f"{shown(arguments)} cannot be run: {error}", refused=True) from None
        said, complaint = (part.decode("utf-8", "surrogateescape") for part in (done.stdout, done.stderr))
        if done.returncode != 0:
            # `scontrol show` may write its reason to standard output.
            reason = _reason(complaint or said)
            hint = "; is SLURM_CONF set?" if "configuration" in complaint else ""
            raise AdapterError(
                f"{shown(arguments)} failed: {reason}{hint}", refused=_is_refusal(complaint + said)
            )
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
    unknown = ("Unable to contact", "timed out", "Zero Bytes", "connection refused", "Socket")
    return not any(word.lower() in stderr.lower() for word in unknown)


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """Runs read-only commands, and only prints commands that would change something."""

    real: Commands
    show: Callable[[str], None]

    def ask(self, *arguments: str) -> str:
        """Run a read-only command."""
        return self.real.ask(*arguments)

    def tell(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:  # noqa: ARG002
        """Print a command as it would be typed."""
        self.show(" ".join(shlex.quote(argument) for argument in arguments))
        return ""
