"""The simulator format of Tiresias: `job_id,num_gpu,submit_time,iterations,model_name,duration,interval`."""

from __future__ import annotations

from ringsched.formats.traces.table import Cells, Table, TraceRow


def _read(row: Cells) -> TraceRow:
    return TraceRow(
        line=row.line,
        submit=row.seconds("submit_time"),
        duration_s=row.duration_s("duration"),
        gpus=row.gpus("num_gpu"),
        name=row.name("job_id"),
        model=row.text("model_name"),
    )


TIRESIAS = Table(("job_id", "num_gpu", "submit_time", "model_name", "duration"), _read)
