"""From parsed TOML or JSON to model objects, with the place of every mistake."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ringsched.errors import InputError, did_you_mean
from ringsched.formats.files import read_text
from ringsched.model.checks import number, shown

_Object = TypeVar("_Object")


def parse(path: Path) -> dict[str, Any]:
    """Return the table in a .toml or .json file."""
    return parse_json(path) if path.suffix.lower() == ".json" else parse_toml(path)


def parse_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; duplicate keys are refused."""
    return _parsed(path, "JSON", lambda text: json.loads(text, object_pairs_hook=once_each))


def parse_toml(path: Path) -> dict[str, Any]:
    """Return the table in a TOML file."""
    return _parsed(path, "TOML", tomllib.loads)


def _parsed(path: Path, language: str, loads: Callable[[str], Any]) -> dict[str, Any]:
    text = read_text(path)
    try:
        content = loads(text)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "nested too deeply"
        raise InputError(f"is not valid {language}: {reason}", file=str(path)) from None
    if not isinstance(content, dict):
        raise InputError(f"must hold a {language} object, not {shown(content)}", file=str(path))
    return content


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict, or raise a ValueError if a key occurs twice."""
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"key {shown(twice)} is given twice in one object")
    return result


def table(value: object, place: str) -> dict[str, Any]:
    """Return `value` if it is a table with text keys."""
    if not isinstance(value, dict):
        raise InputError(f"must be a table, not {shown(value)}", field=place)
    return value


def array(value: object, place: str) -> list[Any]:
    """Return `value` if it is an array."""
    if not isinstance(value, list | tuple):
        raise InputError(f"must be an array, not {shown(value)}", field=place)
    return list(value)


def link_gbps(value: object, field: str, place: str | None = None) -> Any:
    """Return the speed of a link; a list has those of parallel ones, such as several NICs, and is summed.

    Examples
    --------
    >>> link_gbps([100, 100], "uplink_gbps"), link_gbps(25, "uplink_gbps")
    (200.0, 25)
    """
    if not isinstance(value, list | tuple):
        return value  # checked by what it is for
    if not value:
        raise InputError("must hold at least one speed", field=field, place=place)
    try:
        return sum(number(each, f"{field}[{at}]", above=0) for at, each in enumerate(value))
    except InputError as error:
        raise error.located(place=place) from None


def check_keys(
    fields: Mapping[str, object], known: Sequence[str], required: Sequence[str], place: str | None
) -> None:
    """Raise on the first unknown key, null or missing field."""
    for key, value in fields.items():
        if key not in known:
            hint = did_you_mean(key, known)
            if key == "jobs_file" and place is not None:
                hint = "; it belongs at the top of the file, before the first table"
            raise InputError(f"unknown key {shown(key)}{hint}", place=place)
        if value is None:
            raise InputError(
                "must not be null; leave it out if there is nothing to say", field=key, place=place
            )
    for key in required:
        if key not in fields:
            raise InputError("is missing", field=key, place=place)


def build(kind: Callable[..., _Object], fields: Mapping[str, Any], place: str | None) -> _Object:
    """Call `kind` with `fields`; an error gets the place."""
    try:
        return kind(**fields)
    except InputError as error:
        raise error.located(place=place) from None
