"""Microsoft's Philly clusters, as published with AdaptDL: `timestamp,duration,num_gpus,...`."""

from __future__ import annotations

from ringsched.io.traces.rows import TraceRow
from ringsched.io.traces.table import Cells, Table


def _read(row: Cells) -> TraceRow:
    return TraceRow(
        line=row.line,
        submit=row.submit("timestamp"),
        duration_s=row.duration_s("duration"),
        gpus=row.gpus("num_gpus"),
        name=f"job-{row.line}",
    )


PHILLY = Table(("timestamp", "duration", "num_gpus"), _read)
