"""Muri's traces: the columns of Tiresias and more, all times in milliseconds."""

from __future__ import annotations

from ringsched.formats.traces.options import Units
from ringsched.formats.traces.rows import Figures, TraceRow
from ringsched.formats.traces.table import Cells, Table
from ringsched.formats.traces.values import UNITS_S

MILLISECOND_S = UNITS_S["ms"]


def _read(row: Cells) -> TraceRow:
    return TraceRow(
        line=row.line,
        submit=row.seconds("submit_time"),
        duration_s=row.duration_s("duration"),
        gpus=row.gpus("num_gpu"),
        name=row.name("job_id"),
        model=row.text("model_name"),
        figures=_figures(row),
    )


def _figures(row: Cells) -> Figures | None:
    """Return the time of an iteration, and of its exchange, which is the third of the resource times."""
    iteration_ms, exchange_ms = row.number("iteration_time"), row.number("resource_time_2")
    if iteration_ms is None or iteration_ms <= 0:
        return None
    exchange_s = None if exchange_ms is None or exchange_ms < 0 else exchange_ms * MILLISECOND_S
    return Figures(iteration_ms * MILLISECOND_S, exchange_s)


# `iteration_time` is what tells it from the format of Tiresias, whose times are in seconds.
MURI = Table(
    columns=("job_id", "num_gpu", "submit_time", "model_name", "duration", "iteration_time"),
    others=("iterations", "batch_size", "interval", "resource_time_0", "resource_time_1", "resource_time_2"),
    read=_read,
    units=Units(*[MILLISECOND_S] * 4),
)
