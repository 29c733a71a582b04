"""Jobs: tables in a scenario, rows of a CSV file, or one job by itself."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ringsched.errors import InputError, UnknownName
from ringsched.formats.catalogue import CATALOGUE
from ringsched.formats.decode import array, build, check_keys, once_each, parse, table
from ringsched.formats.files import read_text
from ringsched.formats.job_description import DESCRIPTION_KEYS, described
from ringsched.model import Job
from ringsched.model.checks import shown

JOB_KEYS = tuple(field.name for field in fields(Job))
KNOWN_KEYS = (*JOB_KEYS, "model", *DESCRIPTION_KEYS)
REQUIRED_KEYS = tuple(field.name for field in fields(Job) if field.default is MISSING)
_ALL_KEYS = frozenset(JOB_KEYS)


def jobs_from_tables(value: object, defaults: Mapping[str, Any] = MappingProxyType({})) -> tuple[Job, ...]:
    """Return the jobs of a scenario's `jobs` array; `defaults` are fields of jobs that do not state them."""
    return tuple(
        job_from_fields({**defaults, **table(entry, f"jobs[{at}]")}, f"jobs[{at}]")
        for at, entry in enumerate(array(value, "jobs"))
    )


def jobs_from_csv(path: Path, defaults: Mapping[str, Any] = MappingProxyType({})) -> tuple[Job, ...]:
    """Return the jobs of a CSV file, one a row, an empty cell meaning an absent field."""
    try:
        return tuple(job_from_fields({**defaults, **fields}, f"line {line}") for line, fields in _rows(path))
    except InputError as error:
        raise error.located(file=str(path)) from None


def tables_from_csv(path: Path) -> list[dict[str, Any]]:
    """Return the fields of the jobs of a CSV file, before they are checked."""
    try:
        return [fields for _, fields in _rows(path)]
    except InputError as error:
        raise error.located(file=str(path)) from None


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line and the fields of each job."""
    rows = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        header = [name.strip() for name in next(rows, [])]
        _check_header(header)
        for row in rows:
            if any(cell.strip() for cell in row):
                yield rows.line_num, _from_row(header, row, rows.line_num)
    except csv.Error as error:
        raise InputError(f"is not valid CSV: {error}", place=f"line {rows.line_num}") from None


def lines_of_jobs(path: Path) -> list[int]:
    """Return the line on which each job of a CSV file ends."""
    rows = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    next(rows, None)
    return [rows.line_num for row in rows if any(cell.strip() for cell in row)]


def job_from_fields(given: Mapping[str, Any], place: str) -> Job:
    """Return a job; a model fills in what the job does not state itself, other fields are derived."""
    if _ALL_KEYS.issuperset(given) and None not in given.values():
        # The usual case first: a scenario may have a million jobs. What is wrong, and where, is said below.
        with contextlib.suppress(InputError, TypeError):
            return Job(**given)
    if isinstance(name := given.get("name"), str) and name.isprintable():
        place = f"{place} {name!r}"
    stated = dict(given)
    known = _known(stated.pop("model"), place) if "model" in stated else {}
    check_keys(stated, KNOWN_KEYS, (), place)
    stated = build(described, {"stated": stated, "known": known}, place)
    check_keys(stated, JOB_KEYS, REQUIRED_KEYS, place)
    return build(Job, stated, place)


def _known(model: object, place: str) -> dict[str, Any]:
    if not isinstance(model, str):
        raise InputError(f"must be the name of a model, not {shown(model)}", field="model", place=place)
    if model not in CATALOGUE:
        raise UnknownName("model", model, CATALOGUE, place=place)
    return CATALOGUE[model].fields()


def _check_header(header: list[str]) -> None:
    if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
        raise InputError("has one column; separate the cells by commas", place="line 1")
    columns = dict.fromkeys(header, "")
    check_keys(columns, KNOWN_KEYS, ("name", "gpus", "iterations"), "line 1")
    for name in header:
        if header.count(name) > 1:
            raise InputError(f"column {name!r} is given twice", place="line 1")


def _from_row(header: list[str], row: list[str], line: int) -> dict[str, Any]:
    if len(row) != len(header):
        raise InputError(f"has {len(row)} cells, the header {len(header)}", place=f"line {line}")
    return {
        name: field_from_text(name, text)
        for name, cell in zip(header, row, strict=True)
        if (text := cell.strip())
    }


def field_from_text(name: str, text: str) -> object:
    """Return a field of a job from the text in a CSV cell or a command."""
    return _READERS.get(name, _number)(text)


def _number(cell: str) -> object:
    """Return a number if the cell is one; the model says what is wrong with anything else."""
    if "_" in cell:  # Python would read 1_000 as a number
        return cell
    kinds = (float,) if "." in cell else (int, float)  # a failed try costs more than the look
    for kind in kinds:
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


def _json(cell: str) -> object:
    try:
        return json.loads(cell, object_pairs_hook=once_each)
    except (ValueError, RecursionError):
        return cell


_READERS: Mapping[str, Callable[[str], object]] = {
    "name": str,
    "model": str,
    "layout": str,
    "running_on": _json,
    "requires": _json,
}


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
