"""YAML and JSON files as tables that know their lines; every scalar is text, as the file has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ringsched.errors import InputError, check_installed
from ringsched.formats.decode import once_each
from ringsched.formats.files import read_text
from ringsched.model.checks import shown


class Table(dict[str, Any]):
    """A mapping, and the line on which it begins; 0 where that is not known."""

    line = 0


def where(table: object, otherwise: str) -> str:
    """Return the line on which a table begins, or what else tells its place."""
    line = getattr(table, "line", 0)
    return f"line {line}" if line else otherwise


def parse_yaml_or_json(path: Path) -> Any:
    """Return the content of a file: YAML, or JSON if it begins like that."""
    text = read_text(path)
    if text.lstrip()[:1] in "{[" and path.suffix.lower() not in (".yaml", ".yml"):
        try:
            return json.loads(text, object_pairs_hook=once_each)
        except (ValueError, RecursionError) as error:
            raise InputError(f"is not valid JSON: {error}") from None
    return parse_yaml(text)


def parse_yaml(text: str) -> Any:
    r"""Return the content of the one document in a text.

    Examples
    --------
    >>> content = parse_yaml("nodes:\n- {name: 010, up: yes}")
    >>> content, content["nodes"][0].line
    ({'nodes': [{'name': '010', 'up': 'yes'}]}, 2)
    """
    check_installed("yaml", "yaml")
    import yaml

    try:
        return _value(yaml.compose(text, yaml.BaseLoader), {})
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = None if mark is None else f"line {mark.line + 1}"
        raise InputError(f"is not valid YAML: {error.problem}", place=place) from None
    except (yaml.YAMLError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0]
        raise InputError(f"is not valid YAML: {reason}") from None


def _value(node: Any, known: dict[int, Any]) -> Any:
    """Return the value of a node of YAML; one that has several names is built once."""
    if id(node) not in known:
        known[id(node)] = _built(node, known)
    return known[id(node)]


def _built(node: Any, known: dict[int, Any]) -> Any:
    kind = "scalar" if node is None else node.id
    if kind == "scalar":
        return None if node is None or (node.value == "" and node.style is None) else node.value
    if kind == "sequence":
        return [_value(entry, known) for entry in node.value]
    table = Table()
    table.line = node.start_mark.line + 1
    for key_node, value_node in node.value:
        key = _value(key_node, known)
        if not isinstance(key, str) or key in table:
            problem = "is given twice" if isinstance(key, str) else "is not text"
            raise InputError(f"key {shown(key)} {problem}", place=f"line {key_node.start_mark.line + 1}")
        table[key] = _value(value_node, known)
    return table


def table_of(value: object, field: str, place: str | None) -> dict[str, Any]:
    """Return a value if it is a table."""
    if not isinstance(value, dict):
        raise InputError(f"must be a table, not {shown(value)}", field=field, place=place)
    return value


def list_of(value: object, field: str, place: str | None) -> list[Any]:
    """Return a value if it is a list."""
    if not isinstance(value, list):
        raise InputError(f"must be a list, not {shown(value)}", field=field, place=place)
    return value


def text_of(value: object, field: str, place: str | None) -> str:
    """Return a value if it is text that is not empty."""
    if value is None:
        raise InputError("is missing", field=field, place=place)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"must be a name, not {shown(value)}", field=field, place=place)
    return value.strip()
