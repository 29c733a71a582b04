"""Muri's traces: the columns of Tiresias and more, all times in milliseconds."""

from __future__ import annotations

from ringsched.formats.traces.table import Cells, Table, TraceRow

MILLISECOND_S = 1e-3


def _read(row: Cells) -> TraceRow:
    return TraceRow(
        line=row.line,
        submit=row.seconds("submit_time", unit_s=MILLISECOND_S),
        duration_s=row.duration_s("duration", unit_s=MILLISECOND_S),
        gpus=row.gpus("num_gpu"),
        name=row.name("job_id"),
        model=row.text("model_name"),
    )


# `iteration_time` is what tells it from the format of Tiresias, whose times are in seconds.
MURI = Table(("job_id", "num_gpu", "submit_time", "model_name", "duration", "iteration_time"), _read)
