"""Jobs, from tables in a scenario or rows of a CSV file."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from ringsched.errors import InputError, UnknownName
from ringsched.io.catalogue import CATALOGUE
from ringsched.io.decode import array, build, check_keys, once_each, table
from ringsched.io.files import read_text
from ringsched.model import Job
from ringsched.model.checks import shown

JOB_KEYS = tuple(field.name for field in fields(Job))
KNOWN_KEYS = (*JOB_KEYS, "model")
REQUIRED_KEYS = tuple(field.name for field in fields(Job) if field.default is MISSING)
_ALL_KEYS = frozenset(JOB_KEYS)


def jobs_from_tables(value: object) -> tuple[Job, ...]:
    """Return the jobs of a scenario's `jobs` array."""
    return tuple(
        job_from_fields(table(entry, f"jobs[{at}]"), f"jobs[{at}]")
        for at, entry in enumerate(array(value, "jobs"))
    )


def jobs_from_csv(path: Path) -> tuple[Job, ...]:
    """Return the jobs of a CSV file, one a row, an empty cell meaning an absent field."""
    try:
        rows = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
        header = [name.strip() for name in next(rows, [])]
        _check_header(header)
        return tuple(
            job_from_fields(_from_row(header, row, rows.line_num), f"line {rows.line_num}")
            for row in rows
            if any(cell.strip() for cell in row)
        )
    except csv.Error as error:
        raise InputError(
            f"is not valid CSV: {error}", place=f"line {rows.line_num}", file=str(path)
        ) from None
    except InputError as error:
        raise error.located(file=str(path)) from None


def lines_of_jobs(path: Path) -> list[int]:
    """Return the line on which each job of a CSV file ends."""
    rows = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    next(rows, None)
    return [rows.line_num for row in rows if any(cell.strip() for cell in row)]


def job_from_fields(given: Mapping[str, Any], place: str) -> Job:
    """Return a job; a model fills in what the job does not state itself."""
    if _ALL_KEYS.issuperset(given) and None not in given.values():
        # The usual case first: a scenario may have a million jobs. What is wrong, and where, is said below.
        with contextlib.suppress(InputError, TypeError):
            return Job(**given)
    if isinstance(name := given.get("name"), str) and name.isprintable():
        place = f"{place} {name!r}"
    stated = dict(given)
    if "model" in stated:
        stated = _known(stated.pop("model"), place) | stated
    check_keys(stated, KNOWN_KEYS, REQUIRED_KEYS, place)
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
            raise InputError(f"column {name!r} stands twice", place="line 1")


def _from_row(header: list[str], row: list[str], line: int) -> dict[str, Any]:
    if len(row) != len(header):
        raise InputError(f"has {len(row)} cells, the header {len(header)}", place=f"line {line}")
    return {
        name: field_from_text(name, text)
        for name, cell in zip(header, row, strict=True)
        if (text := cell.strip())
    }


def field_from_text(name: str, text: str) -> object:
    """Return a field of a job as it stands in a cell of CSV, or in a command."""
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


_READERS: Mapping[str, Callable[[str], object]] = {"name": str, "model": str, "running_on": _json}
