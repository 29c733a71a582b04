"""Slurm's job completion log (jobcomp/filetxt): lines of `Key=value` pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from pathlib import Path

from ringsched.errors import InputError
from ringsched.formats.traces.options import ReadOptions, RowFilter
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
from ringsched.formats.traces.table import open_trace
from ringsched.formats.traces.values import ABSENT, instant_of

# A value may hold blanks, so it ends where the next key begins.
_PAIR = re.compile(r"(?:^|\s)([A-Z]\w*)=(.*?)(?=\s[A-Z]\w*=|\s*$)")
FIELDS = (
    *("JobId", "UserId", "GroupId", "Name", "JobState", "Partition", "TimeLimit", "StartTime", "EndTime"),
    *("NodeList", "NodeCnt", "ProcCnt", "WorkDir", "ReservationName", "Tres", "Account", "QOS", "WcKey"),
    *("Cluster", "SubmitTime", "EligibleTime", "ArrayJobId", "ArrayTaskId", "DerivedExitCode", "ExitCode"),
)


class JobCompletions:
    """The format of `jobcomp/filetxt`."""

    takes = frozenset({"time_zone", "where"})
    records_places = True

    def rows(self, path: Path, options: ReadOptions) -> Iterator[TraceRow | BadRow]:
        """Yield every line that is not blank: a job, or why it is none."""
        keys = [field.lower() for field in FIELDS]
        rows = RowFilter(options.where, {key: at for at, key in enumerate(keys)})
        with open_trace(path) as lines:
            numbered = ((at, line) for at, line in enumerate(lines, 1) if line.strip())
            is_first = True
            for at, line in numbered:
                pairs = {key.lower(): value.strip() for key, value in _PAIR.findall(line)}
                if is_first and not {"jobid", "jobstate"} <= pairs.keys():
                    problem = "has no JobId=... JobState=...: not a trace of this format"
                    raise NotThisFormat(problem, place=f"line {at}", file=str(path))
                is_first = False
                try:
                    if (condition := rows.refused([pairs.get(key, "") for key in keys])) is not None:
                        raise BadRow(f"not {condition}")
                    yield _read(pairs, at, options.time_zone)
                except BadRow as bad:
                    yield bad.on(at)
            if is_first:
                raise InputError("is empty", file=str(path))


def _read(pairs: Mapping[str, str], line: int, zone: tzinfo) -> TraceRow:
    if "jobid" not in pairs:
        raise BadRow("not a record", field="the line", problem="has no JobId=...")
    start = instant_of(_known(pairs, "starttime"), "StartTime", zone)
    end = instant_of(_known(pairs, "endtime"), "EndTime", zone)
    submit = instant_of(_known(pairs, "submittime"), "SubmitTime", zone)
    start, end = checked_times(start, end, pairs.get("jobstate"))
    gpus = checked_gpus(pairs.get("tres"), pairs.get("gres"))
    if submit is None:
        raise BadRow(NO_SUBMIT)
    return TraceRow(
        line=line,
        submit=submit,
        duration_s=checked_duration_s(end - start, "EndTime - StartTime"),
        gpus=gpus,
        name=_name(pairs, line),
        recorded=recorded_on(pairs.get("nodelist"), start, end, gpus),
        start=start,
    )


def _known(pairs: Mapping[str, str], key: str) -> str | None:
    text = pairs.get(key, "")
    return None if text.lower() in ABSENT else text


def _name(pairs: Mapping[str, str], line: int) -> str:
    array, task = pairs.get("arrayjobid", "0"), pairs.get("arraytaskid", "")
    return name_of_job(f"{array}_{task}" if array != "0" and task else pairs["jobid"], line)


JOBCOMP = JobCompletions()
