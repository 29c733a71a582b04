"""Shanghai AI Lab's Acme, both clusters (trace_seren.csv, trace_kalos.csv): times with an offset from UTC."""

from __future__ import annotations

from ringsched.formats.traces.rows import TraceRow, checked_duration_s
from ringsched.formats.traces.table import Cells, Table


def _read(row: Cells) -> TraceRow:
    gpus = row.gpus("gpu_num")  # first: about half of the rows are jobs without GPUs
    start, end = row.instant("start_time"), row.instant("end_time")
    # The column `duration` of Kalos counts the time in the queue as well, so it comes second.
    if start is None or end is None:
        duration_s = row.duration_s("duration")
    else:
        duration_s = checked_duration_s(end - start, "end_time - start_time")
    return TraceRow(
        line=row.line,
        submit=row.submit("submit_time"),
        duration_s=duration_s,
        gpus=gpus,
        name=row.name("job_id"),
        start=start,
    )


ACME = Table(
    columns=("job_id", "gpu_num", "submit_time", "start_time", "end_time", "duration"),
    others=("user", "node_num", "cpu_num", "type", "state", "queue", "gpu_time"),
    read=_read,
)
