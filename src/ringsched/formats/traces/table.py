"""Tables: how a file is opened, where its header is, and how its lines are read."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, tzinfo
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from ringsched.errors import InputError, did_you_mean
from ringsched.formats.files import reading
from ringsched.formats.traces.options import SECONDS, ReadOptions, RowFilter, Units
from ringsched.formats.traces.rows import (
    NO_GPU,
    NO_SUBMIT,
    BadRow,
    NotThisFormat,
    TraceRow,
    checked_duration_s,
    malformed,
)
from ringsched.formats.traces.values import instant, is_absent, number_of
from ringsched.model.checks import shown

# What the first bytes of a file say.
_PACKED: Mapping[bytes, Callable[[IO[bytes]], IO[bytes]]] = {
    b"\x1f\x8b": lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file)),
    b"BZh": lambda file: cast("IO[bytes]", bz2.BZ2File(file)),
    b"\xfd7zXZ": lambda file: cast("IO[bytes]", lzma.LZMAFile(filename=file)),  # noqa: SIM115 - the caller closes it
}
_NOT_TEXT = {b"PK\x03\x04": "a zip archive", b"\x28\xb5\x2f\xfd": "packed with zstd", b"PAR1": "Parquet"}
_LOOKED_AT = 4096


@contextmanager
def open_trace(path: Path) -> Iterator[IO[str]]:
    """Open a trace; packed ones are known by their first bytes, and what is not UTF-8 is replaced."""
    with reading(path):
        file = path.open("rb")
    with file:
        try:
            first = file.peek(8)
            unpacked = next((opened for magic, opened in _PACKED.items() if first.startswith(magic)), None)
            source = io.BufferedReader(cast("io.RawIOBase", unpacked(file))) if unpacked else file
            with io.TextIOWrapper(source, encoding=_encoding(source, path), errors="replace") as text:
                yield text
        except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError) as error:
            reason = str(error).rstrip(".").lower()
            raise InputError(f"is not whole or no gzip: {reason}", file=str(path)) from None
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}".lower(), file=str(path)) from None


def _encoding(source: io.BufferedReader[Any], path: Path) -> str:
    """Return the encoding by the byte order mark, or raise if the file is not text."""
    first = source.peek(_LOOKED_AT)[:_LOOKED_AT]
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for magic, what in _NOT_TEXT.items():
        if first.startswith(magic):
            raise InputError(f"is {what}: unpack or convert it to a table as text", file=str(path))
    if first.count(0) > len(first) // 100:
        raise InputError("is not text: convert it to a table such as CSV", file=str(path))
    return "utf-8-sig"


class Layout(NamedTuple):
    """What all rows of a table share."""

    columns: Mapping[str, int]  # in lower case
    units: Units = SECONDS
    zone: tzinfo = UTC
    delimiter: str = ","


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
        if cell and "0" <= cell[0] <= "9":  # the usual case: nothing absent begins with a digit
            return cell
        return None if is_absent(cell) else cell

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
        return None if cell is None else number_of(cell, column, self.layout.delimiter)


DELIMITERS = ",\t;|"
SPACES = " "  # any number of them


def delimiter_of(header: str) -> str:
    """Return what separates the cells: the most frequent delimiter outside quotes, else spaces, else a comma.

    Examples
    --------
    >>> delimiter_of("JobID|Submit|AllocTRES"), delimiter_of("job_id"), delimiter_of("submit  run  gpus")
    ('|', ',', ' ')
    """
    outside = "".join(header.split('"')[::2])
    found = max(DELIMITERS, key=outside.count)
    if found in outside:
        return found
    return SPACES if len(outside.split()) > 2 else ","


def cells_of(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line, as they are."""
    if delimiter == SPACES:
        return line.split()
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


_PREAMBLE = 50  # lines


def header_line(lines: Sequence[str]) -> int:
    """Return which line is the header: the first that is no comment, or a comment that has its columns.

    Examples
    --------
    >>> header_line(["# made by x", "a,b,c", "1,2,3"]), header_line(["#a,b,c", "1,2,3"])
    (1, 0)
    """
    at = next((at for at, line in enumerate(lines) if not _is_comment(line)), 0)
    if at == 0 or not lines[at - 1].startswith("#"):
        return at
    delimiter = delimiter_of(lines[at])
    if delimiter == SPACES or delimiter not in lines[at]:
        return at
    names, below = (cells_of(lines[each], delimiter) for each in (at - 1, at))
    return at - 1 if len(names) == len(below) else at


def _is_comment(line: str) -> bool:
    """Return whether a line before the header is none, such as the `sep=;` of spreadsheets."""
    return line.startswith("#") or (len(line) < len("sep=;\r\n") + 1 and line.lower().startswith("sep="))


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
        head = list(islice(numbered, _PREAMBLE))
        first = header_line([line for _, line in head])
        at, line = head[first] if head else (1, "")
        line = line.lstrip("#")
        delimiter = delimiter_of(line)
        header = header_of(line, delimiter)
        if header in ([], [""]):
            raise InputError("is empty", file=str(path))
        if line.lstrip().startswith(("{", "[")):
            raise NotThisFormat("is JSON, not a table", place=f"line {at}", file=str(path))
        yield Lines(header, at, delimiter, chain(head[first + 1 :], numbered))


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
            layout = Layout(lines.columns, options.units(self.units), options.time_zone, lines.delimiter)
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
