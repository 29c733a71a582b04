"""What nccl-tests (all_reduce_perf) and the OSU benchmarks (osu_allreduce) print."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ringsched.calibrate.measurement import Measurement
from ringsched.errors import InputError
from ringsched.io.decode import build

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
    for name, value in (("--servers", servers), ("--workers", workers)):
        if value is None:
            raise InputError(f"does not say how the job was placed; give {name}")
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
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.split()


def _float(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
