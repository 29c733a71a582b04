"""Any table with one job a row: the user says which column is what."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path
from statistics import median

from ringsched.errors import InputError, did_you_mean
from ringsched.formats.host_lists import expand
from ringsched.formats.traces.options import DROP, TIMES, UNITS_S, ReadOptions, Units
from ringsched.formats.traces.table import (
    NO_GPU,
    NO_SUBMIT,
    STILL_RUNNING,
    TABLE_OPTIONS,
    BadRow,
    Cells,
    Figures,
    Layout,
    Lines,
    NotThisFormat,
    Recorded,
    TraceRow,
    checked_duration_s,
    instant,
    malformed,
    open_table,
    read_rows,
)
from ringsched.model.checks import shown

NEEDED = "submit, gpus, and duration or start and end"
ROUNDED = "asked for part of a GPU: rounded up"
PART_OF_A_GPU = "part of a GPU"

_SUFFIXES = {
    "us": ("us", "usec", "usecs", "microseconds"),
    "ms": ("ms", "msec", "msecs", "millis", "milliseconds"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "min": ("min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
}
_UNIT_OF = {suffix: unit for unit, suffixes in _SUFFIXES.items() for suffix in suffixes}
_SUFFIX = re.compile(r"[^a-z0-9]([a-z]+)[^a-z0-9]*$")


def unit_in_name(column: str) -> str | None:
    """Return the unit that the name of a column ends with.

    Examples
    --------
    >>> unit_in_name("run_ms"), unit_in_name("Runtime (min)"), unit_in_name("duration"), unit_in_name("gpus")
    ('ms', 'min', None, None)
    """
    found = _SUFFIX.search(column.lower())
    return _UNIT_OF.get(found[1]) if found else None


_ELAPSED = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d{1,2}):(\d{2}(?:\.\d+)?)")


def elapsed_s(text: str) -> float | None:
    """Return `[D-][HH:]MM:SS`, as Slurm writes it, in seconds; None if it is something else.

    Examples
    --------
    >>> elapsed_s("1-02:03:04"), elapsed_s("05:06"), elapsed_s("306")
    (93784.0, 306.0, None)
    """
    found = _ELAPSED.fullmatch(text)
    if found is None:
        return None
    days, hours, minutes = (int(part or 0) for part in found.groups()[:3])
    return ((days * 24 + hours) * 60 + minutes) * 60 + float(found[4])


def placed_gpus(text: str, gpus: int, column: str) -> tuple[dict[str, int], bool]:
    """Return the GPUs of a job on each node of `n[1-2]`, `n1;n2` or `n1:4 n2:2`, and whether they are split.

    Without numbers they are split evenly; the first nodes have one more where that is not possible.

    Examples
    --------
    >>> placed_gpus("n[1-2]", 8, "nodes"), placed_gpus("a:4;b:2", 6, "nodes")
    (({'n1': 4, 'n2': 4}, True), ({'a': 4, 'b': 2}, False))
    """
    try:
        hosts = expand(re.sub(r"[\s;+|]+", ",", text.strip().strip(",;")))
    except InputError as error:
        raise malformed(column, error.problem) from None
    counted = [host.partition(":") for host in hosts]
    if counted and all(colon and number.isdecimal() for _, colon, number in counted):
        held = {host: int(number) for host, _, number in counted}
        if len(held) < len(hosts) or sum(held.values()) != gpus or 0 in held.values():
            raise malformed(column, f"must name {gpus} GPUs, each node once, not {shown(text)}")
        return held, False
    return split_evenly(list(dict.fromkeys(hosts)), gpus, column), len(hosts) > 1


def split_evenly(hosts: list[str], gpus: int, column: str) -> dict[str, int]:
    """Return the GPUs of a job on each of its hosts, where only their sum is recorded."""
    if not 0 < len(hosts) <= gpus:
        raise malformed(column, f"names {len(hosts)} nodes for {gpus} GPUs")
    if not all(host.isprintable() and host.strip() for host in hosts):
        raise malformed(column, "names a node that cannot be printed")
    each, more = divmod(gpus, len(hosts))
    return {host: each + (at < more) for at, host in enumerate(hosts)}


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the rows of one table by its map."""

    columns: Mapping[str, str]  # field -> column, in lower case
    units: Units
    drops_parts: bool
    ratios: list[float] = dataclass_field(default_factory=list)  # of durations and of ends minus starts

    def __call__(self, row: Cells) -> TraceRow:
        gpus, note = self._gpus(row)
        submit = self._instant(row, "submit", self.units.submit)
        start = self._instant(row, "start", self.units.start) if "start" in self.columns else None
        end = self._instant(row, "end", self.units.end) if "end" in self.columns else None
        duration_s = self._duration_s(row, start, end)
        if submit is None:
            raise BadRow(NO_SUBMIT)
        return TraceRow(
            line=row.line,
            submit=submit,
            duration_s=duration_s,
            gpus=gpus,
            name=row.name(self.columns["name"]) if "name" in self.columns else f"job-{row.line}",
            model=row.text(self.columns["model"]) if "model" in self.columns else None,
            recorded=self._recorded(row, start, duration_s, gpus) if "placement" in self.columns else None,
            figures=self._figures(row) if "iteration_ms" in self.columns else None,
            note=note,
            start=start,
        )

    def _gpus(self, row: Cells) -> tuple[int, str | None]:
        column = self.columns["gpus"]
        number = row.number(column)
        if number is None or number == 0:
            raise BadRow(NO_GPU)
        if number < 0:
            raise malformed(column, f"must be a number >= 0, not {shown(row.text(column))}")
        whole = math.ceil(number)
        if whole == number:
            return whole, None
        if self.drops_parts:
            raise BadRow(PART_OF_A_GPU)
        return whole, ROUNDED

    def _instant(self, row: Cells, field: str, unit_s: float) -> float | None:
        """Return a time that is a number, or a date and time."""
        column = self.columns[field]
        cell = row.text(column)
        if cell is None:
            return None
        if ":" in cell or not _is_number(cell):  # a look is faster than a failed try
            return instant(cell, column, row.layout.zone)
        number = row.number(column)
        return None if number is None else number * unit_s

    def _duration_s(self, row: Cells, start: float | None, end: float | None) -> float:
        column = self.columns.get("duration")
        if column is not None:
            cell = row.text(column)
            if cell is not None:
                as_clock = elapsed_s(cell) if ":" in cell else None
                if as_clock is not None:
                    return checked_duration_s(as_clock, column)
                number = row.number(column)
                duration_s = None if number is None else number * self.units.duration
                if duration_s and start is not None and end is not None and end > start:
                    self.ratios.append(duration_s / (end - start))
                return checked_duration_s(duration_s, column)
        if start is None or end is None:
            raise BadRow(STILL_RUNNING if column is None else "no duration")
        return checked_duration_s(end - start, f"{self.columns['end']} - {self.columns['start']}")

    def _recorded(self, row: Cells, start: float | None, duration_s: float, gpus: int) -> Recorded | None:
        cell = row.text(self.columns["placement"])
        if cell is None or start is None:
            return None
        held, is_split = placed_gpus(cell, gpus, self.columns["placement"])
        return Recorded(start, start + duration_s, held, is_split)

    def _figures(self, row: Cells) -> Figures | None:
        iteration_ms = row.number(self.columns["iteration_ms"])
        if iteration_ms is None or iteration_ms <= 0:
            return None
        gradient_mb = row.number(self.columns["gradient_mb"]) if "gradient_mb" in self.columns else None
        return Figures(iteration_ms / 1000, gradient_mb=gradient_mb)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class GenericTable:
    """A table whose columns the user names with a map."""

    takes = TABLE_OPTIONS | {"columns", "fractional"}
    records_places = True

    def rows(self, path: Path, options: ReadOptions) -> Iterator[TraceRow | BadRow]:
        """Yield every row that is not blank: a job, or why it is none."""
        with open_table(path) as lines:
            columns = _mapped(lines, path, options)
            units = _units(columns, options)
            known = lines.columns
            # Conditions may name a field of the map as well as a column.
            aliases = {field: known[column] for field, column in columns.items() if field not in known}
            layout = Layout(known | aliases, units, options.time_zone)
            reader = _Reader(columns, units, options.fractional == DROP)
            yield from read_rows(lines, layout, options, reader)
            _check_unit(reader, path)


