"""Any table with one job a row: the user says which column is what."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path
from statistics import median

from ringsched.errors import InputError, did_you_mean
from ringsched.formats.traces.options import DROP, TIMES, ReadOptions, Units
from ringsched.formats.traces.places import placed_gpus
from ringsched.formats.traces.rows import (
    NO_GPU,
    NO_SUBMIT,
    STILL_RUNNING,
    BadRow,
    Figures,
    NotThisFormat,
    Recorded,
    TraceRow,
    checked_duration_s,
    malformed,
)
from ringsched.formats.traces.slurm import gpus_of_tres
from ringsched.formats.traces.table import TABLE_OPTIONS, Cells, Layout, Lines, open_table, read_rows
from ringsched.formats.traces.values import UNITS_S, elapsed_s, instant, is_number, number_of, unit_in_name
from ringsched.model.checks import shown

NEEDED = "submit, gpus, and duration or start and end"
ROUNDED = "asked for part of a GPU: rounded up"
PART_OF_A_GPU = "part of a GPU"


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the rows of one table by its map.

    A table may have a million rows, so the usual cells are read where they are, without a call.
    """

    columns: Mapping[str, str]  # field -> column, in lower case
    at: Mapping[str, int]  # field -> position
    units: Units
    drops_parts: bool
    ratios: list[float] = dataclass_field(default_factory=list)  # of durations and of ends minus starts
    # Few numbers of GPUs and few models occur, and each is read once.
    gpus_seen: dict[str, tuple[int, str | None]] = dataclass_field(default_factory=dict)
    models_seen: dict[str, str | None] = dataclass_field(default_factory=dict)

    def __call__(self, row: Cells) -> TraceRow:
        columns, at, cells = self.columns, self.at, row.cells
        gpus, note = self.gpus_seen.get(cells[at["gpus"]]) or self._gpus(row)
        cell = cells[at["submit"]]
        submit = (
            float(cell) * self.units.submit
            if _is_plain(cell)
            else self._instant(row, "submit", self.units.submit)
        )
        start = self._instant(row, "start", self.units.start) if "start" in columns else None
        end = self._instant(row, "end", self.units.end) if "end" in columns else None
        duration_s = self._duration_s(row, start, end)
        if submit is None:
            raise BadRow(NO_SUBMIT)
        return TraceRow(
            row.line,
            submit,
            duration_s,
            gpus,
            row.name(columns["name"]) if "name" in columns else f"job-{row.line}",
            self._model(row) if "model" in columns else None,
            self._recorded(row, start, duration_s, gpus) if "placement" in columns else None,
            self._figures(row) if "iteration_ms" in columns else None,
            note,
            start,
        )

    def _model(self, row: Cells) -> str | None:
        cell = row.cells[self.at["model"]]
        if cell not in self.models_seen:
            self.models_seen[cell] = row.text(self.columns["model"])
        return self.models_seen[cell]

    def _gpus(self, row: Cells) -> tuple[int, str | None]:
        """Return how many GPUs, and what was changed."""
        gpus = self.gpus_seen[row.cells[self.at["gpus"]]] = self._gpus_in(row)
        return gpus

    def _gpus_in(self, row: Cells) -> tuple[int, str | None]:
        column = self.columns["gpus"]
        cell = row.text(column)
        if cell is None:
            raise BadRow(NO_GPU)
        number = (
            gpus_of_tres(cell) if "gpu" in cell.lower() else number_of(cell, column, row.layout.delimiter)
        )
        if number == 0:
            raise BadRow(NO_GPU)
        if number < 0:
            raise malformed(column, f"must be a number >= 0, not {shown(cell)}")
        whole = math.ceil(number)
        if whole == number:
            return whole, None
        if self.drops_parts:
            raise BadRow(PART_OF_A_GPU)
        return whole, ROUNDED

    def _instant(self, row: Cells, field: str, unit_s: float) -> float | None:
        """Return a time that is a number, a date and time, or a time since the beginning: 1-02:03:04."""
        column = self.columns[field]
        cell = row.text(column)
        if cell is None:
            return None
        if ":" in cell or not is_number(cell.replace(",", "")):
            since_s = elapsed_s(cell)
            return instant(cell, column, row.layout.zone) if since_s is None else since_s
        return number_of(cell, column, row.layout.delimiter) * unit_s

    def _duration_s(self, row: Cells, start: float | None, end: float | None) -> float:
        column = self.columns.get("duration")
        cell = None if column is None else row.cells[self.at["duration"]]
        if start is None and cell is not None and _is_plain(cell) and (number := float(cell)):
            return number * self.units.duration
        cell = None if column is None else row.text(column)
        if column is None or cell is None:
            if start is None or end is None:
                raise BadRow(STILL_RUNNING if column is None else "no duration")
            return checked_duration_s(end - start, f"{self.columns['end']} - {self.columns['start']}")
        # A text that has a unit needs no other.
        as_text = None if cell.isdecimal() else elapsed_s(cell)
        if as_text is not None:
            return checked_duration_s(as_text, column)
        duration_s = number_of(cell, column, row.layout.delimiter) * self.units.duration
        if duration_s and start is not None and end is not None and end > start:
            self.ratios.append(duration_s / (end - start))
        return checked_duration_s(duration_s, column)

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


