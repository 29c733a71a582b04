"""Values of options as people write them: durations, gaps, and names that shells complete."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

from ringsched.errors import InputError, UnknownName

_UNITS_S = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(ms|s|min|h|d)\s*")

_MINUTES = re.compile(r"m(?![a-z])")  # as some write them


class Duration(click.ParamType):  # type: ignore[type-arg]
    """A time such as 90, 90s, 5min, 2h or 1h30min, as seconds."""

    name = "duration"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ARG002
        """Return the seconds."""
        if isinstance(value, int | float):
            return float(value)
        text = value.strip()
        seconds = _seconds(text)
        if seconds is not None:
            return seconds
        try:
            return float(text)
        except ValueError:
            minutes = _MINUTES.sub("min", text)
            guess = "" if _seconds(minutes) is None else f" (did you mean {minutes}?)"
            raise InputError(
                f"must be a duration such as 90 (seconds), 90s, 5min or 1h30min, not {value!r}{guess}",
                field=_named(param),
            ) from None


def _seconds(text: str) -> float | None:
    """Return the sum of the parts with units; None if there is anything else."""
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text):
        return None
    return sum(float(number) * _UNITS_S[unit] for number, unit in parts)


class Gap(click.ParamType):  # type: ignore[type-arg]
    """A gap such as 1% or 0.01, as the ratio of a value and its bound."""

    name = "gap"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ARG002
        """Return the ratio."""
        text = str(value).strip()
        try:
            above = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            above = -1.0
        if not above >= 0 or (above >= 1 and not text.endswith("%")):
            raise InputError(
                f"must be a percentage above the bound such as 1%, or 0.01, not {value!r}",
                field=_named(param),
            )
        return 1 + above


class Name(click.ParamType):  # type: ignore[type-arg]
    """A name that shells complete; `several` allows a list with commas, `check` refuses unknown names.

    Without `check` the function that is called with the name refuses it, as it does from Python.
    """

    def __init__(
        self,
        what: str,
        choices: Callable[[click.Context], Iterable[str]] | Iterable[str],
        *,
        several: bool = False,
        check: bool = False,
    ) -> None:
        self.name = what
        self._choices, self._several, self._check = choices, several, check

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name as it is."""
        if self._check and ctx is not None and value not in (known := list(self._known(ctx))):
            raise UnknownName(self.name, str(value), known, field=_named(param))
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin like that."""
        del param
        before, comma, begun = incomplete.rpartition(",") if self._several else ("", "", incomplete)
        return [
            CompletionItem(f"{before}{comma}{name}") for name in self._known(ctx) if name.startswith(begun)
        ]

    def _known(self, ctx: click.Context) -> Iterable[str]:
        return self._choices(ctx) if callable(self._choices) else self._choices


class Assignment(click.ParamType):  # type: ignore[type-arg]
    """A field of a scenario and its value, KEY=VALUE; shells complete the key."""

    name = "assignment"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the keys that begin like that."""
        from ringsched.formats.overrides import keys

        del ctx, param
        return [CompletionItem(f"{key}=") for key in keys() if key.startswith(incomplete)]


class Speeds(click.ParamType):  # type: ignore[type-arg]
    """Speeds by level such as 25,100,400; 4x100 is four parallel links."""

    name = "speeds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        """Return the speeds in Gbit/s."""
        if not isinstance(value, str):
            return value
        try:
            return tuple(_speed(part) for part in value.split(","))
        except ValueError:
            raise InputError(
                f"must be speeds in Gbit/s from the servers up, such as 25,100 or 4x100,400, not {value!r}",
                field=_named(param),
            ) from None


def _speed(text: str) -> float:
    count, times, speed = text.rpartition("x")
    return (int(count) if times else 1) * float(speed)


class Numbers(click.ParamType):  # type: ignore[type-arg]
    """Numbers by level such as 8:4:2; `kind` is int or float."""

    name = "numbers"

    def __init__(self, kind: type[int] | type[float], example: str) -> None:
        self._kind, self._example = kind, example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        """Return the numbers."""
        if not isinstance(value, str):
            return value
        try:
            return tuple(self._kind(part) for part in value.split(":"))
        except ValueError:
            raise InputError(
                f"must be numbers from the servers up, such as {self._example}, not {value!r}",
                field=_named(param),
            ) from None


def _named(param: click.Parameter | None) -> str | None:
    if param is None:
        return None
    return param.opts[0] if isinstance(param, click.Option) else param.name and param.name.upper()


DURATION = Duration()
GAP = Gap()
SPEEDS = Speeds()
RATIOS = Numbers(float, "1:2:4")
SIZES = Numbers(int, "8:4:2")
