"""What the controller would do, and nothing of it done."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ringsched.slurm.commands import Commands, InMemory
from ringsched.slurm.owner import Owner

NEW_JOB = "NEW"  # the id that a dry run gives to a job that would be new


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """Asks for real, but only prints what it would have told."""

    real: Commands
    show: Callable[[str], None]

    def ask(self, *arguments: str, owner: Owner | None = None) -> str:
        """Run a command that changes nothing."""
        return self.real.ask(*arguments, owner=owner)

    def tell(
        self,
        *arguments: str | InMemory,
        owner: Owner | None = None,
        text: str | None = None,  # noqa: ARG002
        environment: Mapping[str, str] | None = None,  # noqa: ARG002
    ) -> str:
        """Print a command as one would type it, and as whom."""
        who = "" if owner is None or owner.is_me else f"[as {owner.name}] "
        words = [
            shlex.quote(argument) if isinstance(argument, str) else f"{argument.option}<{argument.label}>"
            for argument in arguments
        ]
        self.show(who + " ".join(words))
        return NEW_JOB if arguments[0] == "sbatch" else ""
