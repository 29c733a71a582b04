"""Traces as streams of rows, each a job or the reason why it is none; tables are read line by line."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import IO, NamedTuple, cast

from ringsched.errors import InputError, did_you_mean
from ringsched.formats.files import reading
from ringsched.formats.traces.options import SECONDS, ReadOptions, RowFilter, Units
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
    """Where and when a job really ran; times in seconds since 1970.

    A machine has the GPUs the job held there, or only their number where the record has no indices. They
    are `split` if only the number of all GPUs is recorded.
    """

    start: float
    end: float
    gpus: Mapping[str, tuple[int, ...] | int]
    is_split: bool = False


class Figures(NamedTuple):
    """What a trace itself says of an iteration; None where it does not.

    `exchange_s` is a part of `iteration_s`.
    """

    iteration_s: float
    exchange_s: float | None = None
    gradient_mb: float | None = None


class TraceRow(NamedTuple):
    """One job of a trace; `submit` counts from wherever the trace does."""

    line: int
    submit: float
    duration_s: float
    gpus: int
    name: str
    model: str | None = None  # as the trace calls it
    recorded: Recorded | None = None
    figures: Figures | None = None
    note: str | None = None  # what was changed; counted in the report
    start: float | None = None  # where only the time is known, not the place


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


class NotThisFormat(InputError):
    """A file that is not of the format it was said to be; another may fit."""


ABSENT = frozenset({"", "none", "null", "nan", "na", "nat", "n/a", "unknown"})
MOST = 1e17  # of any unit: microseconds since 1970 fit; more is taken for dirt
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_WITHOUT_ZONE = EPOCH.replace(tzinfo=None)


class Layout(NamedTuple):
    """What all rows of a table share."""

    columns: Mapping[str, int]  # in lower case
    units: Units = SECONDS
    zone: tzinfo = UTC


class Cells(NamedTuple):
    """One row: its cells, and the layout of the table."""

    line: int
    cells: Sequence[str]
    layout: Layout

    def text(self, column: str) -> str | None:
        """Return a cell, or None if it is absent: blank, `None`, `NaN`, or without a column."""
        at = self.layout.columns.get(column)
        if at is None:
            return None
        cell = self.cells[at].strip()
        if cell and cell[0] <= "9":  # the usual case: nothing absent begins with a digit
            return cell
        return None if cell.lower() in ABSENT else cell

    def name(self, column: str) -> str:
        """Return a name that can be printed, made of the line where there is none."""
        name = self.text(column) or f"job-{self.line}"
        if not name.isprintable():
            raise malformed(column, f"must be printable, not {shown(name)}")
        return name

    def gpus(self, column: str) -> int:
        """Return how many GPUs; a job without any is none of ours."""
        number = self.number(column)
        if number is None or number < 0 or number != int(number):
            raise malformed(column, f"must be an integer >= 0, not {shown(self.text(column))}")
        if number == 0:
            raise BadRow(NO_GPU)
        return int(number)

    def duration_s(self, column: str) -> float:
        """Return a duration above 0."""
        number = self.number(column)
        return checked_duration_s(None if number is None else number * self.layout.units.duration, column)

    def seconds(self, column: str) -> float:
        """Return a submit that is written as a number."""
        number = self.number(column)
        if number is None:
            raise BadRow(NO_SUBMIT)
        return number * self.layout.units.submit

    def instant(self, column: str) -> float | None:
        """Return an instant that is written as a date and time."""
        cell = self.text(column)
        return None if cell is None else instant(cell, column, self.layout.zone)

    def submit(self, column: str) -> float:
        """Return a date and time that must be there."""
        instant = self.instant(column)
        if instant is None:
            raise BadRow(NO_SUBMIT)
        return instant

    def number(self, column: str) -> float | None:
        """Return a number, or None if the cell is absent."""
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


_LOOSE = re.compile(
    r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?"
    r"\s*(?:(Z|UTC|GMT)|([+-])(\d{2}):?(\d{2})?)?",
    re.IGNORECASE,
)


def instant_of(text: object, field: str, zone: tzinfo = UTC) -> float | None:
    """Return `2017-10-09 07:01:55`, with or without an offset from UTC, as seconds since 1970.

    Without an offset the time is that of the zone. UTC is a clock that is never put forward or back.

    Examples
    --------
    >>> instant_of("1970-01-02 00:00:01", "t"), instant_of("1970-01-01T08:00:00+08:00", "t")
    (86401.0, 0.0)
    >>> instant_of("1970/1/1 8:00 +0800", "t"), instant_of("None", "t") is None
    (0.0, True)
    """
    if text is None or (isinstance(text, str) and text.strip().lower() in ABSENT):
        return None
    return instant(text, field, zone)


def instant(text: object, field: str, zone: tzinfo = UTC) -> float:
    """Return the same of a text that is there."""
    try:
        given = datetime.fromisoformat(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        given = _loose_instant(text, field)
    if given.tzinfo is not None:
        return (given - EPOCH).total_seconds()
    if zone is UTC:  # the usual case, and twice as fast
        return (given - EPOCH_WITHOUT_ZONE).total_seconds()
    return (given.replace(tzinfo=zone) - EPOCH).total_seconds()


def _loose_instant(text: object, field: str) -> datetime:
    """Return a date and time that is not quite ISO 8601: slashes, one digit, a blank before the offset."""
    found = _LOOSE.fullmatch(text.strip()) if isinstance(text, str) else None
    try:
        if found is None:
            raise ValueError
        year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
        microsecond = int((found[7] or "").ljust(6, "0")[:6])
        zone: tzinfo | None = UTC if found[8] else None
        if found[9]:
            offset = timedelta(hours=int(found[10]), minutes=int(found[11] or 0))
            zone = timezone(-offset if found[9] == "-" else offset)
        return datetime(year, month, day, hour, minute, second, microsecond, tzinfo=zone)
    except ValueError:
        raise malformed(field, f"must be a date and time, not {shown(text)}") from None


def checked_duration_s(duration_s: float | None, field: str) -> float:
    """Return a duration above 0; a row without one, or with 0, is no job."""
    if duration_s is None or duration_s == 0:
        raise BadRow(NO_DURATION)
    if duration_s < 0:
        raise malformed(field, f"must not be negative, but is {duration_s:g}")
    return duration_s


DELIMITERS = ",\t;|"


def delimiter_of(header: str) -> str:
    """Return what separates the cells: the most frequent delimiter outside quotes, a comma if none is.

    Examples
    --------
    >>> delimiter_of("JobID|Submit|AllocTRES"), delimiter_of("job_id")
    ('|', ',')
    """
    outside = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=outside.count)


def cells_of(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line, as they are."""
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return [line]


