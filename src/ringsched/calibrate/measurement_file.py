"""Files of measurements: CSV with a row for every job, or the text that benchmarks print."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from ringsched.calibrate.benchmark_text import is_benchmark_text, measurements_from_benchmark
from ringsched.calibrate.measurement import Measurement
from ringsched.errors import InputError
from ringsched.io.decode import build, check_keys
from ringsched.io.files import read_text
from ringsched.io.table_file import save_table

COLUMNS = tuple(field.name for field in fields(Measurement))
REQUIRED = tuple(field.name for field in fields(Measurement) if field.default is MISSING)
_WHOLE = ("servers", "workers", "concurrent")


def load_measurements(
    path: str | os.PathLike[str],
    *,
    servers: int | None = None,
    workers: int | None = None,
    concurrent: int | None = None,
) -> tuple[Measurement, ...]:
    """Read measurements from a CSV file, or from what nccl-tests or the OSU benchmarks printed.

    Parameters
    ----------
    path
        The file.
    servers, workers, concurrent
        Of a benchmark's output, where it does not say itself: it never says how many ran at a time
        (1 if absent), and OSU's does not say on how many servers and workers.

    Examples
    --------
    >>> rows = load_measurements("examples/measurements.csv")
    >>> rows[0].servers, rows[0].message_mb
    (2, 0.0001)
    """
    path = Path(path)
    text = read_text(path)
    try:
        if is_benchmark_text(text):
            return measurements_from_benchmark(
                text, servers=servers, workers=workers, concurrent=1 if concurrent is None else concurrent
            )
        return _from_csv(text)
    except InputError as error:
        raise error.located(file=str(path)) from None


def save_measurements(measurements: Iterable[Measurement], path: str | os.PathLike[str]) -> None:
    """Write measurements as CSV, atomically."""
    rows = list(measurements)
    columns = {
        name: ["" if (value := getattr(row, name)) is None else value for row in rows] for name in COLUMNS
    }
    save_table(columns, path)


def _from_csv(text: str) -> tuple[Measurement, ...]:
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(rows, [])]
        _check_header(header)
        found = tuple(
            build(Measurement, _fields(header, row, rows.line_num), f"line {rows.line_num}")
            for row in rows
            if any(cell.strip() for cell in row)
        )
    except csv.Error as error:
        raise InputError(f"is not valid CSV: {error}", place=f"line {rows.line_num}") from None
    if not found:
        raise InputError("has a header but no measurements")
    return found


def _check_header(header: Sequence[str]) -> None:
    if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
        raise InputError("has one column; separate the cells by commas", place="line 1")
    check_keys(dict.fromkeys(header, ""), COLUMNS, REQUIRED, "line 1")
    for name in header:
        if header.count(name) > 1:
            raise InputError(f"column {name!r} stands twice", place="line 1")


def _fields(header: Sequence[str], row: Sequence[str], line: int) -> dict[str, Any]:
    place = f"line {line}"
    if len(row) != len(header):
        raise InputError(f"has {len(row)} cells, the header {len(header)}", place=place)
    cells = {name: cell.strip() for name, cell in zip(header, row, strict=True) if cell.strip()}
    for name in REQUIRED:
        if name not in cells:
            raise InputError("is missing", field=name, place=place)
    return {name: cell if name == "job" else _number(name, cell) for name, cell in cells.items()}


def _number(name: str, cell: str) -> object:
    """Return a number if the cell is one; the measurement says what is wrong with anything else."""
    try:
        return int(cell) if name in _WHOLE else float(cell)
    except ValueError:
        return cell
