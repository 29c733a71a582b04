"""Measured jobs, and files of them: CSV, or what nccl-tests and the OSU benchmarks print."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from ringsched.contention.iteration_time import Work, hidden_in, overlap_of
from ringsched.errors import InputError
from ringsched.formats.decode import build, check_keys
from ringsched.formats.files import read_text, save_table
from ringsched.model.checks import Replaceable, integer, number, settle

GIGABITS_PER_MEGABYTE = 8e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(Replaceable):
    """The seconds of one iteration of a job, computation included.

    Parameters
    ----------
    servers, workers
        Number of servers and of workers in the ring.
    concurrent
        Number of identical jobs on its links, itself included.
    message_mb
        What was reduced, in MB of 10^6 bytes.
    seconds
        One iteration; the median of many is best.
    compute_s, reduce_s
        How much of it was computation, and how much summing up, where that was measured.
    job
        Which of the concurrent jobs it was. Rows that differ only in this are one block.
    backward_s, buckets
        The part of `compute_s` that is the backward pass, and in how many buckets the gradients are sent
        meanwhile. With more than one, a part of the exchange is hidden.

    Examples
    --------
    >>> row = Measurement(servers=2, workers=4, concurrent=1, message_mb=2.0, seconds=0.3)
    >>> row.exchange_gbit
    0.024
    """

    servers: int
    workers: int
    concurrent: int
    message_mb: float
    seconds: float
    compute_s: float = 0.0
    reduce_s: float | None = None
    job: str = ""
    backward_s: float = 0.0
    buckets: int = 1

    def __post_init__(self) -> None:
        settle(
            self,
            backward_s=number(self.backward_s, "backward_s", minimum=0),
            buckets=integer(self.buckets, "buckets", minimum=1),
            servers=integer(self.servers, "servers", minimum=1),
            workers=integer(self.workers, "workers", minimum=2),
            concurrent=integer(self.concurrent, "concurrent", minimum=1),
            message_mb=number(self.message_mb, "message_mb", above=0),
            seconds=number(self.seconds, "seconds", above=0),
            compute_s=number(self.compute_s, "compute_s", minimum=0),
        )
        if self.reduce_s is not None:
            settle(self, reduce_s=number(self.reduce_s, "reduce_s", minimum=0))
        if self.workers < self.servers:
            raise InputError(
                f"must be at least servers ({self.servers}), not {self.workers}", field="workers"
            )
        if self.backward_s > self.compute_s:
            raise InputError("must not be above compute_s, of which it is a part", field="backward_s")
        if self.compute_s + (self.reduce_s or 0.0) >= self.seconds:
            raise InputError(
                "must be more than compute_s and reduce_s, which are a part of it", field="seconds"
            )

    @property
    def exchange_gbit(self) -> float:
        """2m(w-1)/w: what every worker sends in an iteration."""
        return 2 * self.message_mb * GIGABITS_PER_MEGABYTE * (self.workers - 1) / self.workers

    @property
    def ring_s(self) -> float:
        """The communication, hidden or not, without the part of the summing up that was measured."""
        hidden_s = hidden_in(Work(0.0, 0.0, *self.computation), self.seconds)
        return self.seconds - self.compute_s + hidden_s - (self.reduce_s or 0.0)

    @property
    def computation(self) -> tuple[float, float, float]:
        """Seconds of both passes and of the backward pass, and the overlap, as an iteration time needs it."""
        return self.compute_s, self.backward_s, overlap_of(self.buckets)

    @property
    def computes(self) -> bool:
        """Whether computation is a part of the iteration that counts."""
        return self.compute_s > 0.01 * self.seconds


_NCCL = re.compile(r"^#\s+nThread|^#.*\balgbw\b.*\bbusbw\b|^#\s*nccl-tests", re.MULTILINE)
_OSU = re.compile(r"^#\s*OSU MPI.*", re.MULTILINE)
_RANK = re.compile(r"^#\s+Rank\s+(\d+)\b.*?\bon\s+(\S+)\s+device", re.MULTILINE)
_NCCL_TIME = 5  # size, count, type, redop, root, time in us: out of place


def is_benchmark_text(text: str) -> bool:
    """Whether a text is what one of the benchmarks printed."""
    return bool(_NCCL.search(text) or _OSU.search(text))


def measurements_from_benchmark(
    text: str, *, servers: int | None = None, workers: int | None = None, concurrent: int = 1
) -> tuple[Measurement, ...]:
    r"""Return a measurement for every message size.

    Examples
    --------
    >>> text = "# OSU MPI Allreduce Latency Test v7.4\n# Size  Avg Latency(us)\n1048576  1800.5\n"
    >>> row, = measurements_from_benchmark(text, servers=2, workers=2)
    >>> row.message_mb, row.seconds
    (1.048576, 0.0018005)
    """
    if _OSU.search(text):
        heading = _OSU.search(text)
        if heading is not None and "allreduce" not in heading[0].lower():
            raise InputError("is the output of an OSU benchmark, but not of osu_allreduce")
        rows = list(_osu_rows(text))
    else:
        ranks = {int(rank): host for rank, host in _RANK.findall(text)}
        if ranks:
            workers = len(ranks) if workers is None else workers
            servers = len(set(ranks.values())) if servers is None else servers
        rows = list(_nccl_rows(text))
    for name, value in (("--servers", servers), ("--ranks", workers)):
        if value is None:
            raise InputError(f"does not contain the placement of the job; give {name}")
    if not rows:
        raise InputError("is the output of a benchmark, but has no line with a time")
    return tuple(
        build(
            Measurement,
            {
                "servers": servers,
                "workers": workers,
                "concurrent": concurrent,
                "message_mb": size_bytes / 1e6,
                "seconds": time_us / 1e6,
            },
            f"line {line}",
        )
        for line, size_bytes, time_us in rows
    )


def _osu_rows(text: str) -> Iterator[tuple[int, int, float]]:
    for line, cells in _data(text):
        if len(cells) >= 2 and cells[0].isdigit() and (time_us := _float(cells[1])) is not None:
            yield line, int(cells[0]), time_us


def _nccl_rows(text: str) -> Iterator[tuple[int, int, float]]:
    for line, cells in _data(text):
        if len(cells) > _NCCL_TIME and cells[0].isdigit() and int(cells[0]) > 0:
            time_us = _float(cells[_NCCL_TIME])
            if time_us is not None:
                yield line, int(cells[0]), time_us


def _data(text: str) -> Iterator[tuple[int, list[str]]]:
    for row, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield row, line.split()


def _float(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


COLUMNS = tuple(field.name for field in fields(Measurement))
REQUIRED = tuple(field.name for field in fields(Measurement) if field.default is MISSING)
_WHOLE = ("servers", "workers", "concurrent", "buckets")


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
            raise InputError(f"column {name!r} is given twice; remove one", place="line 1")


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
    """Return a number if the cell is one; `Measurement` reports anything else."""
    try:
        return int(cell) if name in _WHOLE else float(cell)
    except ValueError:
        return cell
