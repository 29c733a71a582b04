"""Files of comparison rows: CSV, which grows with every row, or Parquet at the end. One writer at a time."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, Protocol, TextIO

from filelock import BaseFileLock, FileLock, Timeout

from ringsched.analysis.compare.runs import INFEASIBLE, OK, TOO_LARGE, ComparisonRow, Key, Task
from ringsched.errors import InputError, check_installed
from ringsched.formats.files import check_writable, read_text, write_text, written_beside


@contextmanager
def sole_writer(path: Path | None) -> Iterator[None]:
    """Lock `path` for this comparison; raise if another one is writing it.

    The lock is on a file beside it, since the file itself is replaced when it is written. It ends with
    the process that holds it, and a file left by a crash has no effect.
    """
    lock = None if path is None else _locked(path)
    try:
        yield
    finally:
        if lock is not None:
            with suppress(OSError):  # Windows keeps a file that is open
                Path(lock.lock_file).unlink()
            lock.release()


def _locked(path: Path) -> BaseFileLock | None:
    """Return the acquired lock; None if locking is not possible."""
    # Several attempts, because a finishing writer may remove its lock file while we open it. A soft lock
    # would survive a crash, so file systems without real locks get none.
    lock = FileLock(_lock_file(path), timeout=0.1, poll_interval=0.01, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        problem = "another comparison is writing this file; wait until it ends, or write to another file"
        raise InputError(problem, file=str(path)) from None
    except OSError:  # or the file is another user's
        return None
    return lock


def _lock_file(path: Path) -> Path:
    target = path.resolve()
    digest = hashlib.sha256(target.name.encode(errors="surrogateescape")).hexdigest()[:16]
    return target.with_name(f".ringsched-{digest}.lock")


COLUMNS = tuple(field.name for field in fields(ComparisonRow))
TEXTS = (
    *("scenario", "scenario_sha256", "policy", "order", "objective", "limit"),
    *("contention", "ringsched_version", "status"),
)
INTEGERS = ("draw", "seed")
# Columns that older files do not have, with their defaults.
ADDED = {"contention": "", "draw": None, "max_slowdown": None}
NOT_OURS = "was not written by `ringsched compare`; choose another file, or replace it with --no-resume"


class RowFile(Protocol):
    """A file of rows: open it once, add rows, close it with all rows in order."""

    def read(self) -> list[ComparisonRow]:
        """Return the rows in the file."""

    def open(self, rows: Sequence[ComparisonRow]) -> None:
        """Start the file with these rows."""

    def add(self, row: ComparisonRow) -> None:
        """Add a row."""

    def close(self, rows: Sequence[ComparisonRow]) -> None:
        """Write exactly these rows, in this order."""


def row_file(path: Path) -> RowFile:
    """Return a row file of the type given by its suffix, or raise if it cannot be written."""
    kinds: dict[str, type[CsvRows] | type[ParquetRows]] = {".csv": CsvRows, ".parquet": ParquetRows}
    kind = kinds.get(path.suffix.lower())
    if kind is None:
        raise InputError("must end in .csv or .parquet", file=str(path))
    check_writable(path)
    if path.exists() and not path.is_file():
        raise InputError("is not a regular file; choose another output", file=str(path))
    return kind(path)


class CsvRows:
    """One line per row. Each line is appended at once; the final order is set at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None

    def read(self) -> list[ComparisonRow]:
        """Return the rows in the file; an incomplete last line is ignored."""
        if not self._path.exists() or self._path.stat().st_size == 0:
            return []
        whole, _, _ = read_text(self._path).rpartition("\n")
        try:
            lines = list(csv.reader(io.StringIO(whole)))
        except csv.Error:
            lines = []
        header = tuple(lines[0]) if lines else ()
        if header != _columns_in(header):
            raise InputError(NOT_OURS, file=str(self._path))
        return [self._row(at, header, line) for at, line in enumerate(lines[1:], start=2)]

    def open(self, rows: Sequence[ComparisonRow]) -> None:
        """Write these rows and stay open for more."""
        write_text(self._path, _csv([COLUMNS, *map(astuple, rows)]))
        try:
            self._file = self._path.open("a", encoding="utf-8", newline="")
        except OSError as error:
            raise self._unwritable(error) from None

    def add(self, row: ComparisonRow) -> None:
        """Append one line."""
        if self._file is None:
            return
        try:
            self._file.write(_csv([astuple(row)]))
            self._file.flush()
        except OSError as error:
            raise self._unwritable(error) from None

    def close(self, rows: Sequence[ComparisonRow]) -> None:
        """Write all rows in order."""
        if self._file is not None:
            self._file.close()
        write_text(self._path, _csv([COLUMNS, *map(astuple, rows)]))

    def _row(self, line_number: int, header: Sequence[str], line: Sequence[str]) -> ComparisonRow:
        try:
            return row_from(dict(zip(header, line, strict=True)))
        except (ValueError, TypeError):
            place = f"line {line_number}"
            raise InputError(NOT_OURS, file=str(self._path), place=place) from None

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(
            f"cannot be written: {(error.strerror or str(error)).lower()}", file=str(self._path)
        )


