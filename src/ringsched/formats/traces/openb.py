"""Alibaba's GPU trace of 2023 (openb_pod_list): pods, times in seconds; some ask for part of a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ringsched.formats.traces.generic import PART_OF_A_GPU, ROUNDED
from ringsched.formats.traces.options import DROP, ReadOptions
from ringsched.formats.traces.rows import (
    NEVER_STARTED,
    STILL_RUNNING,
    BadRow,
    TraceRow,
    checked_duration_s,
)
from ringsched.formats.traces.table import TABLE_OPTIONS, Cells, Table

WHOLE_GPU = 1000  # thousandths


@dataclass(frozen=True, slots=True)
class _Reader:
    drops_parts: bool

    def __call__(self, row: Cells) -> TraceRow:
        gpus, milli = row.gpus("num_gpu"), row.number("gpu_milli")
        is_part = gpus == 1 and milli is not None and 0 < milli < WHOLE_GPU
        if is_part and self.drops_parts:
            raise BadRow(PART_OF_A_GPU)
        start, end = row.number("scheduled_time"), row.number("deletion_time")
        if start is None:
            raise BadRow(NEVER_STARTED)
        if end is None:
            raise BadRow(STILL_RUNNING)
        units = row.layout.units
        return TraceRow(
            line=row.line,
            submit=row.seconds("creation_time"),
            duration_s=checked_duration_s(
                end * units.end - start * units.start, "deletion_time - scheduled_time"
            ),
            gpus=gpus,
            name=row.name("name"),
            note=ROUNDED if is_part else None,
            start=start * units.start,
        )


class Pods:
    """The list of pods."""

    takes = TABLE_OPTIONS | {"fractional"}
    records_places = False
    columns = ("name", "num_gpu", "gpu_milli", "creation_time", "deletion_time", "scheduled_time")
    others = ("cpu_milli", "memory_mib", "gpu_spec", "qos", "pod_phase")

    def rows(self, path: Path, options: ReadOptions) -> Iterator[TraceRow | BadRow]:
        """Yield every pod: a job, or why it is none."""
        reader = _Reader(options.fractional == DROP)
        return Table(columns=self.columns, read=reader).rows(path, options)


OPENB = Pods()