ENOUGH = 3  # rows, before a ratio means something


def _check_unit(reader: _Reader, path: Path) -> None:
    """Raise if durations are those of another unit by what is recorded of starts and ends."""
    if len(reader.ratios) < ENOUGH:
        return
    factor = 1 / median(reader.ratios)
    for unit, unit_s in UNITS_S.items():
        is_used = math.isclose(unit_s, reader.units.duration)
        if not is_used and math.isclose(unit_s, reader.units.duration * factor, rel_tol=0.05):
            column = reader.columns["duration"]
            problem = f"column {column!r} is in {unit}, by the starts and ends of jobs; "
            raise InputError(f"{problem}add --time-unit duration={unit}", file=str(path))


def _mapped(lines: Lines, path: Path, options: ReadOptions) -> dict[str, str]:
    """Return the map in lower case, or raise with what it lacks."""
    place = f"line {lines.header_line}"
    given = options.columns
    if not given:
        problem = f"has columns without a known meaning: name them with --map, at least {NEEDED}"
        raise NotThisFormat(problem, place=place, file=str(path))
    for field, column in given.items():
        if column.lower() not in lines.columns:
            hint = did_you_mean(column, lines.header) or f"; choose from {_listed(lines.header)}"
            problem = f"has no column {column!r}, which --map names for {field}{hint}"
            raise InputError(problem, place=place, file=str(path))
    has_duration = "duration" in given or {"start", "end"} <= given.keys()
    lacking = [field for field in ("submit", "gpus") if field not in given]
    lacking += [] if has_duration else ["duration (or start and end)"]
    if lacking:
        raise NotThisFormat(
            f"needs {' and '.join(lacking)} in --map: the needed fields are {NEEDED}",
            place=place,
            file=str(path),
        )
    if "gradient_mb" in given and "iteration_ms" not in given:
        raise InputError("needs iteration_ms beside gradient_mb", field="map")
    return {field: column.lower() for field, column in given.items()}


MOST_LISTED = 20


def _listed(header: list[str]) -> str:
    more = len(header) - MOST_LISTED
    return ", ".join(header[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def _units(columns: Mapping[str, str], options: ReadOptions) -> Units:
    """Return the units: the given ones, else those in the names of columns, else seconds."""
    named = {
        field: unit
        for field in TIMES
        if field in columns
        and field not in options.time_unit
        and (unit := unit_in_name(columns[field])) not in (None, "s")
    }
    options.units_named.update(named)
    for field, unit in named.items():
        options.note(f"{field} is in {unit}, by the name of its column {columns[field]!r}")
    usual = Units()._replace(**{field: UNITS_S[str(unit)] for field, unit in named.items()})
    return options.units(usual)


CSV = GenericTable()
