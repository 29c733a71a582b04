"""Traces as streams of rows, each a job or the reason why it is none; CSV is read line by line."""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, NamedTuple, cast

from ringsched.errors import InputError, did_you_mean
from ringsched.formats.files import reading
from ringsched.model.checks import shown

GZIP_MAGIC = b"\x1f\x8b"


@contextmanager
def open_trace(path: Path) -> Iterator[IO[str]]:
    """Open a trace; gzip is known by its first bytes, and what is not UTF-8 is replaced, not fatal."""
    with reading(path):
        file = path.open("rb")
    with file:
        try:
            packed = file.peek(2)[:2] == GZIP_MAGIC
            source = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if packed else file
            with io.TextIOWrapper(source, encoding="utf-8-sig", errors="replace") as text:
                yield text
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            reason = str(error).rstrip(".").lower()
            raise InputError(f"is not whole or no gzip: {reason}", file=str(path)) from None
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}".lower(), file=str(path)) from None


NO_GPU = "no GPU"
NO_DURATION = "no duration"
NO_SUBMIT = "no submit time"
NEVER_STARTED = "never started"
STILL_RUNNING = "no start or end recorded"


class Recorded(NamedTuple):
    """Where and when a job really ran; times in seconds since 1970."""

    start: float
    end: float
    gpus: dict[str, tuple[int, ...]]  # machine -> its GPUs


class TraceRow(NamedTuple):
    """One job of a trace; `submit` counts from wherever the trace does."""

    line: int
    submit: float
    duration_s: float
    gpus: int
    name: str
    model: str | None = None  # as the trace calls it
    recorded: Recorded | None = None


class BadRow(Exception):
    """A row that is no job.

    Parameters
    ----------
    reason
        Under which it is counted.
    field, problem
        What a strict import says about a malformed row; without them the row is in order, only
        not a job that could be scheduled, such as one without GPUs.
    """

    def __init__(self, reason: str, *, field: str | None = None, problem: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field
        self.problem = problem
        self.line = 0

    def on(self, line: int) -> BadRow:
        """Return itself with its line set."""
        self.line = line
        return self

    @property
    def is_malformed(self) -> bool:
        """Whether a strict import ends here."""
        return self.problem is not None


def malformed(field: str, problem: str) -> BadRow:
    """Return a malformed row, counted by field.

    Examples
    --------
    >>> malformed("num_gpus", "must be an integer, not 'x'").reason
    'malformed num_gpus'
    """
    return BadRow(f"malformed {field}", field=field, problem=problem)


ABSENT = frozenset({"", "none", "null", "nan", "na", "nat"})
MOST = 1e13  # of any unit: three centuries of milliseconds; more is taken for dirt
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Cells(NamedTuple):
    """One row: its cells, and the position of each column."""

    line: int
    cells: Sequence[str]
    columns: Mapping[str, int]

    def text(self, column: str) -> str | None:
        """Return a cell, or None if it is absent: blank, `None`, `NaN`, or without a column."""
        at = self.columns.get(column)
        cell = "" if at is None else self.cells[at].strip()
        return None if cell.lower() in ABSENT else cell

    def name(self, column: str) -> str:
        """Return a name that can be printed, made of the line where there is none."""
        name = self.text(column) or f"job-{self.line}"
        if not name.isprintable():
            raise malformed(column, f"must be printable, not {shown(name)}")
        return name

    def gpus(self, column: str) -> int:
        """Return how many GPUs; a job without any is none of ours."""
        number = self._number(column)
        if number is None or number < 0 or number != int(number):
            raise malformed(column, f"must be an integer >= 0, not {shown(self.text(column))}")
        if number == 0:
            raise BadRow(NO_GPU)
        return int(number)

    def duration_s(self, column: str, *, unit_s: float = 1.0) -> float:
        """Return a duration above 0."""
        number = self._number(column)
        return checked_duration_s(None if number is None else number * unit_s, column)

    def seconds(self, column: str, *, unit_s: float = 1.0) -> float:
        """Return an instant that is written as a number."""
        number = self._number(column)
        if number is None:
            raise BadRow(NO_SUBMIT)
        return number * unit_s

    def instant(self, column: str) -> float | None:
        """Return an instant that is written as a date and time."""
        return instant_of(self.text(column), column)

    def submit(self, column: str) -> float:
        """Return a date and time that must be there."""
        instant = self.instant(column)
        if instant is None:
            raise BadRow(NO_SUBMIT)
        return instant

    def _number(self, column: str) -> float | None:
        cell = self.text(column)
        if cell is None:
            return None
        try:
            number = float(cell)
        except ValueError:
            number = math.inf
        if not abs(number) <= MOST or "_" in cell:  # Python would read 1_000 as a number
            raise malformed(column, f"must be a number, not {shown(cell)}")
        return number


def instant_of(text: object, field: str) -> float | None:
    """Return `2017-10-09 07:01:55`, with or without an offset from UTC, as seconds since 1970.

    Without an offset the clock is taken for one that is never put forward or back.

    Examples
    --------
    >>> instant_of("1970-01-02 00:00:01", "t"), instant_of("1970-01-01T08:00:00+08:00", "t")
    (86401.0, 0.0)
    >>> instant_of("None", "t") is None
    True
    """
    if text is None or (isinstance(text, str) and text.strip().lower() in ABSENT):
        return None
    try:
        instant = datetime.fromisoformat(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise malformed(field, f"must be a date and time, not {shown(text)}") from None
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    return (aware - EPOCH).total_seconds()


def checked_duration_s(duration_s: float | None, field: str) -> float:
    """Return a duration above 0; a row without one, or with 0, is no job."""
    if duration_s is None or duration_s == 0:
        raise BadRow(NO_DURATION)
    if duration_s < 0:
        raise malformed(field, f"must not be negative, but is {duration_s:g}")
    return duration_s


class Table(NamedTuple):
    """A CSV format: the columns it cannot do without, and how a row is read."""

    columns: Sequence[str]
    read: Callable[[Cells], TraceRow]

    def rows(self, path: Path) -> Iterator[TraceRow | BadRow]:
        """Yield every row that is not blank: a job, or why it is none."""
        with open_trace(path) as lines:
            numbered = ((at, line) for at, line in enumerate(lines, 1) if line.strip())
            at, first = next(numbered, (1, ""))
            header = [name.strip() for name in _cells(first)]
            self._check(header, at, path)
            columns = {name: at for at, name in reversed(list(enumerate(header)))}
            for at, line in numbered:
                yield self._row(Cells(at, _cells(line), columns), len(header))

    def _row(self, row: Cells, num_columns: int) -> TraceRow | BadRow:
        found = len(row.cells)
        try:
            if found != num_columns:
                problem = f"has {found} cells, the header {num_columns}"
                raise BadRow("wrong number of cells", field="the row", problem=problem)
            return self.read(row)
        except BadRow as bad:
            return bad.on(row.line)

    def _check(self, header: list[str], line: int, path: Path) -> None:
        if header in ([], [""]):
            raise InputError("is empty", file=str(path))
        for column in self.columns:
            if column not in header:
                hint = did_you_mean(column, header)
                raise InputError(
                    f"column {column!r} is missing{hint}: not a trace of this format",
                    place=f"line {line}",
                    file=str(path),
                )


def _cells(line: str) -> list[str]:
    if '"' not in line:
        return line.split(",")
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return [line]
