"""The Standard Workload Format of the Parallel Workloads Archive: lines of 18 numbers, in seconds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from ringsched.errors import InputError
from ringsched.formats.traces.options import ReadOptions, Units
from ringsched.formats.traces.rows import (
    NEVER_STARTED,
    NO_GPU,
    NO_SUBMIT,
    BadRow,
    NotThisFormat,
    TraceRow,
    checked_duration_s,
    malformed,
)
from ringsched.formats.traces.table import open_trace
from ringsched.model.checks import shown

NUM_FIELDS = 18
# Positions of the fields, and what they are called.
JOB, SUBMIT, WAIT, RUN, ALLOCATED, REQUESTED = 0, 1, 2, 3, 4, 7


class StandardWorkload:
    """The format of the archive; -1 is an unknown value."""

    takes = frozenset({"time_unit", "processors_per_gpu"})
    records_places = False

    def rows(self, path: Path, options: ReadOptions) -> Iterator[TraceRow | BadRow]:
        """Yield every line that is neither blank nor a comment: a job, or why it is none."""
        per_gpu, units = options.processors_per_gpu, options.units(Units())
        counted = "a processor is" if per_gpu == 1 else f"{per_gpu} processors are"
        options.note(f"{counted} one GPU; --processors-per-gpu sets it")
        is_first, is_blank = True, True
        with open_trace(path) as lines:
            for at, line in enumerate(lines, 1):
                is_blank = is_blank and not line.strip()
                cells = line.split()
                if not cells or cells[0].startswith(";"):
                    continue
                if is_first and len(cells) != NUM_FIELDS:
                    problem = (
                        f"has {len(cells)} fields, not the {NUM_FIELDS} numbers of a job: not a trace of "
                    )
                    raise NotThisFormat(f"{problem}this format", place=f"line {at}", file=str(path))
                is_first = False
                try:
                    yield _read(cells, at, per_gpu, units)
                except BadRow as bad:
                    yield bad.on(at)
        if is_blank:
            raise InputError("is empty", file=str(path))


def _read(cells: Sequence[str], line: int, per_gpu: int, units: Units) -> TraceRow:
    if len(cells) != NUM_FIELDS:
        problem = f"has {len(cells)} fields, not {NUM_FIELDS}"
        raise BadRow("wrong number of cells", field="the line", problem=problem)
    processors = _number(cells, ALLOCATED, "allocated processors")
    if processors <= 0:
        processors = _number(cells, REQUESTED, "requested processors")
    if processors <= 0:
        raise BadRow(NO_GPU)
    run_s = _number(cells, RUN, "run time") * units.duration
    if run_s < 0:
        raise BadRow(NEVER_STARTED)
    submit = _number(cells, SUBMIT, "submit time") * units.submit
    if submit < 0:
        raise BadRow(NO_SUBMIT)
    gpus = math.ceil(processors / per_gpu)
    wait = _number(cells, WAIT, "wait time")
    return TraceRow(
        line=line,
        submit=submit,
        duration_s=checked_duration_s(run_s, "run time"),
        gpus=gpus,
        name=cells[JOB] if cells[JOB].isprintable() else f"job-{line}",
        note="processors rounded up to whole GPUs" if gpus * per_gpu != processors else None,
        start=submit + wait * units.start if wait >= 0 else None,
    )


def _number(cells: Sequence[str], at: int, field: str) -> float:
    try:
        number = float(cells[at])
    except ValueError:
        number = math.nan
    if not abs(number) <= 1e13 or "_" in cells[at]:
        raise malformed(field, f"must be a number, not {shown(cells[at])}")
    return number


SWF = StandardWorkload()
