"""Values in Slurm's JSON, whose shape changes between versions: plain in 22.05, in tables since 23.02."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ringsched.errors import AdapterError
from ringsched.slurm.commands import Commands


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
        raise AdapterError(f"Slurm wrote {key} = {str(value)[:60]!r} where a number belongs")
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
