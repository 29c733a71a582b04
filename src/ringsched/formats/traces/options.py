"""How to read a trace: units, time zone, conditions on rows, and what single formats ask for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, timedelta, timezone, tzinfo
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ringsched.errors import InputError, UnknownName, did_you_mean
from ringsched.formats.traces.values import UNITS_S
from ringsched.model.checks import choice, integer, shown

TIMES = ("submit", "duration", "start", "end")
ROUND, DROP = "round", "drop"
FRACTIONAL = (ROUND, DROP)


class Units(NamedTuple):
    """Seconds per unit of the times that are written as numbers."""

    submit: float = 1.0
    duration: float = 1.0
    start: float = 1.0
    end: float = 1.0


SECONDS = Units()


class Condition(NamedTuple):
    """What the cell of a column must be, or must not be; `*` in the value matches any text."""

    column: str
    is_equal: bool
    value: str

    def fits(self, cell: str) -> bool:
        """Return whether a cell is, or is not, the value; capitals do not matter."""
        text, value = cell.strip().lower(), self.value.lower()
        return (fnmatchcase(text, value) if "*" in value else text == value) is self.is_equal

    def __str__(self) -> str:
        return f"{self.column}{'=' if self.is_equal else '!='}{self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How to read a trace; `notes` and `units_named` collect what a reader found or assumed."""

    columns: Mapping[str, str] = field(default_factory=dict)
    time_unit: Mapping[str, str] = field(default_factory=dict)  # by time; all that are given explicitly
    time_zone: tzinfo = UTC
    where: tuple[Condition, ...] = ()
    processors_per_gpu: int = 1
    fractional: str = ROUND
    worker_table: Path | None = None
    topology_table: Path | None = None
    notes: list[str] = field(default_factory=list)
    units_named: set[str] = field(default_factory=set)  # times whose columns have the unit in their name

    @classmethod
    def checked(cls, **given: Any) -> Self:
        """Return the options from values as a user writes them; None means absent."""
        readers = {
            "columns": _columns,
            "time_unit": _time_unit,
            "time_zone": _time_zone,
            "where": _where,
            "processors_per_gpu": lambda value: integer(value, "processors_per_gpu", minimum=1),
            "fractional": lambda value: choice(value, "fractional", FRACTIONAL),
            "worker_table": _file("worker_table"),
            "topology_table": _file("topology_table"),
        }
        for name in given:
            if name not in readers:
                raise TypeError(f"import_trace() got an unexpected keyword argument {name!r}")
        return cls(**{name: readers[name](value) for name, value in given.items() if value is not None})

    def units(self, usual: Units) -> Units:
        """Return the units: the given ones, else the usual ones of a format."""
        return usual._replace(**{name: UNITS_S[unit] for name, unit in self.time_unit.items()})

    def note(self, text: str) -> None:
        """Add something a reader assumed, once."""
        if text not in self.notes:
            self.notes.append(text)


MAP_KEYS = (*TIMES, "gpus", "name", "model", "placement", "state", "gradient_mb", "iteration_ms")


def pairs_of(text: str, option: str, example: str) -> dict[str, str]:
    """Return the pairs of "a=b,c=d"."""
    pairs: dict[str, str] = {}
    for part in text.split(","):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or not key or not value:
            raise InputError(f"must be written as {example}, not {shown(text)}", field=option)
        if key in pairs:
            raise InputError(f"names {key} twice", field=option)
        pairs[key] = value
    return pairs


def _columns(value: object) -> dict[str, str]:
    if isinstance(value, str):
        value = pairs_of(value, "map", "submit=COLUMN,duration=COLUMN,gpus=COLUMN")
    if not isinstance(value, Mapping):
        raise InputError(f"must map submit, duration, gpus, ... to columns, not {shown(value)}", field="map")
    for key in value:
        if key not in MAP_KEYS:
            raise UnknownName("field", str(key), MAP_KEYS, field="map")
    return {key: str(column).strip() for key, column in value.items()}


def _time_unit(value: object) -> dict[str, str]:
    """Return the unit of each time from "ms" or "submit=s,duration=min"."""
    if not isinstance(value, str):
        raise InputError(f"must be {', '.join(UNITS_S)}, not {shown(value)}", field="time_unit")
    example = "submit=s,duration=min"
    units = pairs_of(value, "time_unit", example) if "=" in value else dict.fromkeys(TIMES, value.strip())
    for name, unit in units.items():
        if name not in TIMES:
            raise UnknownName("time", name, TIMES, field="time_unit")
        if unit not in UNITS_S:
            raise UnknownName("unit", unit, UNITS_S, field="time_unit")
    return units


_OFFSET = re.compile(r"(?:UTC)?([+-])(\d{1,2}):?(\d{2})?")


def _time_zone(value: object) -> tzinfo:
    """Return the zone of times without an offset: a name, or an offset from UTC.

    Examples
    --------
    >>> _time_zone("+08:00"), _time_zone("UTC")
    (datetime.timezone(datetime.timedelta(seconds=28800)), datetime.timezone.utc)
    """
    text = str(value).strip()
    if text.upper() in ("UTC", "GMT", "Z"):
        return UTC
    if found := _OFFSET.fullmatch(text):
        offset = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
        if offset < timedelta(hours=24):
            return timezone(-offset if found[1] == "-" else offset)
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        problem = f"must be a time zone such as Europe/Berlin or +08:00, not {shown(value)}"
        raise InputError(problem, field="time_zone") from None


def _where(value: object) -> tuple[Condition, ...]:
    texts: Iterable[Any] = (value,) if isinstance(value, str) else value  # type: ignore[assignment]
    return tuple(map(_condition, texts))


def _condition(text: object) -> Condition:
    column, sign, value = str(text).partition("=")
    is_equal = not column.endswith("!")
    column = column.removesuffix("!").strip()
    if not sign or not column:
        problem = f"must be written as COLUMN=VALUE or COLUMN!=VALUE, not {shown(text)}"
        raise InputError(problem, field="where")
    return Condition(column, is_equal, value.strip())


def _file(option: str) -> Any:
    def read(value: object) -> Path:
        if not isinstance(value, str | os.PathLike):
            raise InputError(f"must be a file, not {shown(value)}", field=option)
        return Path(value)

    return read


class RowFilter:
    """The conditions on the rows of one table.

    Several values of a column are alternatives; all other conditions must hold.
    """

    def __init__(self, where: Sequence[Condition], columns: Mapping[str, int]) -> None:
        self._wanted: dict[int, list[Condition]] = {}
        self._unwanted: list[tuple[int, Condition]] = []
        for condition in where:
            at = columns.get(condition.column.lower())
            if at is None:
                known = sorted(columns, key=columns.__getitem__)
                hint = did_you_mean(condition.column, known) or f"; choose from {', '.join(known)}"
                problem = f"names the column {condition.column!r}, which the file does not have{hint}"
                raise InputError(problem, field="where")
            if condition.is_equal:
                self._wanted.setdefault(at, []).append(condition)
            else:
                self._unwanted.append((at, condition))

    def refused(self, cells: Sequence[str]) -> str | None:
        """Return the condition that a row does not meet, or None."""
        for at, conditions in self._wanted.items():
            if not any(condition.fits(cells[at]) for condition in conditions):
                return " or ".join(map(str, conditions))
        for at, condition in self._unwanted:
            if not condition.fits(cells[at]):
                return str(condition)
        return None
