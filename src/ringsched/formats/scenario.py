"""Scenario files: one file, TOML or JSON with the same keys, and the place of every mistake."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from ringsched.errors import InputError
from ringsched.formats.decode import array, build, check_keys, link_gbps, parse, table
from ringsched.formats.jobs import jobs_from_csv, jobs_from_tables, lines_of_jobs
from ringsched.formats.overrides import SPEEDS as _SPEEDS
from ringsched.formats.overrides import Override, apply, override_of
from ringsched.model import Cluster, Contention, Job, Scenario, Server, Switch, Time
from ringsched.model.checks import MAX_GPUS, choice, integer, text, unique
from ringsched.model.cluster import RACKS, SWITCHES, SwitchWords, check_defined
from ringsched.model.eligibility import LAYOUTS

_SWITCH_WORDS = (SWITCHES, RACKS)  # a file may use both; their names are one namespace


def load_scenario(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> Scenario:
    """Read a scenario file (.toml or .json), or raise an InputError that names file, place and field.

    Parameters
    ----------
    overrides
        Fields with another value than in the file, written as for `--set`: `"contention.share=0.5"`.

    Examples
    --------
    >>> scenario = load_scenario("examples/first.toml", ["inter_server_gbps=25"])
    >>> len(scenario.cluster.servers), scenario.jobs[0].name, scenario.cluster.inter_server_gbps
    (4, 'bert-pretrain', 25.0)
    """
    path = Path(path)
    changes = [_override(written) for written in overrides]
    content = parse(path)
    try:
        apply(content, changes, path.parent)
        return scenario_from_dict(content, directory=path.parent)
    except InputError as error:
        if not changes:
            raise locate(error, path) from None
        load_scenario(path)  # a mistake in the file itself is reported without the overrides
        related = [each.written for each in changes if each.field == error.field] or overrides
        raise error.located(file=" ".join(f"--set {written}" for written in related)) from None


def _override(written: str) -> Override:
    try:
        return override_of(written)
    except InputError as error:
        raise error.located(file=f"--set {written}") from None


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
    """Return the files of a valid scenario by their kind; none for a pipe."""
    if not path.is_file():
        return {}
    jobs_file = parse(path).get("jobs_file")
    return {"scenario": path} | ({} if jobs_file is None else {"jobs_file": path.parent / jobs_file})


def scenario_from_dict(content: Mapping[str, Any], *, directory: Path | None = None) -> Scenario:
    """Return the scenario written as nested dicts; `jobs_file` is looked for in `directory`."""
    if str(content.get("format", "")).startswith("ringsched-plan"):
        raise InputError("is a plan, not a scenario")
    known = ("name", "time", "cluster", "contention", "jobs", "jobs_file", "jobs_layout")
    check_keys(content, known, () if "jobs" in content else ("cluster",), None)
    if "cluster" not in content:
        problem = (
            "is missing; this file only has jobs: add a [cluster] table, or use it with "
            "'ringsched whatif SCENARIO --add-job FILE'"
        )
        raise InputError(problem, field="cluster")
    # First the keys of all tables, then what they say.
    contention, time = _section(Contention, content, "contention"), _section(Time, content, "time")
    cluster = table(content["cluster"], "cluster")
    tables = tuple(words.table for words in _SWITCH_WORDS)
    check_keys(cluster, (*_SPEEDS, "servers", *tables), (*_SPEEDS, "servers"), "cluster")
    speeds = {key: cluster[key] for key in _SPEEDS}
    speeds["intra_server_gbps"] = _inside(speeds["intra_server_gbps"])
    speeds["inter_server_gbps"] = link_gbps(speeds["inter_server_gbps"], "inter_server_gbps", "cluster")
    switches, servers = _switches(cluster), _servers(array(cluster["servers"], "cluster.servers"))
    return build(
        Scenario,
        {
            "cluster": _cluster(speeds, switches, servers),
            "contention": build(Contention, contention, "contention"),
            "time": build(Time, time, "time"),
            "jobs": _jobs(content, directory or Path()),
        }
        | ({"name": content["name"]} if "name" in content else {}),
        None,
    )


def _inside(value: Any) -> Any:
    """Return the speed inside servers, or a table of it with the numbers of GPUs as integers."""
    if not isinstance(value, dict):
        return value
    for key in value:
        if not (isinstance(key, str) and key.isdecimal() and key.isascii()):
            problem = f"has the key {key!r}, which is not a number of GPUs; write {{2 = 600, 8 = 400}}"
            raise InputError(problem, field="intra_server_gbps", place="cluster")
    return {int(key): speed for key, speed in value.items()}


def _section(kind: type[Contention | Time], content: Mapping[str, Any], place: str) -> dict[str, Any]:
    given = table(content.get(place, {}), place)
    check_keys(given, [field.name for field in fields(kind)], (), place)
    return given


class _Servers(NamedTuple):
    """An entry of `servers`: one server, or `count` of them."""

    place: str
    words: SwitchWords  # what it calls its switch
    fields: dict[str, Any]
    num_servers: object  # as the file counts them; None for one


def _servers(entries: list[Any]) -> list[_Servers]:
    known = (*(field.name for field in fields(Server)), RACKS.one, "count")
    found = []
    for at, entry in enumerate(entries):
        place = f"cluster.servers[{at}]"
        given = dict(table(entry, place))
        check_keys(given, known, ("gpus",), place)
        if RACKS.one in given and SWITCHES.one in given:
            problem = f"is another name of {SWITCHES.one}; keep one of them"
            raise InputError(problem, field=RACKS.one, place=place)
        if "count" in given and "unavailable" in given:
            problem = "cannot be combined with count: it names GPUs of one server"
            raise InputError(problem, field="unavailable", place=place)
        if "uplink_gbps" in given:
            given["uplink_gbps"] = link_gbps(given["uplink_gbps"], "uplink_gbps", place)
        words = RACKS if RACKS.one in given else SWITCHES
        found.append(_Servers(place, words, given, given.pop("count", None)))
    return found


def _switches(given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the fields of the switches of both tables, by their place in the file."""
    known = [field.name for field in fields(Switch) if field.name != "name"]
    switches: dict[str, dict[str, Any]] = {}
    for words in _SWITCH_WORDS:
        for name, value in table(given.get(words.table, {}), f"cluster.{words.table}").items():
            place = f"cluster.{words.table}.{name if name.isprintable() else repr(name)}"
            check_keys(table(value, place), known, (), place)
            switches[place] = {"name": name} | value
            if "uplink_gbps" in value:
                switches[place]["uplink_gbps"] = link_gbps(value["uplink_gbps"], "uplink_gbps", place)
    return switches


