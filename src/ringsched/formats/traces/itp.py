"""Microsoft's ITP, as published with ElasticFlow: `job_id,submission_time,duration,num_gpu`, in seconds.

Variants name the model in `model_name`.
"""

from __future__ import annotations

from ringsched.formats.traces.rows import TraceRow
from ringsched.formats.traces.table import Cells, Table


def _read(row: Cells) -> TraceRow:
    return TraceRow(
        line=row.line,
        submit=row.seconds("submission_time"),
        duration_s=row.duration_s("duration"),
        gpus=row.gpus("num_gpu"),
        name=row.name("job_id"),
        model=row.text("model_name"),
    )


ITP = Table(columns=("job_id", "submission_time", "duration", "num_gpu"), read=_read)
