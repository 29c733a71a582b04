"""Slurm's `topology.yaml`, which holds one or more topologies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ringsched.errors import InputError, UnknownName, did_you_mean
from ringsched.formats.host_lists import expand
from ringsched.formats.topologies.slurm_conf import BLOCK_SIZES
from ringsched.formats.topologies.topology import Topology, Tree
from ringsched.formats.topologies.yaml_tables import list_of, parse_yaml_or_json, table_of, text_of, where

KINDS = ("tree", "block", "flat")
TRUE = ("true", "yes", "on")  # in any case


def read_slurm_yaml(path: Path, *, topology: str | None = None) -> Topology:
    """Return a topology of the file: the named one, else the default of the cluster."""
    return topology_of_yaml(parse_yaml_or_json(path), topology)


def topology_of_yaml(content: Any, name: str | None = None) -> Topology:
    """Return a topology of the content of such a file.

    Examples
    --------
    >>> switches = [{"switch": "s1", "nodes": "n[1-2]"}]
    >>> topology_of_yaml([{"topology": "t", "tree": {"switches": switches}}]).switch_of
    {'n1': 's1', 'n2': 's1'}
    """
    listed = content if isinstance(content, list) else [content]
    named: dict[str, tuple[str, dict[str, Any]]] = {}
    for at, entry in enumerate(listed):
        place = where(entry, f"[{at}]")
        key = text_of(table_of(entry, "topology", place).get("topology"), "topology", place)
        if key in named:
            raise InputError(f"= {key!r} is defined already ({named[key][0]})", field="topology", place=place)
        named[key] = place, entry
    if not named:
        raise InputError("holds no topologies")
    chosen, assumptions = _chosen(named, name)
    place, entry = named[chosen]
    kinds = [kind for kind in entry if kind not in ("topology", "cluster_default")]
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise InputError(f"unknown key {unknown[0]!r}{did_you_mean(unknown[0], KINDS)}", place=place)
    if len(kinds) != 1:
        raise InputError(f"topology {chosen!r} must have one of {', '.join(KINDS)}", place=place)
    if kinds == ["flat"]:
        raise InputError(
            f"topology {chosen!r} is flat: it names no nodes; write the servers into a scenario file",
            place=place,
        )
    body = table_of(entry[kinds[0]], kinds[0], place)
    read = _tree if kinds == ["tree"] else _block
    return read(body, place, assumptions)


def _chosen(named: dict[str, tuple[str, dict[str, Any]]], name: str | None) -> tuple[str, list[str]]:
    if name is not None:
        if name not in named:
            raise UnknownName("topology", name, named, field="topology")
        return name, []
    defaults = [
        key for key, (_, entry) in named.items() if str(entry.get("cluster_default", "")).lower() in TRUE
    ]
    chosen = next(iter([*defaults, *named]))
    if len(named) == 1:
        return chosen, []
    why = "the cluster's default" if defaults else "the first"
    return chosen, [f"{len(named)} topologies: {chosen} is taken, {why}; --topology takes another"]


def _tree(body: dict[str, Any], place: str, assumptions: list[str]) -> Topology:
    tree = Tree()
    for entry, at in _entries(body, "switches", ("switch", "children", "nodes"), place):
        name = text_of(entry.get("switch"), "switch", at)
        tree.add_switch(name, at)
        tree.add_parent(_names(entry, "children", at), name, at)
        tree.add_servers(_names(entry, "nodes", at), name, at)
    return tree.topology(*assumptions)


def _block(body: dict[str, Any], place: str, assumptions: list[str]) -> Topology:
    sizes = body.get("block_sizes", [])
    several = [BLOCK_SIZES] if isinstance(sizes, list) and len(sizes) > 1 else []
    tree = Tree()
    for entry, at in _entries(body, "blocks", ("block", "nodes"), place):
        name = text_of(entry.get("block"), "block", at)
        tree.add_switch(name, at)
        tree.add_servers(_names(entry, "nodes", at), name, at)
    return tree.topology(*assumptions, *several)


def _entries(
    body: dict[str, Any], field: str, known: tuple[str, ...], place: str
) -> list[tuple[dict[str, Any], str]]:
    found = []
    for at, entry in enumerate(list_of(body.get(field), field, place)):
        inner = where(entry, f"{place}, {field}[{at}]")
        table = table_of(entry, field, inner)
        if unknown := [key for key in table if key not in known]:
            raise InputError(f"unknown key {unknown[0]!r}{did_you_mean(unknown[0], known)}", place=inner)
        found.append((table, inner))
    return found


def _names(entry: dict[str, Any], field: str, place: str) -> list[str]:
    """Return the hosts of a field: a list in Slurm's way, or of several such."""
    value = entry.get(field, "")
    try:
        parts = value if isinstance(value, list) else [value]
        return [name for part in parts for name in expand(str(part).strip())]
    except InputError as error:
        raise InputError(error.problem, field=field, place=place) from None
