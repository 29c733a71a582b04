"""Overrides of single fields of a scenario, written as `cluster.inter_server_gbps=25`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ringsched.errors import InputError, UnknownName
from ringsched.formats.decode import build, check_keys
from ringsched.formats.jobs import KNOWN_KEYS, MODEL_KEYS, tables_from_csv
from ringsched.model import Contention, Scenario, Server, Switch, Time
from ringsched.model.checks import shown, text

SPEEDS = ("inter_server_gbps", "intra_server_gbps", "reduce_gbps")
_SECTIONS: Mapping[str, tuple[str, ...]] = {
    "time": tuple(field.name for field in fields(Time)),
    "cluster": SPEEDS,
    "contention": tuple(field.name for field in fields(Contention)),
}
# Tables that hold several entries, and the fields of each; an entry is found by its name, `*` means all.
_ENTRIES: Mapping[str, tuple[str, ...]] = {
    "jobs": KNOWN_KEYS,
    "cluster.servers": (*(field.name for field in fields(Server)), "rack", "count"),
    "cluster.racks": tuple(field.name for field in fields(Switch) if field.name != "name"),
    "cluster.switches": tuple(field.name for field in fields(Switch) if field.name != "name"),
}
_NUMBER_OF_SERVERS = (
    "for more servers use `ringsched whatif --add-servers N`, or change [[cluster.servers]] in the file"
)
_BARE_WORD = re.compile(r"[^\s\"'\[\]{}#]+")


@dataclass(frozen=True, slots=True)
class Override:
    """One field and its new value.

    Attributes
    ----------
    written
        The text it was made from.
    table
        The table that holds the field; empty for the scenario itself.
    entry
        The name of an entry of the table, `*` for all of them; None where the table is one entry.
    field
        The field; empty if the value replaces the table.
    """

    written: str
    table: str
    entry: str | None
    field: str
    value: Any


def override_of(written: str) -> Override:
    """Return the override of a text, or raise if its key is unknown.

    Examples
    --------
    >>> override = override_of("inter_server_gbps=25")
    >>> override.table, override.field, override.value
    ('cluster', 'inter_server_gbps', 25)
    >>> override_of("jobs.bert-1.gpus=4").entry
    'bert-1'
    """
    key, sign, value = (part.strip() for part in written.partition("="))
    if not sign or not key or not value:
        raise InputError(f"must be written as KEY=VALUE, such as contention.share=0.5, not {written!r}")
    override = Override(written, *_target(key), _value(value))
    if override.table == "cluster.servers" and not override.field and not isinstance(override.value, list):
        raise InputError(
            f"must be a list, not {shown(override.value)}; {_NUMBER_OF_SERVERS}", field="servers"
        )
    return override


def overridden(scenario: Scenario, *written: str) -> Scenario:
    """Return a scenario with these overrides.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> overridden(scenario, "inter_server_gbps=25").cluster.inter_server_gbps
    25.0
    """
    from ringsched.formats.scenario import scenario_from_dict  # which uses this module

    content = scenario.expanded()
    apply(content, [override_of(each) for each in written], Path())
    return scenario_from_dict(content)


def apply(content: dict[str, Any], overrides: Sequence[Override], directory: Path) -> None:
    """Change the tables of a scenario file by overrides, before anything in them is checked."""
    if "jobs_file" in content and any(override.table == "jobs" for override in overrides):
        content["jobs"] = tables_from_csv(directory / text(content.pop("jobs_file"), "jobs_file"))
    contention: dict[str, Any] = {}
    for override in overrides:
        if override.table == "contention":
            contention |= {override.field: override.value} if override.field else override.value
        else:
            _apply(content, override)
    if contention:
        content["contention"] = _contention(content.get("contention", {}), contention)


def keys(content: Mapping[str, Any] | None = None) -> list[str]:
    """Return the keys that can be overridden, short ones first."""
    short = [field for field in _short_fields() if len(_short_fields()[field]) == 1]
    dotted = [f"{table}.{field}" for table, known in _SECTIONS.items() for field in known]
    entries = [f"{table}.*.{field}" for table, known in _ENTRIES.items() for field in known]
    named = [str(job["name"]) for job in (content or {}).get("jobs", ()) if "name" in job]
    return ["name", *short, *dotted, *entries, *(f"jobs.{name}.gpus" for name in named)]


def _short_fields() -> dict[str, list[str]]:
    """Return the tables in which each field is found, of those with one entry."""
    tables: dict[str, list[str]] = {}
    for table, known in _SECTIONS.items():
        for field in known:
            tables.setdefault(field, []).append(table)
    return tables


def _target(key: str) -> tuple[str, str | None, str]:
    """Return table, entry and field of a key."""
    if key in ("name", "jobs_file"):
        return "", None, key
    if key in _SECTIONS or key in _ENTRIES:
        return key, None, ""
    if f"cluster.{key}" in _ENTRIES:
        return f"cluster.{key}", None, ""
    if key in (short := _short_fields()):
        if len(short[key]) > 1:
            named = " or ".join(f"{table}.{key}" for table in short[key])
            raise InputError(f"{key!r} is ambiguous; write {named}")
        return short[key][0], None, key
    table, _, field = key.rpartition(".")
    if field in _SECTIONS.get(table, ()):
        return table, None, field
    if table in ("racks", "switches", "servers") or table.startswith(("racks.", "switches.", "servers.")):
        table = f"cluster.{table}"
    for entries, known in _ENTRIES.items():
        if table.startswith(f"{entries}."):
            if field not in known:
                raise UnknownName("field", field, known)
            return entries, table.removeprefix(f"{entries}."), field
    raise UnknownName("key", key, keys())


def _value(value: str) -> Any:
    """Return a value of TOML; a bare word is text."""
    try:
        parsed = tomllib.loads(f"value = {value}")
    except ValueError:
        parsed = {}
    if parsed.keys() == {"value"}:
        return parsed["value"]
    if _BARE_WORD.fullmatch(value):
        return value
    raise InputError(f"has the value {value!r}, which is not valid TOML; write text in quotes")


def _apply(content: dict[str, Any], override: Override) -> None:
    if override.table == "":
        content[override.field] = override.value
        return
    *above, last = override.table.split(".")
    holder = content
    for name in above:
        holder = _as_table(holder.setdefault(name, {}), name)
    if override.field == "" or override.entry is None:
        fields = override.value if override.field == "" else {override.field: override.value}
        if isinstance(fields, dict) and isinstance(holder.get(last, {}), dict):
            holder[last] = _as_table(holder.get(last, {}), last) | fields
        else:
            holder[last] = fields
        return
    for entry in _entries(holder.get(last, {}), override):
        if override.table == "jobs" and override.field == "model":
            for key in MODEL_KEYS:  # what the job states itself would win
                entry.pop(key, None)
        entry[override.field] = override.value


def _entries(held: Any, override: Override) -> list[dict[str, Any]]:
    """Return the entries that an override is about."""
    if isinstance(held, dict):
        named = {str(name): entry for name, entry in held.items()}
    elif isinstance(held, list):
        named = {
            str(_as_table(entry, override.table).get("name", at)): entry for at, entry in enumerate(held)
        }
    else:
        named = {}
    what = override.table.rpartition(".")[2].removesuffix("s").removesuffix("e")
    if override.entry == "*":
        chosen = list(named.values())
    elif override.entry in named:
        chosen = [named[override.entry]]
    else:
        raise UnknownName(what, str(override.entry), named)
    return [_as_table(entry, override.table) for entry in chosen]


def _as_table(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError("is not a table, so it has no fields to override", field=name)
    return value


def _contention(given: Any, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contention with changes: another model drops the fields of the old one."""
    check_keys(_as_table(given, "contention"), _SECTIONS["contention"], (), "contention")
    check_keys(changes, _SECTIONS["contention"], (), "contention")
    return build(build(Contention, given, "contention").replace, changes, "contention").expanded()
