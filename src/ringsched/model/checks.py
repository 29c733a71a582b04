"""Type and range checks of single fields, shared by all model objects."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from datetime import date, time
from numbers import Integral, Real
from typing import Any, Self, TypeVar

from ringsched.errors import InputError, did_you_mean

# Largest integer that float64 and int64 both hold exactly.
MAX_INTEGER = 2**53
# A bound on memory, not on the model: a larger cluster is taken for a typing error.
MAX_GPUS = 1_000_000

_Object = TypeVar("_Object")


def integer(value: object, field: str, *, minimum: int | None = None, maximum: int = MAX_INTEGER) -> int:
    """Return `value` as an int in [minimum, maximum]; a bool or 2.5 is none."""
    result: int | None = None
    if type(value) is int:
        result = value
    elif not isinstance(value, bool) and isinstance(value, Integral):
        result = int(value)
    if result is None or result < (-maximum if minimum is None else minimum):
        wanted = "must be an integer" if minimum is None else f"must be an integer >= {minimum}"
        raise InputError(f"{wanted}, not {shown(value)}", field=field)
    if result > maximum:
        raise InputError(f"must be at most {maximum}, not {shown(value)}", field=field)
    return result


def integers(values: Sequence[object], field: str) -> tuple[int, ...]:
    """Return each of `values` as an int; a large plan has a hundred thousand of them."""
    if all(type(value) is int and -MAX_INTEGER <= value <= MAX_INTEGER for value in values):
        return tuple(values)  # type: ignore[arg-type]
    return tuple(integer(value, f"{field}[{at}]") for at, value in enumerate(values))


def number(
    value: object,
    field: str,
    *,
    minimum: float | None = None,
    above: float | None = None,
    maximum: float | None = None,
) -> float:
    """Return `value` as a finite float within the limits; a bool is none."""
    result = math.nan
    if type(value) is float:  # the usual case first: a large scenario has a million of them
        result = value
    elif not isinstance(value, bool) and isinstance(value, Real):
        try:
            result = float(value)
        except OverflowError:
            result = math.inf
    is_within = (
        math.isfinite(result)
        and (minimum is None or result >= minimum)
        and (above is None or result > above)
        and (maximum is None or result <= maximum)
    )
    if not is_within:
        signs = ((">=", minimum), (">", above), ("<=", maximum))
        limits = " and ".join(f"{sign} {limit:g}" for sign, limit in signs if limit is not None)
        wanted = f"must be a number {limits}".rstrip()
        raise InputError(f"{wanted}, not {shown(value)}", field=field)
    return result + 0.0  # -0.0 becomes 0.0, so that equal scenarios have equal bytes


def text(value: object, field: str) -> str:
    """Return `value` as a name: not blank, printable, so that tables and files hold it as it is."""
    if not isinstance(value, str):
        raise InputError(f"must be a string, not {shown(value)}", field=field)
    if not value.strip() or not value.isprintable():
        raise InputError(f"must be printable and not blank, but is {shown(value)}", field=field)
    return value


def choice(value: object, field: str, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`."""
    choices = tuple(choices)
    if isinstance(value, str) and value in choices:
        return value
    wanted = " or ".join(repr(name) for name in choices)
    if len(choices) > 2:
        wanted = f"one of {', '.join(choices)}"
    guess = did_you_mean(value, choices) if isinstance(value, str) else ""
    raise InputError(f"must be {wanted}, not {shown(value)}{guess}", field=field)


def unique(named: Iterable[tuple[str, str]], what: str) -> None:
    """Raise if a name occurs twice; `named` yields pairs of a place and a name."""
    first: dict[str, str] = {}
    for place, name in named:
        if name in first:
            raise InputError(
                f"duplicates the {what} name {name!r} of {first[name]}", field="name", place=place
            )
        first[name] = place


def sequence(value: object, field: str, of: str) -> Sequence[object]:
    """Return `value` if it is a list or tuple; `of` names what it should hold."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise InputError(f"must be a list of {of}, not {shown(value)}", field=field)
    return value


def instance(value: object, field: str, kind: type[_Object]) -> _Object:
    """Return `value` if it is a `kind`."""
    if not isinstance(value, kind):
        raise InputError(f"must be a {kind.__name__}, not {shown(value)}", field=field)
    return value


def settle(target: object, **values: object) -> None:
    """Set checked values on a frozen dataclass, from within its `__post_init__`."""
    for name, value in values.items():
        object.__setattr__(target, name, value)


class Replaceable:
    """Gives a frozen dataclass `replace()`: a copy with some fields changed, which is checked again."""

    __slots__ = ()

    def replace(self, **changes: Any) -> Self:
        """Return a copy with `changes` applied."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


def shown(value: object) -> str:
    """Return `value` for an error message as a file writes it, cut to a length that leaves a sentence.

    Examples
    --------
    >>> shown(True), shown({"a": 1}), shown("x" * 1000)[-10:]
    ('true', 'a table', "xxxxxx...'")
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, date | time):
        return f"the date or time {value}"
    if isinstance(value, int) and abs(value) > 10**30:
        return "a very large integer"
    if isinstance(value, str) and len(value) > 60:
        return repr(f"{value[:57]}...")
    return repr(value)
