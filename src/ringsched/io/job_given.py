"""One job, given on the command line: as fields, or in a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ringsched.errors import InputError
from ringsched.io.decode import array, parse, table
from ringsched.io.jobs import field_from_text, job_from_fields, jobs_from_csv
from ringsched.model import Job


def job_given(text: str, taken: Collection[str] = ()) -> Job:
    """Return the job of `gpus=8,iterations=20000,model=resnet50`, or of a .toml, .json or .csv file.

    A job without a name is called `new`, or `new-2` and so on if that is taken.

    Examples
    --------
    >>> job = job_given("gpus=8,iterations=20000,model=resnet50", taken=["new"])
    >>> job.name, job.gpus, job.gradient_mb
    ('new-2', 8, 99.2)
    """
    path = Path(text)
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return _only(jobs_from_csv(path), path)
    if suffix not in (".toml", ".json"):
        return job_from_table(_fields(text), taken)
    try:
        content = parse(path)
        entries = array(content["jobs"], "jobs") if content.keys() == {"jobs"} else [content]
        tables = [table(entry, f"jobs[{at}]") for at, entry in enumerate(entries)]
        return _only([job_from_table(entry, taken) for entry in tables], path)
    except InputError as error:
        raise error if error.file else error.located(file=str(path)) from None


def job_from_table(fields: Mapping[str, Any], taken: Collection[str] = ()) -> Job:
    """Return the job with these fields; without a name it gets one that is not taken.

    Examples
    --------
    >>> job_from_table({"gpus": 8, "iterations": 20000, "model": "resnet50"}).name
    'new'
    """
    return job_from_fields({"name": _free_name(taken), **fields}, "the job")


def _fields(text: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for part in text.split(","):
        key, sign, value = part.partition("=")
        key, value = key.strip(), value.strip()
        if not sign or not key or not value:
            wanted = "must be written as gpus=8,iterations=20000,... or name a .toml, .json or .csv file"
            raise InputError(f"{wanted}, not {text!r}")
        if key in fields:
            raise InputError(f"states {key} twice")
        fields[key] = field_from_text(key, value)
    return fields


def _only(jobs: Collection[Job], path: Path) -> Job:
    if len(jobs) != 1:
        raise InputError(f"must hold one job, not {len(jobs)}", file=str(path))
    return next(iter(jobs))


def _free_name(taken: Collection[str]) -> str:
    name, number = "new", 2
    while name in taken:
        name, number = f"new-{number}", number + 1
    return name