def _is_plain(cell: str) -> bool:
    """Return whether a cell is a whole number without anything around it."""
    return cell.isdecimal() and len(cell) < 20 and cell.isascii()


class GenericTable:
    """A table whose columns the user names with a map."""

    takes = TABLE_OPTIONS | {"columns", "fractional"}
    records_places = True

    def rows(self, path: Path, options: ReadOptions) -> Iterator[TraceRow | BadRow]:
        """Yield every row that is not blank: a job, or why it is none."""
        with open_table(path) as lines:
            columns = _mapped(lines, path, options)
            units = _units(columns, lines, options)
            known = lines.columns
            # Conditions may name a field of the map as well as a column.
            at = {field: known[column] for field, column in columns.items()}
            layout = Layout(at | known, units, options.time_zone, lines.delimiter)
            reader = _Reader(columns, at, units, options.fractional == DROP)
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
    given = {field: column.lower().lstrip("# ") for field, column in options.columns.items()}
    if not given:
        problem = f"has columns without a known meaning: name them with --map, at least {NEEDED}"
        raise NotThisFormat(problem, place=place, file=str(path))
    known = {name.lstrip("# "): name for name in lines.columns}
    for field, column in given.items():
        if column not in known:
            raise _no_column(field, options.columns[field], lines, path)
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
    return {field: known[column] for field, column in given.items()}


def _no_column(field: str, column: str, lines: Lines, path: Path) -> InputError:
    """Return what to say of a column that the table does not have."""
    place = f"line {lines.header_line}"
    if all(map(is_number, lines.header)):
        problem = "is numbers, not a header: add a line with the names of the columns"
        return InputError(problem, place=place, file=str(path))
    problem = f"has no column {column!r}, which --map names for {field}"
    if hint := did_you_mean(column, lines.header):
        return InputError(problem + hint, place=place, file=str(path))
    return NotThisFormat(f"{problem}; choose from {_listed(lines.header)}", place=place, file=str(path))


MOST_LISTED = 20


def _listed(header: list[str]) -> str:
    more = len(header) - MOST_LISTED
    return ", ".join(header[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def _units(columns: Mapping[str, str], lines: Lines, options: ReadOptions) -> Units:
    """Return the units: the given ones, else those in the names of columns, else seconds."""
    names = {field: lines.header[lines.columns[column]] for field, column in columns.items()}
    named = {
        field: unit
        for field in TIMES
        if field in columns
        and field not in options.time_unit
        and (unit := unit_in_name(names[field])) not in (None, "s")
    }
    options.units_named.update(named)
    for field, unit in named.items():
        options.note(f"{field} is in {unit}, by the name of its column {names[field]!r}")
    usual = Units()._replace(**{field: UNITS_S[str(unit)] for field, unit in named.items()})
    return options.units(usual)


CSV = GenericTable()
