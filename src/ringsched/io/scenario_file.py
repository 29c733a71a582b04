"""Scenario files: one file, TOML or JSON with the same keys."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from ringsched.errors import InputError
from ringsched.io.decode import array, build, check_keys, parse, table
from ringsched.io.jobs import jobs_from_csv, jobs_from_tables, lines_of_jobs
from ringsched.model import Cluster, Contention, Job, Scenario, Server, Switch, Time
from ringsched.model.checks import MAX_GPUS, integer, text, unique

_SPEEDS = ("inter_server_gbps", "intra_server_gbps", "reduce_gbps")


def load_scenario(path: str | os.PathLike[str]) -> Scenario:
    """Read a scenario file (.toml or .json), or raise an InputError that names file, place and field.

    Examples
    --------
    >>> scenario = load_scenario("examples/first.toml")
    >>> len(scenario.cluster.servers), scenario.jobs[0].name
    (4, 'bert-pretrain')
    """
    path = Path(path)
    try:
        return scenario_from_dict(parse(path), folder=path.parent)
    except InputError as error:
        raise locate(error, path) from None


def locate(error: InputError, path: Path) -> InputError:
    """Return the error with the file it is about: the scenario, or the line of its jobs_file."""
    if error.file:
        return error
    job = re.match(r"jobs\[(\d+)\]", error.place or "")
    jobs_file = input_files(path).get("jobs_file") if job else None
    if job is None or jobs_file is None:
        return error.located(file=str(path))
    line = lines_of_jobs(jobs_file)[int(job[1])]
    return error.located(file=str(jobs_file), place=f"line {line}{(error.place or '')[job.end() :]}")


def input_files(path: Path) -> dict[str, Path]:
    """Return the files a scenario that could be read stands in, by what they are; none for a pipe."""
    if not path.is_file():
        return {}
    jobs_file = parse(path).get("jobs_file")
    return {"scenario": path} | ({} if jobs_file is None else {"jobs_file": path.parent / jobs_file})


def scenario_from_dict(content: Mapping[str, Any], *, folder: Path | None = None) -> Scenario:
    """Return the scenario written as nested dicts; `jobs_file` is looked for in `folder`."""
    if str(content.get("format", "")).startswith("ringsched-plan"):
        raise InputError("is a plan, not a scenario")
    known = ("name", "time", "cluster", "contention", "jobs", "jobs_file")
    check_keys(content, known, ("cluster",), None)
    return build(
        Scenario,
        {
            "cluster": _cluster(table(content["cluster"], "cluster")),
            "contention": _section(Contention, content, "contention"),
            "time": _section(Time, content, "time"),
            "jobs": _jobs(content, folder or Path()),
        }
        | ({"name": content["name"]} if "name" in content else {}),
        None,
    )


_Section = TypeVar("_Section", Contention, Time)


def _section(kind: type[_Section], content: Mapping[str, Any], place: str) -> _Section:
    given = table(content.get(place, {}), place)
    check_keys(given, [field.name for field in fields(kind)], (), place)
    return build(kind, given, place)


def _jobs(content: Mapping[str, Any], folder: Path) -> tuple[Job, ...]:
    if "jobs_file" not in content:
        return jobs_from_tables(content.get("jobs", []))
    if "jobs" in content:
        raise InputError("cannot stand together with jobs; keep one of them", field="jobs_file")
    try:
        return jobs_from_csv(folder / text(content["jobs_file"], "jobs_file"))
    except InputError as error:
        if error.file and not error.place:  # about the file as a whole: say who named it
            raise InputError(f"{error.problem} (named by jobs_file)", file=error.file) from None
        raise


def _cluster(given: dict[str, Any]) -> Cluster:
    above = _one_of(given, "switches", "racks", "cluster")
    check_keys(given, (*_SPEEDS, "servers", "switches", "racks"), (*_SPEEDS, "servers"), "cluster")
    switches = _switches(table(given.get(above, {}), f"cluster.{above}"), above)
    speeds = {key: given[key] for key in _SPEEDS}
    servers = _servers(array(given["servers"], "cluster.servers"))
    try:
        return Cluster(**speeds, servers=servers, switches=switches)
    except InputError as error:
        raise error if error.place else error.located(place="cluster") from None


def _one_of(given: Mapping[str, Any], name: str, alias: str, place: str) -> str:
    """Return which of two names of one field is used; both at once are refused."""
    if name in given and alias in given:
        raise InputError(f"is another name of {name}; keep one of them", field=alias, place=place)
    return alias if alias in given else name


def _switches(given: dict[str, Any], above: str) -> tuple[Switch, ...]:
    switches = []
    for name, value in given.items():
        place = f"cluster.{above}.{name if name.isprintable() else repr(name)}"
        switch = table(value, place)
        check_keys(switch, ("uplink_gbps", "parent"), (), place)
        switches.append(build(Switch, {"name": name} | switch, place))
    return tuple(switches)


def _servers(entries: list[Any]) -> tuple[Server, ...]:
    servers: list[Server] = []
    named: list[tuple[str, str]] = []  # the place in the file and the name of each server
    for at, entry in enumerate(entries):
        place = f"cluster.servers[{at}]"
        try:
            servers += _expanded(table(entry, place), place, len(servers))
        except InputError as error:
            raise error if error.place or error.field == place else error.located(place=place) from None
        if len(servers) > MAX_GPUS:
            raise InputError(f"hold more than {MAX_GPUS} servers", field="cluster.servers")
        named += [(place, server.name) for server in servers[len(named) :]]
    unique(named, "server")
    return tuple(servers)


def _expanded(given: dict[str, Any], place: str, position: int) -> list[Server]:
    """Return the servers one entry stands for: `name` alone, or name-0, name-1, ... with a count."""
    known = (*(field.name for field in fields(Server)), "rack", "count")
    check_keys(given, known, ("gpus",), place)
    above = _one_of(given, "switch", "rack", place)
    stated = {"switch" if key == above else key: value for key, value in given.items() if key != "count"}
    if "count" not in given:
        return [build(Server, {"name": f"s{position}"} | stated, place)]
    count = integer(given["count"], "count", minimum=1, maximum=MAX_GPUS)
    if "unavailable" in given:
        raise InputError("cannot stand together with count: it names GPUs of one server", field="unavailable")
    first = build(Server, {"name": f"s{position}"} | stated, place)
    if "name" not in given:
        return [first.replace(name=f"s{position + at}") for at in range(count)]
    return [first.replace(name=f"{first.name}-{at}") for at in range(count)]
