"""Which format a file looks like, or how its columns may be mapped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from ringsched.errors import InputError
from ringsched.formats.traces.formats import FORMATS
from ringsched.formats.traces.sacct import RESOURCES
from ringsched.formats.traces.swf import NUM_FIELDS
from ringsched.formats.traces.table import delimiter_of, header_line, header_of, open_trace
from ringsched.formats.traces.values import is_number, without_unit

_LINES = 200  # looked at
_LONGEST = 20_000  # characters of a line

# What columns are called, the most usual first; without what is no letter or digit, and without a unit.
_NAMES: Mapping[str, Sequence[str]] = {
    "submit": (
        *(
            "submittime",
            "submit",
            "submittedtime",
            "submitted",
            "submissiontime",
            "submittedat",
            "submission",
        ),
        *("submitts", "submittimestamp", "arrivaltime", "arrival", "arrivedat", "creationtime", "createtime"),
        *(
            "createdat",
            "created",
            "queued",
            "queuedat",
            "queuetime",
            "enqueuetime",
            "eligible",
            "timestamp",
            "time",
        ),
    ),
    "duration": (
        *("duration", "runtime", "run", "elapsedraw", "elapsed", "elapsedtime", "jobduration", "servicetime"),
        *("walltime", "wallclock", "exectime", "executiontime", "length", "runduration", "runlength"),
    ),
    "gpus": (
        *("gpus", "numgpus", "numgpu", "ngpu", "ngpus", "gpunum", "gpucount", "gpusrequested", "reqgpus"),
        *("gpusallocated", "allocgpus", "requestedgpus", "gpureq", "gpurequest", "totalgpus", "gpu"),
    ),
    "start": (
        *("starttime", "start", "startedat", "started", "begintime", "begin", "startts", "scheduledtime"),
    ),
    "end": (
        *("endtime", "end", "endedat", "ended", "finishtime", "finish", "finishedat", "finished", "endts"),
        *("completiontime", "completedat", "deletiontime", "stoptime"),
    ),
    "name": ("jobid", "id", "jobname", "name", "job", "uuid"),
    "model": ("modelname", "model", "net", "network", "workload"),
    "placement": ("nodelist", "nodes", "hosts", "hostlist", "placement", "machines"),
    "state": ("state", "status", "jobstate"),
}


def likely_map(header: Sequence[str]) -> dict[str, str]:
    """Return the columns that a map would probably name.

    Examples
    --------
    >>> likely_map(["id", "Submit Time", "run_ms", "n_gpu", "user"])
    {'submit': 'Submit Time', 'duration': 'run_ms', 'gpus': 'n_gpu', 'name': 'id'}
    """
    plain: dict[str, str] = {}
    for column in reversed(header):
        plain[_plain(column)] = column
    found: dict[str, str] = {}
    for field, names in _NAMES.items():
        columns = [plain[name] for name in names if name in plain]
        if columns and columns[0] not in found.values():
            found[field] = columns[0]
    if "duration" in found:  # then start and end say nothing more
        found.pop("start", None)
        found.pop("end", None)
    for field in ("placement", "state"):
        found.pop(field, None)
    return found


def _plain(column: str) -> str:
    return re.sub(r"[^a-z0-9]", "", without_unit(column).lower())


def looks_like(lines: Sequence[str]) -> str | None:
    """Return the format that the beginning of a file fits, the closest of several."""
    first = _header(lines).strip()
    if first.startswith("["):
        return "philly-json" if any('"attempts"' in line for line in lines) else None
    if "JobId=" in first and "JobState=" in first:
        return "jobcomp"
    rows = [line.split() for line in lines if line.strip() and not line.lstrip().startswith(";")]
    if rows and len(rows[0]) == NUM_FIELDS and all(map(is_number, rows[0])):
        return "swf"
    columns = {name.lower() for name in header_of(first, delimiter_of(first))}
    if {"jobid", "submit", "start"} <= columns and columns & set(RESOURCES):
        return "sacct"
    fits: dict[str, float] = {}
    for name, known in FORMATS.items():
        needed, others = set(getattr(known, "columns", ())), set(getattr(known, "others", ()))
        if needed and needed <= columns and not columns & set(getattr(known, "not_with", ())):
            fits[name] = len(columns & (needed | others)) - 0.5 * len(others - columns)
    return max(fits, key=fits.__getitem__) if fits else None


def _header(lines: Sequence[str]) -> str:
    written = [line for line in lines if line.strip()]
    return written[header_line(written)].lstrip("#") if written else ""


def suggestion(path: Path, format: str) -> str:
    """Return what to do with a file that is not of `format`, or nothing if that is not known.

    Examples
    --------
    >>> suggestion(Path("tests/traces/itp.csv"), "philly")
    'this looks like itp: ringsched import itp tests/traces/itp.csv'
    """
    try:
        with open_trace(path) as text:
            lines = [line[:_LONGEST] for line in islice(text, _LINES)]
    except InputError:
        return ""
    fitting = looks_like(lines)
    if fitting == "lingjun":
        return f"this looks like lingjun: ringsched import lingjun {path} --worker-table FILE"
    if fitting is not None and fitting != format:
        return f"this looks like {fitting}: ringsched import {fitting} {path}"
    first = _header(lines)
    header = header_of(first, delimiter_of(first))
    mapped = likely_map(header)
    if len(header) < 2 or not mapped.keys() & {"submit", "gpus", "duration"}:
        return ""
    needed = {"submit": "COLUMN", "gpus": "COLUMN"}
    needed |= {} if {"start", "end"} <= mapped.keys() else {"duration": "COLUMN"}
    columns = ",".join(f"{field}={column}" for field, column in (needed | mapped).items())
    quoted = f"'{columns}'" if re.search(r"[^\w=,.:/-]", columns) else columns
    return f"try: ringsched import csv {path} --map {quoted}"
