"""Slurm's ways to write things: JSON by version, lists of nodes, GPUs."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import Any

from ringsched.clusters.slurm.commands import Commands
from ringsched.errors import AdapterError, InputError
from ringsched.formats import host_lists


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
    if value is None or type(value) is int:  # almost always
        return value
    if (value := plain(value)) is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise AdapterError(f"Slurm wrote {key} = {str(value)[:60]!r}, which is not a number")
    return int(value)


def plain(value: Any) -> Any:
    """Return the number that newer versions of Slurm write as an object; anything else as it is."""
    if isinstance(value, dict):
        return value.get("number") if value.get("set") and not value.get("infinite") else None
    return value


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
    >>> expand("n[1-2,4],login")
    ['n1', 'n2', 'n4', 'login']
    """
    try:
        return host_lists.expand(text)
    except InputError as error:
        raise AdapterError(f"Slurm wrote a list of nodes that cannot be read: {error}") from None


# An item such as gpu:4, gres:gpu:a100:2 or gpu:a100:3(IDX:0-1,5): type, number, and indices.
_GPUS = re.compile(
    r"(?:^|,)(?:gres[:/])?gpu(?::(?!\d+(?:\(|,|$))([^:,(]+))?:(\d+)(?:\((?:IDX:([\d,-]*)|[^)]*)\))?"
)


def gpu_counts(text: str) -> dict[str, int]:
    """Return the GPUs of a node or a request by type; those without a type under the empty name.

    Examples
    --------
    >>> gpu_counts("gpu:a100:4(S:0-1),gpu:v100:2"), gpu_counts("gpu:8,shard:16"), gpu_counts("gres:gpu:1")
    ({'a100': 4, 'v100': 2}, {'': 8}, {'': 1})
    """
    counts: dict[str, int] = {}
    for kind, count, _ in _GPUS.findall(text or ""):
        counts[kind] = counts.get(kind, 0) + int(count)
    return counts


def gpu_count(text: str) -> int:
    """Return how many GPUs a list of resources names, of whatever types.

    Examples
    --------
    >>> gpu_count("gpu:4"), gpu_count("gpu:a100:4(S:0-1),gpu:v100:2"), gpu_count("gres:gpu:1"), gpu_count("")
    (4, 6, 1, 0)
    """
    return sum(gpu_counts(text).values())


def gpu_type(text: str) -> str:
    """Return the type of GPU that a request names; nothing if any will do.

    Examples
    --------
    >>> gpu_type("gres:gpu:a100:1"), gpu_type("gres:gpu:1g.5gb:1"), gpu_type("gres:gpu:1"), gpu_type("")
    ('a100', '1g.5gb', '', '')
    """
    return next(iter(gpu_counts(text)), "")


def gpu_indices(text: str) -> tuple[int, ...]:
    """Return the GPUs a job holds on a node.

    Examples
    --------
    >>> gpu_indices("gpu:a100:3(IDX:0-1,5)"), gpu_indices("gpu:0(IDX:)")
    ((0, 1, 5), ())
    """
    indices: list[int] = []
    for _, _, ranges in _GPUS.findall(text):
        for item in filter(None, ranges.split(",")):
            first, _, last = item.partition("-")
            indices += range(int(first), int(last or first) + 1)
    if len(indices) != gpu_count(text):
        raise AdapterError(f"Slurm wrote GPUs that cannot be read: {text!r}")
    return tuple(sorted(indices))


_ROW_KEY = re.compile(r"(?:^|\s)([A-Za-z][\w/:]*)=")


def table_rows(text: str, first: str) -> list[dict[str, str]]:
    """Return the rows of `scontrol show ... --oneliner`; `(null)` and the like are left out.

    Only operators write the names in it, so that text is safe to read. A row begins with the key `first`.

    Examples
    --------
    >>> table_rows("PartitionName=gpu Nodes=n[1-2] QoS=N/A TRES=cpu=4,mem=8M", "PartitionName")
    [{'PartitionName': 'gpu', 'Nodes': 'n[1-2]', 'TRES': 'cpu=4,mem=8M'}]
    """
    rows = []
    for line in text.splitlines():
        if not line.startswith(f"{first}="):
            continue
        found = list(_ROW_KEY.finditer(line))
        ends = [each.start() for each in found[1:]] + [len(line)]
        row = {each[1]: line[each.end() : end].strip() for each, end in zip(found, ends, strict=True)}
        rows.append({key: value for key, value in row.items() if value not in ("(null)", "N/A", "n/a", "")})
    return rows


def moment_s(text: str) -> float | None:
    """Return a time such as 2026-11-17T10:17:31 of this machine in Unix seconds; None if it is none."""
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return None


def duration_s(text: str | None) -> float | None:
    """Return a time limit such as 1-00:30:00 in seconds; None if there is none.

    Examples
    --------
    >>> duration_s("1-00:30:00"), duration_s("02:00"), duration_s("UNLIMITED"), duration_s("NONE")
    (88200.0, 120.0, None, None)
    """
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", text or "")
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
