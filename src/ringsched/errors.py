"""Every error ringsched raises on purpose; each reads as one clear sentence."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class RingschedError(Exception):
    """Base of all errors of this package."""

    exit_code = 2


class InputError(RingschedError):
    """Something the user wrote is wrong; says in which file, at which place, in which field.

    Examples
    --------
    >>> print(InputError("must be at least 1, not 0", file="queue.toml", place="jobs[2]", field="gpus"))
    queue.toml: jobs[2]: gpus must be at least 1, not 0
    """

    def __init__(
        self, problem: str, *, field: str | None = None, place: str | None = None, file: str | None = None
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.field = field
        self.place = place
        self.file = file

    def located(self, *, place: str | None = None, file: str | None = None) -> InputError:
        """Return the same error with its place and file filled in by someone who knows them better."""
        return InputError(self.problem, field=self.field, place=place or self.place, file=file or self.file)

    def __str__(self) -> str:
        sentence = f"{self.field} {self.problem}" if self.field else self.problem
        return ": ".join(part for part in (self.file, self.place, sentence) if part)


class UnknownName(InputError):
    """A name that is none of the known ones; lists them and guesses what was meant."""

    def __init__(self, what: str, name: str, choices: Iterable[str], *, field: str | None = None) -> None:
        self.choices = tuple(choices)
        known = f"; choose from {', '.join(self.choices)}" if self.choices else ""
        super().__init__(f"unknown {what} {name!r}{did_you_mean(name, self.choices)}{known}", field=field)


class PolicyError(RingschedError):
    """A policy answered with a placement that is not possible."""


class Infeasible(RingschedError):
    """No plan within the limits that were set; carries the lower bound in seconds."""

    exit_code = 1

    def __init__(self, message: str, *, lower_bound_s: float) -> None:
        super().__init__(message)
        self.lower_bound_s = lower_bound_s


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return ', did you mean ...?' for a near miss, else nothing.

    Examples
    --------
    >>> did_you_mean("gpu", ["gpus", "iterations"])
    " (did you mean 'gpus'?)"
    """
    near = get_close_matches(name, list(choices), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
