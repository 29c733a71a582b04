"""Alibaba's Lingjun trace of 2023: a table of jobs, one of their workers, and one of the network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ringsched.errors import InputError
from ringsched.formats.traces.options import ReadOptions
from ringsched.formats.traces.rows import (
    NEVER_STARTED,
    STILL_RUNNING,
    BadRow,
    Recorded,
    TraceRow,
    checked_duration_s,
    malformed,
)
from ringsched.formats.traces.table import (
    TABLE_OPTIONS,
    Cells,
    Layout,
    Table,
    cells_of,
    open_table,
)
from ringsched.model.checks import shown

NO_WORKERS = "no workers recorded"
WORKER_COLUMNS = ("job_name", "host_ip", "res")
TOPOLOGY_COLUMNS = ("ip", "asw")
Workers = dict[str, dict[str, int]]  # job -> host -> GPUs


def gpus_in_resources(text: str) -> int:
    """Return the GPUs in the resources of a worker, a JSON object.

    Examples
    --------
    >>> gpus_in_resources('{"cpu": "90", "nvidia.com/gpu": "8"}'), gpus_in_resources('{"GPU": 2}')
    (8, 2)
    """
    try:
        resources = json.loads(text.replace("'", '"'))
        return sum(int(float(value)) for key, value in _entries(resources) if key.lower().endswith("gpu"))
    except (ValueError, TypeError, RecursionError):
        raise malformed("RES", f"must be a JSON object of resources, not {shown(text)}") from None


def _entries(resources: object) -> Iterator[tuple[str, float | str]]:
    """Yield names and amounts, also of objects such as `{"limits": {...}}`; requests repeat limits."""
    if not isinstance(resources, dict):
        raise ValueError
    for key, value in resources.items():
        if isinstance(value, dict):
            if not (key == "requests" and "limits" in resources):
                yield from _entries(value)
        else:
            yield str(key), value


def read_workers(path: Path, options: ReadOptions) -> Workers:
    """Return the GPUs of each job on each host; rows that cannot be read are noted and left out."""
    workers: Workers = {}
    num_bad = 0
    with open_table(path) as lines:
        for column in WORKER_COLUMNS:
            if column not in lines.columns:
                raise InputError(f"column {column!r} is missing: not a table of workers", file=str(path))
        layout = Layout(lines.columns, zone=options.time_zone)
        for at, line in lines.numbered:
            cells = cells_of(line, lines.delimiter)
            try:
                if len(cells) != len(lines.header):
                    raise BadRow("wrong number of cells")
                row = Cells(at, cells, layout)
                job, host, resources = (row.text(column) for column in WORKER_COLUMNS)
                gpus = 0 if resources is None else gpus_in_resources(resources)
            except BadRow:
                num_bad += 1
                continue
            if job is None or host is None or not host.isprintable():
                num_bad += 1
            elif gpus:
                held = workers.setdefault(job, {})
                held[host] = held.get(host, 0) + gpus
    if num_bad:
        options.note(f"{num_bad} rows of {path.name} cannot be read and are left out")
    return workers


def read_topology(path: Path) -> dict[str, str]:
    """Return the access switch of each host."""
    switches: dict[str, str] = {}
    with open_table(path) as lines:
        for column in TOPOLOGY_COLUMNS:
            if column not in lines.columns:
                raise InputError(f"column {column!r} is missing: not a table of the network", file=str(path))
        for _, line in lines.numbered:
            cells = cells_of(line, lines.delimiter)
            if len(cells) == len(lines.header):
                host, switch = (cells[lines.columns[column]].strip() for column in TOPOLOGY_COLUMNS)
                if host and switch and host.isprintable() and switch.isprintable():
                    switches.setdefault(host, switch)
    return switches


@dataclass(frozen=True, slots=True)
class _Reader:
    workers: Workers

    def __call__(self, row: Cells) -> TraceRow:
        name = row.name("job_name")
        held = self.workers.get(name)
        if held is None:
            raise BadRow(NO_WORKERS)
        start = row.instant("gmt_job_running")
        end = row.instant("gmt_job_finished")
        if end is None:
            end = row.instant("gmt_job_stopped")
        if start is None:
            raise BadRow(NEVER_STARTED)
        if end is None:
            raise BadRow(STILL_RUNNING)
        submit = row.submit("gmt_job_submitted")
        return TraceRow(
            line=row.line,
            # The table has jobs that start before they were submitted.
            submit=min(submit, start),
            duration_s=checked_duration_s(end - start, "gmt_job_finished - gmt_job_running"),
            gpus=sum(held.values()),
            name=name,
            model=row.text("model"),
            recorded=Recorded(start, end, held),
            note="started before their submission: submitted at their start" if submit > start else None,
            start=start,
        )


class Lingjun:
    """The table of jobs, together with that of their workers."""

    takes = TABLE_OPTIONS | {"worker_table", "topology_table"}
    records_places = True
    columns = ("job_name", "gmt_job_submitted", "gmt_job_running", "gmt_job_finished", "gmt_job_stopped")
    others = ("kind", "model", "status", "priority")

    def rows(self, path: Path, options: ReadOptions) -> Iterator[TraceRow | BadRow]:
        """Yield every job, or why it is none."""
        table = Table(columns=self.columns, read=_Reader({}))
        if options.worker_table is None:
            with open_table(path) as lines:  # to say first that it is another format altogether
                table.check(lines, path, options)
            raise InputError("is required: only the table of workers has GPUs", field="worker_table")
        reader = _Reader(read_workers(options.worker_table, options))
        return Table(columns=self.columns, read=reader).rows(path, options)


LINGJUN = Lingjun()
