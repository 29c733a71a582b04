"""Slurm's accounting: what `sacct -P` prints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ringsched.formats.traces.options import ReadOptions
from ringsched.formats.traces.rows import (
    NO_SUBMIT,
    BadRow,
    NotThisFormat,
    TraceRow,
    checked_duration_s,
)
from ringsched.formats.traces.slurm import (
    checked_gpus,
    checked_times,
    name_of_job,
    recorded_on,
)
from ringsched.formats.traces.table import (
    Cells,
    Layout,
    Lines,
    open_table,
    read_rows,
)
from ringsched.formats.traces.values import elapsed_s

RESOURCES = ("alloctres", "reqtres", "allocgres", "reqgres")
USUAL_FIELDS = "JobID,Submit,Start,End,State,AllocTRES,NodeList"


def _read(row: Cells) -> TraceRow:
    name = name_of_job(row.text("jobid"), row.line)  # first: most lines are steps
    state = row.text("state")
    start, end = row.instant("start"), row.instant("end")
    if end is None and start is not None:
        end = _end(row, start)
    start, end = checked_times(start, end, state)
    gpus = checked_gpus(*map(row.text, RESOURCES))
    submit = row.instant("submit")
    if submit is None:
        raise BadRow(NO_SUBMIT)
    return TraceRow(
        line=row.line,
        submit=submit,
        duration_s=checked_duration_s(end - start, "End - Start"),
        gpus=gpus,
        name=name,
        recorded=recorded_on(row.text("nodelist"), start, end, gpus),
        start=start,
    )


def _end(row: Cells, start: float) -> float | None:
    """Return the end by the elapsed time, if the list has no column `End`; a running job has no end."""
    if "end" in row.layout.columns:
        return None
    raw_s, text = row.number("elapsedraw"), row.text("elapsed")
    taken_s = raw_s if raw_s is not None or text is None else elapsed_s(text)
    return None if taken_s is None else start + taken_s


class Sacct:
    """The format of `sacct -P`, and of `sacct -p`."""

    takes = frozenset({"time_zone", "where"})
    records_places = True

    def rows(self, path: Path, options: ReadOptions) -> Iterator[TraceRow | BadRow]:
        """Yield every line: a job, or why it is none."""
        with open_table(path) as lines:
            _check(lines, path)
            layout = Layout(lines.columns, zone=options.time_zone, delimiter=lines.delimiter)
            yield from read_rows(lines, layout, options, _read)


def _check(lines: Lines, path: Path) -> None:
    columns = lines.columns
    lacking = [name for name in ("JobID", "Submit", "Start") if name.lower() not in columns]
    if not columns.keys() & {"end", "elapsedraw", "elapsed"}:
        lacking.append("End")
    if not columns.keys() & set(RESOURCES):
        lacking.append("AllocTRES")
    if lacking:
        raise NotThisFormat(
            f"column {lacking[0]!r} is missing: not a trace of this format, "
            f"write it with sacct -P -o {USUAL_FIELDS}",
            place=f"line {lines.header_line}",
            file=str(path),
        )


SACCT = Sacct()
