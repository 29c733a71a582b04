"""The text of a scenario file: JSON, a server and a job a line, the same bytes for the same scenario."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ringsched.errors import InputError
from ringsched.model import Scenario


def scenario_to_json(scenario: Scenario) -> str:
    """Return the expanded scenario as JSON that people can read.

    Examples
    --------
    >>> from ringsched.io.scenario_file import load_scenario
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
    yield from _lines((job.expanded() for job in scenario.jobs), 1)
    yield "\n}\n"


def _cluster(fields: Mapping[str, Any]) -> str:
    written = {key: _dumps(value) for key, value in fields.items()}
    written["servers"] = "".join(_lines(fields["servers"], 2))
    inner = ",\n".join(f'  "{key}": {value}' for key, value in written.items())
    return f"{{\n{inner}\n }}"


def _lines(entries: Iterable[object], depth: int) -> Iterator[str]:
    before = "[\n"
    for entry in entries:
        yield f"{before}{' ' * (depth + 1)}{_dumps(entry)}"
        before = ",\n"
    yield "[]" if before == "[\n" else f"\n{' ' * depth}]"


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