def header_of(line: str, delimiter: str) -> list[str]:
    """Return the names of the columns; a delimiter at the end begins no column."""
    header = [name.strip() for name in cells_of(line, delimiter)]
    return header[:-1] if len(header) > 1 and not header[-1] else header


class Lines(NamedTuple):
    """The rows of a table, not yet read: its header, and each line that is not blank with its number."""

    header: list[str]
    header_line: int
    delimiter: str
    numbered: Iterator[tuple[int, str]]

    @property
    def columns(self) -> dict[str, int]:
        """The position of each column, in lower case; of two with one name the first."""
        return {name.lower(): at for at, name in reversed(list(enumerate(self.header)))}


@contextmanager
def open_table(path: Path) -> Iterator[Lines]:
    """Open a table and read its header."""
    with open_trace(path) as lines:
        numbered = ((at, line) for at, line in enumerate(lines, 1) if line.strip())
        at, first = next(numbered, (1, ""))
        delimiter = delimiter_of(first)
        header = header_of(first, delimiter)
        if header in ([], [""]):
            raise InputError("is empty", file=str(path))
        yield Lines(header, at, delimiter, numbered)


TABLE_OPTIONS = frozenset({"time_unit", "time_zone", "where"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with one job a row.

    Parameters
    ----------
    columns
        Those it cannot do without.
    read
        Returns the job of a row, or raises `BadRow`.
    others
        More columns that it has as published; a file with them looks like this format.
    not_with
        Columns that tell a similar format from this one.
    units
        Of the times that are numbers, unless the user names them.
    """

    columns: Sequence[str]
    read: Callable[[Cells], TraceRow]
    others: Sequence[str] = ()
    not_with: Sequence[str] = ()
    units: Units = SECONDS
    takes: frozenset[str] = TABLE_OPTIONS
    records_places: bool = False

    def rows(self, path: Path, options: ReadOptions) -> Iterator[TraceRow | BadRow]:
        """Yield every row that is not blank: a job, or why it is none."""
        with open_table(path) as lines:
            self.check(lines, path, options)
            layout = Layout(lines.columns, options.units(self.units), options.time_zone)
            yield from read_rows(lines, layout, options, self.read)

    def check(self, lines: Lines, path: Path, options: ReadOptions) -> None:
        """Raise if the header is not that of this format."""
        place = f"line {lines.header_line}"
        for column in self.columns:
            if column not in lines.columns:
                hint = did_you_mean(column, lines.header)
                needed = f"it needs {', '.join(self.columns)}"
                problem = f"column {column!r} is missing{hint}: not a trace of this format, {needed}"
                raise NotThisFormat(problem, place=place, file=str(path))
        for column in self.not_with:
            if column in lines.columns and not options.time_unit:
                problem = f"column {column!r} is that of another format, whose times have another unit"
                raise NotThisFormat(problem, place=place, file=str(path))


def read_rows(
    lines: Lines, layout: Layout, options: ReadOptions, read: Callable[[Cells], TraceRow]
) -> Iterator[TraceRow | BadRow]:
    """Yield what `read` makes of each line."""
    delimiter, num_columns = lines.delimiter, len(lines.header)
    rows = RowFilter(options.where, layout.columns) if options.where else None
    for at, line in lines.numbered:
        cells = cells_of(line, delimiter)
        try:
            if len(cells) != num_columns:
                _check_number(cells, num_columns)
            if rows is not None and (condition := rows.refused(cells)) is not None:
                raise BadRow(f"not {condition}")
            yield read(Cells(at, cells, layout))
        except BadRow as bad:
            yield bad.on(at)


def _check_number(cells: Sequence[str], num_columns: int) -> None:
    # With `sacct -p` every line ends in a delimiter.
    if len(cells) != num_columns + 1 or cells[-1].strip():
        problem = f"has {len(cells)} cells, the header {num_columns}"
        raise BadRow("wrong number of cells", field="the row", problem=problem)
