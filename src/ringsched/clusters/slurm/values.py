"""Slurm's ways to write things: JSON by version, lists of nodes, GPUs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ringsched.clusters.slurm.commands import Commands
from ringsched.errors import AdapterError, InputError
from ringsched.formats.hostlist import hosts_of


def read_json(commands: Commands, key: str, *arguments: str) -> list[Mapping[str, Any]]:
    """Return the list under `key` that a command prints with `--json`."""
    text = commands.ask(*arguments)
    try:
        content = json.loads(text)
        entries = content[key]
        errors = content.get("errors")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise AdapterError(f"{arguments[0]} --json printed no {key}: {text[:80]!r}") from None
    if errors:
        raise AdapterError(f"{arguments[0]} --json failed: {str(errors)[:200]}")
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise AdapterError(f"{arguments[0]} --json printed {key} that are no list of objects")
    return entries


def number(entry: Mapping[str, Any], key: str) -> int | None:
    """Return a whole number, None where there is none or no limit.

    Examples
    --------
    >>> number({"a": 3}, "a"), number({"a": {"set": True, "infinite": False, "number": 3}}, "a")
    (3, 3)
    >>> number({"a": {"set": False, "number": 0}}, "a"), number({"a": None}, "a")
    (None, None)
    """
    value = entry.get(key)
    if isinstance(value, Mapping):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise AdapterError(f"Slurm wrote {key} = {str(value)[:60]!r}, which is not a number")
    return int(value)


def words(entry: Mapping[str, Any], key: str) -> list[str]:
    """Return a word or a list of words as a list, in capitals.

    Examples
    --------
    >>> words({"state": "idle"}, "state"), words({"state": ["IDLE", "DRAIN"]}, "state")
    (['IDLE'], ['IDLE', 'DRAIN'])
    """
    value = entry.get(key) or []
    return [str(word).upper() for word in (value if isinstance(value, list) else [value])]


def string(entry: Mapping[str, Any], key: str) -> str:
    """Return a text, empty where there is none."""
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def expand(text: str) -> list[str]:
    """Return the names in a node list.

    Examples
    --------
    >>> expand("n[1-2,4],login"), expand("")
    (['n1', 'n2', 'n4', 'login'], [])
    """
    try:
        return hosts_of(text)
    except InputError as error:
        raise AdapterError(f"Slurm wrote a list of nodes that {error.problem}") from None


_COUNT = re.compile(r"(?:^|,)(?:gres[:/])?gpu(?::(?!\d+(?:\(|,|$))[^:,(]+)?:(\d+)")
_INDICES = re.compile(r"(?:^|,)gpu(?::[^:,(]+)?:\d+\(IDX:([\d,-]*)\)")

_TYPE = re.compile(r"(?:^|[,:/])gpu:([^:,(]+):\d")


def gpu_count(text: str) -> int:
    """Return how many GPUs a list of resources names, of whatever types.

    Examples
    --------
    >>> gpu_count("gpu:4"), gpu_count("gpu:a100:4(S:0-1),gpu:v100:2"), gpu_count("gres:gpu:1"), gpu_count("")
    (4, 6, 1, 0)
    """
    return sum(int(count) for count in _COUNT.findall(text or ""))


def gpu_type(text: str) -> str:
    """Return the type of GPU that a request names; nothing if any will do.

    Examples
    --------
    >>> gpu_type("gres:gpu:a100:1"), gpu_type("gres:gpu:1g.5gb:1"), gpu_type("gres:gpu:1"), gpu_type("")
    ('a100', '1g.5gb', '', '')
    """
    found = _TYPE.search(text)
    return found[1] if found else ""


def gpu_indices(text: str) -> tuple[int, ...]:
    """Return the GPUs a job holds on a node.

    Examples
    --------
    >>> gpu_indices("gpu:a100:3(IDX:0-1,5)"), gpu_indices("gpu:0(IDX:)")
    ((0, 1, 5), ())
    """
    indices: list[int] = []
    for ranges in _INDICES.findall(text):
        for item in filter(None, ranges.split(",")):
            first, _, last = item.partition("-")
            indices += range(int(first), int(last or first) + 1)
    if len(indices) != gpu_count(text):
        raise AdapterError(f"Slurm wrote GPUs that cannot be read: {text!r}")
    return tuple(indices)
