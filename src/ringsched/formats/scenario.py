"""Scenario files: one file, TOML or JSON with the same keys, and the place of every mistake."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from ringsched.errors import InputError
from ringsched.formats.decode import array, build, check_keys, parse, table
from ringsched.formats.jobs import jobs_from_csv, jobs_from_tables, lines_of_jobs
from ringsched.model import Cluster, Contention, Job, Scenario, Server, Switch, Time
from ringsched.model.checks import MAX_GPUS, integer, text, unique
from ringsched.model.cluster import RACKS, SWITCHES, SwitchWords, check_defined

_SPEEDS = ("inter_server_gbps", "intra_server_gbps", "reduce_gbps")
_SWITCH_WORDS = (SWITCHES, RACKS)  # a file may use both; their names are one namespace


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
    tables = tuple(words.table for words in _SWITCH_WORDS)
    check_keys(given, (*_SPEEDS, "servers", *tables), (*_SPEEDS, "servers"), "cluster")
    speeds = {key: given[key] for key in _SPEEDS}
    switches = _switches(given)
    places = {switch.name: place for place, switch in switches.items()}
    servers, words_of = _servers(array(given["servers"], "cluster.servers"))
    # The model speaks of switches only; a file that says rack is told about racks.
    for server in servers:
        words, place = words_of[server.name], f"server {server.name!r}"
        check_defined(server.switch, places, field=words.one, place=place, words=words)
    try:
        return Cluster(**speeds, servers=servers, switches=tuple(switches.values()))
    except InputError as error:
        in_file = {f"switch {name!r}": place for name, place in places.items()}
        raise error.located(place=in_file.get(error.place or "", error.place or "cluster")) from None


def _switches(given: Mapping[str, Any]) -> dict[str, Switch]:
    """Return the switches of both tables, by their place in the file."""
    switches: dict[str, Switch] = {}
    for words in _SWITCH_WORDS:
        for name, value in table(given.get(words.table, {}), f"cluster.{words.table}").items():
            place = f"cluster.{words.table}.{name if name.isprintable() else repr(name)}"
            switch = table(value, place)
            check_keys(switch, [field.name for field in fields(Switch) if field.name != "name"], (), place)
            switches[place] = build(Switch, {"name": name} | switch, place)
    unique(((place, switch.name) for place, switch in switches.items()), "switch")
    return switches


def _servers(entries: list[Any]) -> tuple[tuple[Server, ...], dict[str, SwitchWords]]:
    """Return the servers, and by which word each names its switch."""
    servers: list[Server] = []
    named: list[tuple[str, str]] = []  # the place in the file and the name of each server
    words_of: dict[str, SwitchWords] = {}
    for at, entry in enumerate(entries):
        place = f"cluster.servers[{at}]"
        try:
            servers += _expanded(table(entry, place), place, len(servers))
        except InputError as error:
            raise error if error.place or error.field == place else error.located(place=place) from None
        if len(servers) > MAX_GPUS:
            raise InputError(f"hold more than {MAX_GPUS} servers", field="cluster.servers")
        words = RACKS if RACKS.one in entry else SWITCHES
        words_of |= {server.name: words for server in servers[len(named) :]}
        named += [(place, server.name) for server in servers[len(named) :]]
    unique(named, "server")
    return tuple(servers), words_of


def _expanded(given: dict[str, Any], place: str, position: int) -> list[Server]:
    """Return the servers one entry stands for: `name` alone, or name-0, name-1, ... with a count."""
    known = (*(field.name for field in fields(Server)), RACKS.one, "count")
    check_keys(given, known, ("gpus",), place)
    if RACKS.one in given and SWITCHES.one in given:
        raise InputError(f"is another name of {SWITCHES.one}; keep one of them", field=RACKS.one, place=place)
    stated = {key: value for key, value in given.items() if key not in ("count", RACKS.one)}
    if RACKS.one in given:
        stated[SWITCHES.one] = text(given[RACKS.one], RACKS.one)
    if "count" not in given:
        return [build(Server, {"name": f"s{position}"} | stated, place)]
    count = integer(given["count"], "count", minimum=1, maximum=MAX_GPUS)
    if "unavailable" in given:
        raise InputError("cannot stand together with count: it names GPUs of one server", field="unavailable")
    first = build(Server, {"name": f"s{position}"} | stated, place)
    if "name" not in given:
        return [first.replace(name=f"s{position + at}") for at in range(count)]
    return [first.replace(name=f"{first.name}-{at}") for at in range(count)]
