"""The text of a scenario file: JSON, a server and a job a line, the same bytes for the same scenario."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ringsched.model import Scenario


def scenario_to_json(scenario: Scenario) -> str:
    """Return the expanded scenario as JSON that people can read.

    Examples
    --------
    >>> from ringsched.io.scenario_file import load_scenario
    >>> scenario_to_json(load_scenario("examples/first.toml")).splitlines()[:2]
    ['{', ' "name": "first",']
    """
    fields = scenario.expanded()
    written = {key: _dumps(value) for key, value in fields.items()}
    written |= {"cluster": _cluster(fields["cluster"]), "jobs": _lines(fields["jobs"], 1)}
    inner = ",\n".join(f' "{key}": {value}' for key, value in written.items())
    return f"{{\n{inner}\n}}\n"


def _cluster(fields: Mapping[str, Any]) -> str:
    written = {key: _dumps(value) for key, value in fields.items()}
    written["servers"] = _lines(fields["servers"], 2)
    inner = ",\n".join(f'  "{key}": {value}' for key, value in written.items())
    return f"{{\n{inner}\n }}"


def _lines(entries: Sequence[object], depth: int) -> str:
    if not entries:
        return "[]"
    inner = ",\n".join(f"{' ' * (depth + 1)}{_dumps(entry)}" for entry in entries)
    return f"[\n{inner}\n{' ' * depth}]"


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