class ParquetRows:
    """A Parquet file cannot grow row by row: it is written when the work ends, also after Ctrl-C."""

    def __init__(self, path: Path) -> None:
        check_installed("pyarrow.parquet", "parquet", file=str(path))
        self._path = path

    def read(self) -> list[ComparisonRow]:
        """Return the rows in the file."""
        from pyarrow import ArrowException, parquet

        if not self._path.exists():
            return []
        try:
            table = parquet.read_table(self._path)
            return [row_from(row) for row in table.select(_columns_in(table.column_names)).to_pylist()]
        except (ArrowException, OSError, KeyError, ValueError, TypeError):
            raise InputError(NOT_OURS, file=str(self._path)) from None

    def open(self, rows: Sequence[ComparisonRow]) -> None:
        """Do nothing."""

    def add(self, row: ComparisonRow) -> None:
        """Do nothing."""

    def close(self, rows: Sequence[ComparisonRow]) -> None:
        """Write all rows to a temporary file, then replace the file."""
        import pyarrow
        from pyarrow import parquet

        types = dict.fromkeys(INTEGERS, pyarrow.int64()) | dict.fromkeys(TEXTS, pyarrow.string())
        schema = pyarrow.schema([(name, types.get(name, pyarrow.float64())) for name in COLUMNS])
        records = [dict(zip(COLUMNS, astuple(row), strict=True)) for row in rows]
        with written_beside(self._path) as temporary:
            parquet.write_table(pyarrow.Table.from_pylist(records, schema), temporary)


def _columns_in(header: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a file with this header, which may be older; two of them came together."""
    if ("contention" in header) != ("draw" in header):
        return COLUMNS
    return tuple(name for name in COLUMNS if name in header or name not in ADDED)


def row_from(values: Mapping[str, Any]) -> ComparisonRow:
    """Return the row of these values, texts or numbers; raise ValueError or TypeError if they are invalid."""
    given = {**ADDED, **values}
    row = ComparisonRow(**{name: _value(name, given[name]) for name in COLUMNS})
    if row.status not in (OK, INFEASIBLE, TOO_LARGE) or (
        row.status == OK and None in (row.makespan_s, row.gap)
    ):
        raise ValueError(row.status)
    return row


def _value(name: str, value: Any) -> Any:
    if name in TEXTS:
        return str(value)
    if value is None or value == "":
        return None
    return int(value) if name in INTEGERS else float(value)


def _csv(lines: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


class KeptRows:
    """Adds rows to the file as they are finished, and sorts it when the work ends or fails."""

    def __init__(
        self,
        file: RowFile | None,
        tasks: Sequence[Task],
        found: Sequence[ComparisonRow],
        rows: dict[Key, ComparisonRow],
    ) -> None:
        self._file, self._tasks, self._rows = file, tasks, rows
        self._found = [row for row in found if row.key not in rows]

    def add(self, row: ComparisonRow) -> None:
        """Add a row."""
        self._rows[row.key] = row
        if self._file is not None:
            self._file.add(row)

    def __enter__(self) -> KeptRows:
        if self._file is not None:
            self._file.open(self._all())
        return self

    def __exit__(self, *_error: object) -> None:
        if self._file is not None:
            self._file.close(self._all())

    def _all(self) -> list[ComparisonRow]:
        """Return our rows and the found rows that stay: of other runs, and of older code until replaced."""
        ours = [self._rows[task.key] for task in self._tasks if task.key in self._rows]
        replaced = {row.key[:-1] for row in ours}
        return [*ours, *(row for row in self._found if row.key[:-1] not in replaced)]
