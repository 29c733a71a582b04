"""Scenarios as text: JSON with everything in it, or TOML with the jobs in a CSV file beside it."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from ringsched.errors import InputError
from ringsched.formats.files import check_writable, write_lines
from ringsched.model import Cluster, Job, Placement, Scenario
from ringsched.model.cluster import RACKS, SWITCHES
from ringsched.model.eligibility import Labels


def jobs_lines(jobs: Sequence[Job]) -> Iterator[str]:
    """Yield the lines of a jobs_file; a column that would only hold defaults is left out.

    Examples
    --------
    >>> from ringsched.formats.scenario import load_scenario
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
    if isinstance(value, Labels):
        return json.dumps(value.expanded(), ensure_ascii=False)
    return value  # numbers are written so that they are read back the same; None as an empty cell


def scenario_to_json(scenario: Scenario) -> str:
    """Return the expanded scenario as JSON that people can read.

    Examples
    --------
    >>> from ringsched.formats.scenario import load_scenario
    >>> scenario_to_json(load_scenario("examples/first.toml")).splitlines()[:2]
    ['{', ' "name": "first",']
    """
    return "".join(scenario_lines(scenario))


def check_can_be_saved(scenario: Scenario) -> None:
    """Refuse a scenario that no file can hold."""
    if not isinstance(scenario.contention.model, str):
        name = scenario.contention.model_name
        raise InputError(
            f"= {name!r} is a custom model, which a scenario file cannot hold", field="contention.model"
        )


def scenario_lines(scenario: Scenario) -> Iterator[str]:
    """Yield the same text piece by piece: a million jobs as nested dicts would not fit the memory."""
    check_can_be_saved(scenario)
    fields = scenario.replace(jobs=()).expanded()
    written = {key: _dumps(value) for key, value in fields.items() if key != "jobs"}
    written["cluster"] = _cluster(fields["cluster"])
    yield "{\n" + "".join(f' "{key}": {value},\n' for key, value in written.items()) + ' "jobs": '
    yield from _lines(map(_job, scenario.jobs), 1)
    yield "\n}\n"


def _cluster(fields: Mapping[str, Any]) -> str:
    written = {key: _dumps(value) for key, value in fields.items()}
    written["servers"] = "".join(_lines(map(_dumps, fields["servers"]), 2))
    inner = ",\n".join(f'  "{key}": {value}' for key, value in written.items())
    return f"{{\n{inner}\n }}"


def _lines(entries: Iterable[str], depth: int) -> Iterator[str]:
    before, between = f"[\n{' ' * (depth + 1)}", f",\n{' ' * (depth + 1)}"
    is_empty = True
    for entry in entries:
        yield before + entry
        before, is_empty = between, False
    yield "[]" if is_empty else f"\n{' ' * depth}]"


def _job(job: Job) -> str:
    """Return the expanded job as JSON, four times as fast as a general encoder: a trace has a million."""
    optionals = job.optionals()
    return (
        f'{{"name": {_dumps(job.name)}, "gpus": {job.gpus}, "iterations": {job.iterations}, '
        f'"gradient_mb": {job.gradient_mb!r}, "minibatch": {job.minibatch}, '
        f'"forward_ms": {job.forward_ms!r}, "backward_ms": {job.backward_ms!r}, '
        f'"submit_s": {job.submit_s!r}, "weight": {job.weight!r}, "server_slack": {job.server_slack!r}'
        f"{', ' + _dumps(optionals)[1:-1] if optionals else ''}}}"
    )


_dumps = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def save_scenario(scenario: Scenario, path: str | os.PathLike[str]) -> None:
    """Write a scenario: as JSON, or where the name ends in .toml as TOML with a jobs_file beside it.

    Each file is written atomically, the jobs first.

    Examples
    --------
    >>> import ringsched, tempfile
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     ringsched.save_scenario(scenario, f"{directory}/copy.toml")
    ...     ringsched.load_scenario(f"{directory}/copy.toml").sha256() == scenario.sha256()
    True
    """
    path = Path(path)
    jobs_file = jobs_file_of(path)
    if jobs_file is None:
        write_lines(path, scenario_lines(scenario))
        return
    check_can_be_saved(scenario)
    check_writable(path)
    write_lines(jobs_file, jobs_lines(scenario.jobs))
    write_lines(path, _toml(scenario.replace(jobs=()).expanded(), jobs_file.name))


def save_cluster(
    cluster: Cluster, path: str | os.PathLike[str], *, name: str = "", comments: Sequence[str] = ()
) -> None:
    """Write a scenario file that holds a cluster and nothing else, atomically; TOML if it is named so.

    Contention and time are left to the commands that read it. JSON has no comments.
    """
    path = Path(path)
    write_lines(
        path, _cluster_toml(cluster, name, comments) if is_toml(path) else cluster_lines(cluster, name)
    )


def cluster_lines(cluster: Cluster, name: str = "") -> Iterator[str]:
    """Yield the text of the JSON file."""
    head = f' "name": {_dumps(name)},\n' if name else ""
    yield f'{{\n{head} "cluster": {_cluster(cluster.expanded())}\n}}\n'


def _cluster_toml(cluster: Cluster, name: str, comments: Sequence[str]) -> Iterator[str]:
    yield from (f"# {' '.join(comment.split())}\n" for comment in comments)
    yield from _entries({"name": name} if name else {})
    yield from _toml_cluster(cluster.expanded())


def is_toml(path: Path) -> bool:
    """Whether a file is named as TOML."""
    return path.suffix.lower() == ".toml"


def jobs_file_of(path: Path) -> Path | None:
    """Return where the jobs go that are not written into the scenario itself, if they are not."""
    return path.with_suffix(".jobs.csv") if is_toml(path) else None


def _toml(fields: Mapping[str, Any], jobs_file: str) -> Iterator[str]:
    head = {key: fields[key] for key in ("name",) if key in fields} | {"jobs_file": jobs_file}
    yield from _entries(head)
    for section in ("time", "contention"):
        yield f"\n[{section}]\n"
        yield from _entries(fields[section])
    yield from _toml_cluster(fields["cluster"])


def _toml_cluster(fields: Mapping[str, Any]) -> Iterator[str]:
    cluster = dict(fields)
    servers = cluster.pop("servers")
    switches = {words.table: cluster.pop(words.table, {}) for words in (SWITCHES, RACKS)}
    yield "\n[cluster]\n"
    yield from _entries(cluster)
    yield "servers = [\n"
    yield from (f"  {_inline(server)},\n" for server in servers)
    yield "]\n"
    for table, entries in switches.items():
        for name, switch in entries.items():
            yield f"\n[cluster.{table}.{_value(name)}]\n"
            yield from _entries(switch)


def _entries(fields: Mapping[str, Any]) -> Iterator[str]:
    return (f"{key} = {_value(value)}\n" for key, value in fields.items())


def _inline(fields: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{_key(key)} = {_value(value)}" for key, value in fields.items()) + " }"


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: object) -> str:
    """Return a number, a list of them or a text, which TOML and JSON write alike; or a table."""
    if isinstance(value, Mapping):
        return _inline(value)
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
