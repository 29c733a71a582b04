"""The format of Tiresias and of the simulators that read its files; times in seconds."""

from __future__ import annotations

from ringsched.formats.traces.rows import TraceRow
from ringsched.formats.traces.table import Cells, Table


def read_job(row: Cells) -> TraceRow:
    """Return the job of a row."""
    return TraceRow(
        line=row.line,
        submit=row.seconds("submit_time"),
        duration_s=row.duration_s("duration"),
        gpus=row.gpus("num_gpu"),
        name=row.name("job_id"),
        model=row.text("model_name"),
    )


COLUMNS = ("job_id", "num_gpu", "submit_time", "model_name", "duration")

TIRESIAS = Table(
    columns=COLUMNS,
    others=("iterations", "interval"),
    not_with=("iteration_time", "expect_time_list"),
    read=read_job,
)
