"""The report on the rows of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ringsched.errors import InputError
from ringsched.formats.traces.rows import BadRow, TraceRow


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedRows:
    """Rows dropped for one reason; `first_line` is the line of the first of them."""

    reason: str
    count: int
    first_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModel:
    """A model as a trace names it, how many jobs have it, and what it was taken for.

    `taken_for` is a model of the catalogue, "trace" if the trace itself says how the jobs communicate, or
    "none" if they are assumed not to, or "draw" if models were drawn instead.
    """

    name: str
    jobs: int
    taken_for: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """An import in short.

    Parameters
    ----------
    format, rows_read, rows_kept, dropped
        The format, the number of rows, the number of jobs, and why other rows were dropped.
    models_named, models_drawn
        How many jobs have the model the trace names, or a similar one, and how many a drawn one.
    models_similar, models_unknown
        Models that the catalogue has a relative of, and those that it does not know.
    assumed
        What the importer assumed, and the rows it changed.
    span_s
        From the first submit to the last.
    load, busiest_load
        GPU-seconds of all jobs in the best case over those of the cluster during the span; and in the
        busiest week, if every job started when it was submitted.
    warning
        Why a simulation would say little, if that is known.
    largest_difference_s
        Of a recorded plan: how far a start or finish is from its record at most.
    """

    format: str
    rows_read: int
    rows_kept: int
    dropped: tuple[DroppedRows, ...]
    models_named: int
    models_drawn: int
    models_similar: tuple[NamedModel, ...] = ()
    models_unknown: tuple[NamedModel, ...] = ()
    assumed: tuple[str, ...] = ()
    span_s: float
    load: float
    busiest_load: float = 0.0
    warning: str | None = None
    largest_difference_s: float | None = None


class Tally:
    """Counts rows and why they are dropped; a strict one ends at the first malformed row."""

    def __init__(self, path: Path, *, strict: bool) -> None:
        self.path = path
        self._strict = strict
        self._dropped: dict[str, tuple[int, int]] = {}  # reason -> count and first line
        self.rows_read = 0
        self.first_malformed: BadRow | None = None

    def jobs(self, rows: Iterable[TraceRow | BadRow]) -> Iterator[TraceRow]:
        """Yield the rows that are jobs."""
        for row in rows:
            self.rows_read += 1
            if isinstance(row, BadRow):
                self.drop(row)
            else:
                yield row

    def drop(self, row: BadRow) -> None:
        """Count a row that is dropped."""
        if self._strict and row.is_malformed:
            place = f"line {row.line}"
            raise InputError(row.problem or "", field=row.field, place=place, file=str(self.path))
        if row.is_malformed and self.first_malformed is None:
            self.first_malformed = row
        count, first = self._dropped.get(row.reason, (0, row.line))
        self._dropped[row.reason] = (count + 1, min(first, row.line))

    @property
    def dropped(self) -> tuple[DroppedRows, ...]:
        """What was dropped, the most frequent reason first."""
        rows = [
            DroppedRows(reason=reason, count=count, first_line=first)
            for reason, (count, first) in self._dropped.items()
        ]
        return tuple(sorted(rows, key=lambda dropped: (-dropped.count, dropped.reason)))
