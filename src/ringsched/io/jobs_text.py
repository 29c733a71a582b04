"""The text of a jobs_file: CSV, a job a line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields

from ringsched.model import Job, Placement


def jobs_lines(jobs: Sequence[Job]) -> Iterator[str]:
    """Yield the lines of a jobs_file; a column that would only hold defaults is left out.

    Examples
    --------
    >>> from ringsched.io.scenario_file import load_scenario
    >>> "".join(jobs_lines(load_scenario("examples/first.toml").jobs)).splitlines()[0]
    'name,gpus,iterations,gradient_mb,minibatch,forward_ms,backward_ms'
    """
    columns = [
        field.name
        for field in fields(Job)
        if field.default is MISSING or any(getattr(job, field.name) != field.default for job in jobs)
    ]
    line = csv.writer(_Echo(), lineterminator="\n").writerow
    yield line(columns)
    for job in jobs:
        yield line([_cell(getattr(job, column)) for column in columns])


class _Echo:
    """A file that hands back what is written to it."""

    def write(self, text: str) -> str:
        return text


def _cell(value: object) -> object:
    if isinstance(value, Placement):
        return json.dumps({server: list(held) for server, held in value.items()}, ensure_ascii=False)
    return value  # numbers are written so that they are read back the same; None as an empty cell
