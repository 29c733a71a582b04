"""SenseTime's Helios (cluster_log.csv): local times without an offset, durations in seconds."""

from __future__ import annotations

from ringsched.formats.traces.rows import TraceRow
from ringsched.formats.traces.table import Cells, Table


def _read(row: Cells) -> TraceRow:
    gpus = row.gpus("gpu_num")  # first: more than half of the rows are jobs without GPUs
    return TraceRow(
        line=row.line,
        submit=row.submit("submit_time"),
        duration_s=row.duration_s("duration"),
        gpus=gpus,
        name=row.name("job_id"),
    )


HELIOS = Table(
    columns=("job_id", "gpu_num", "submit_time", "duration"),
    others=("user", "vc", "cpu_num", "node_num", "state", "start_time", "end_time", "queue"),
    read=_read,
)