def _cluster(
    speeds: Mapping[str, Any], switch_fields: Mapping[str, dict[str, Any]], entries: list[_Servers]
) -> Cluster:
    switches = [build(Switch, given, place) for place, given in switch_fields.items()]
    switch_names = [(place, given["name"]) for place, given in switch_fields.items()]
    places = {name: place for place, name in switch_names}
    servers: list[Server] = []
    server_names: list[tuple[str, str]] = []  # after their places in the file, as switch_names
    words_of: dict[str, SwitchWords] = {}
    for entry in entries:
        for server in _expanded(entry, len(servers)):
            servers.append(server)
            server_names.append((entry.place, server.name))
            words_of[server.name] = entry.words
        if len(servers) > MAX_GPUS:
            raise InputError(f"hold more than {MAX_GPUS} servers", field="cluster.servers")
    unique(switch_names, "switch")
    unique(server_names, "server")
    # The model knows switches only; errors about a file that uses `rack` say rack, too.
    for server in servers:
        words, place = words_of[server.name], f"server {server.name!r}"
        check_defined(server.switch, places, field=words.one, place=place, words=words)
    try:
        return Cluster(**speeds, servers=tuple(servers), switches=tuple(switches))
    except InputError as error:
        in_file = {f"switch {name!r}": place for name, place in places.items()}
        raise error.located(place=in_file.get(error.place or "", error.place or "cluster")) from None


def _expanded(entry: _Servers, position: int) -> Iterator[Server]:
    """Yield the servers of one entry: `name` alone, or name-0, name-1, ... with a count."""
    given, place = {"name": f"s{position}"} | entry.fields, entry.place
    if entry.words is RACKS:
        rack = {"value": given.pop(RACKS.one), "field": RACKS.one}
        given[SWITCHES.one] = build(text, rack, place)
    first = build(Server, given, place)
    if entry.num_servers is None:
        yield first
        return
    count = {"value": entry.num_servers, "field": "count", "minimum": 1, "maximum": MAX_GPUS}
    for at in range(build(integer, count, place)):
        name = f"{first.name}-{at}" if "name" in entry.fields else f"s{position + at}"
        yield first.replace(name=name)


def _jobs(content: Mapping[str, Any], directory: Path) -> tuple[Job, ...]:
    defaults: dict[str, Any] = {}
    if "jobs_layout" in content:
        defaults["layout"] = choice(content["jobs_layout"], "jobs_layout", LAYOUTS)
    if "jobs_file" not in content:
        return jobs_from_tables(content.get("jobs", []), defaults)
    if "jobs" in content:
        raise InputError("cannot be combined with jobs; keep one of them", field="jobs_file")
    try:
        return jobs_from_csv(directory / text(content["jobs_file"], "jobs_file"), defaults)
    except InputError as error:
        if error.file and not error.place:  # about the file as a whole: say which field names it
            raise InputError(f"{error.problem} (named by jobs_file)", file=error.file) from None
        raise
