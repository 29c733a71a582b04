"""Writing scenarios: JSON with everything in it, or TOML with the jobs in a CSV file beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ringsched.io.files import check_writable, write_lines
from ringsched.io.jobs_text import jobs_lines
from ringsched.io.scenario_text import check_can_be_saved, scenario_lines
from ringsched.model import Scenario
from ringsched.model.cluster import RACKS, SWITCHES


def save_scenario(scenario: Scenario, path: str | os.PathLike[str]) -> None:
    """Write a scenario: as JSON, or where the name ends in .toml as TOML with a jobs_file beside it.

    Each file is written atomically, the jobs first.

    Examples
    --------
    >>> import ringsched, tempfile
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ringsched.save_scenario(scenario, f"{folder}/copy.toml")
    ...     ringsched.load_scenario(f"{folder}/copy.toml").sha256() == scenario.sha256()
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


def jobs_file_of(path: Path) -> Path | None:
    """Return where the jobs go that are not written into the scenario itself, if they are not."""
    return path.with_suffix(".jobs.csv") if path.suffix.lower() == ".toml" else None


def _toml(fields: Mapping[str, Any], jobs_file: str) -> Iterator[str]:
    head = {key: fields[key] for key in ("name",) if key in fields} | {"jobs_file": jobs_file}
    yield from _entries(head)
    for section in ("time", "contention"):
        yield f"\n[{section}]\n"
        yield from _entries(fields[section])
    cluster = dict(fields["cluster"])
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
    return "{ " + ", ".join(f"{key} = {_value(value)}" for key, value in fields.items()) + " }"


def _value(value: object) -> str:
    """Return a number, a list of them or a text, which TOML and JSON write alike."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
