"""Every error ringsched raises on purpose; each reads as one clear sentence."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from difflib import get_close_matches
from importlib import import_module
from typing import Any


class RingschedError(Exception):
    """Base of all errors of this package."""

    exit_code = 2

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without calling a constructor, whose arguments differ from class to class."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(
    kind: type[RingschedError], arguments: tuple[Any, ...], state: dict[str, Any]
) -> RingschedError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(state)
    return error


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
        """Return the same error with its place and file, which the caller knows."""
        error = copy(self)
        error.place, error.file = place or self.place, file or self.file
        return error

    def __str__(self) -> str:
        sentence = f"{self.field} {self.problem}" if self.field else self.problem
        return ": ".join(part for part in (self.file, self.place, sentence) if part)


class UnknownName(InputError):
    """A name that is none of the known ones; lists them and guesses what was meant, unless `meant` is given.

    Examples
    --------
    >>> print(UnknownName("switch", "row-9", ["row-1", "lab"], field="switch"))
    switch names the unknown switch 'row-9' (did you mean 'row-1'?); choose from row-1, lab
    """

    MOST_CHOICES = 12  # listed; a cluster may have thousands of servers

    def __init__(
        self,
        what: str,
        name: str,
        choices: Iterable[str],
        *,
        field: str | None = None,
        place: str | None = None,
        meant: str | None = None,
    ) -> None:
        self.choices = tuple(choices)
        unknown = f"{'names the ' if field else ''}unknown {what} {name!r}"
        guess = did_you_mean(name, self.choices) if meant is None else f" (did you mean {meant!r}?)"
        super().__init__(f"{unknown}{guess}{self._listed()}", field=field, place=place)

    def _listed(self) -> str:
        if not self.choices:
            return ""
        more = len(self.choices) - self.MOST_CHOICES
        listed = ", ".join(self.choices[: self.MOST_CHOICES])
        return f"; choose from {listed}" + (f" and {more} more" if more > 0 else "")


class PolicyError(RingschedError):
    """A custom policy returned an impossible placement, or raised an exception, which is the cause then."""


class AdapterError(RingschedError):
    """A system that ringsched drives, such as Slurm, refused, failed or did not answer.

    `refused` is False if the outcome is unknown: after a timeout, the system may have done it or not.
    """

    exit_code = 1

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


class Infeasible(RingschedError):
    """No plan within the limits that were set; carries the lower bound in seconds."""

    exit_code = 1
    status = "infeasible"

    def __init__(self, message: str, *, lower_bound_s: float) -> None:
        super().__init__(message)
        self.lower_bound_s = lower_bound_s


class TooLarge(Infeasible):
    """No proof within the limits that were set; carries the best value known, if any, in seconds."""

    status = "too-large"

    def __init__(self, message: str, *, lower_bound_s: float, best_s: float | None = None) -> None:
        super().__init__(message, lower_bound_s=lower_bound_s)
        self.best_s = best_s


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return ', did you mean ...?' for a near miss, else nothing.

    Examples
    --------
    >>> did_you_mean("gpu", ["gpus", "iterations"])
    " (did you mean 'gpus'?)"
    """
    by_lower = {choice.lower(): choice for choice in choices}
    near = get_close_matches(name.lower(), list(by_lower), n=1)
    return f" (did you mean {by_lower[near[0]]!r}?)" if near else ""


def check_installed(module: str, extra: str, *, field: str | None = None, file: str | None = None) -> None:
    """Raise if an optional package cannot be imported; the error names the command that installs it.

    Examples
    --------
    >>> check_installed("no_package", "frames", field="to_frame()")
    Traceback (most recent call last):
    ringsched.errors.InputError: to_frame() needs no_package; in a clone of ringsched: pip install '.[frames]'
    """
    try:
        import_module(module)
    except ImportError:
        raise InputError(needs(module.partition(".")[0], extra), field=field, file=file) from None


def needs(what: str, extra: str) -> str:
    """Return the end of a sentence about a missing extra, with the command that installs it."""
    return f"needs {what}; in a clone of ringsched: pip install '.[{extra}]'"
