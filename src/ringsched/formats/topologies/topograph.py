"""Files of NVIDIA topograph: models, and what its engines for graphs and Slurm write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from ringsched.errors import InputError
from ringsched.formats.files import read_text
from ringsched.formats.host_lists import expand
from ringsched.formats.topologies.slurm_conf import topology_in
from ringsched.formats.topologies.slurm_yaml import topology_of_yaml
from ringsched.formats.topologies.topology import Topology, Tree
from ringsched.formats.topologies.yaml_tables import list_of, parse_yaml_or_json, table_of, text_of, where

DOMAINS = "accelerated domains (NVLink across servers) are ignored: only switches count"
MODEL_KEYS = {"switches", "nodes", "capacity_blocks", "blocks"}
_SLURM_CONF = re.compile(r"^\s*(SwitchName|BlockName|BlockSizes)\s*=", re.MULTILINE | re.IGNORECASE)


def read_topograph(path: Path) -> Topology:
    """Return the topology of a file of topograph, whichever of its kinds it is."""
    if _SLURM_CONF.search(text := read_text(path)):
        return topology_in(text)
    content = parse_yaml_or_json(path)
    if isinstance(content, list):
        return topology_of_yaml(content)
    if isinstance(content, dict) and "instances" in content:
        return _graph(content)
    if isinstance(content, dict) and not {"switches", "nodes", "capacity_blocks", "blocks"}.isdisjoint(
        content
    ):
        return _model(content)
    raise InputError("is no file of topograph: it has neither switches, nodes nor instances")


def _graph(content: dict[str, Any]) -> Topology:
    """Return the topology of instances with their switches, from the lowest up."""
    tree, domains, bare = Tree(), False, 0
    seen: set[str] = set()
    for at, entry in enumerate(list_of(content["instances"], "instances", None)):
        place = where(entry, f"instances[{at}]")
        instance = table_of(entry, "instances", place)
        name = text_of(instance.get("id"), "id", place)
        layers = [
            text_of(layer, "network_layers", place)
            for layer in list_of(instance.get("network_layers") or [], "network_layers", place)
        ]
        domains = domains or bool((instance.get("attributes") or {}).get("nvlink"))
        bare += not layers
        for switch in layers:
            if switch not in seen:
                tree.add_switch(switch, place)
                seen.add(switch)
        tree.add_servers([name], layers[0] if layers else None, place)
        for lower, upper in pairwise(layers):
            tree.add_parent([lower], upper, place)
    return tree.topology(*_assumptions(bare, domains))


def _model(content: dict[str, Any]) -> Topology:
    """Return the topology of a model: of today's form, with tables by name, or of the older one."""
    tree = Tree()
    blocks = dict(_named(content, "capacity_blocks"))
    placed: set[str] = set()
    for name, (entry, place) in _named(content, "switches"):
        tree.add_switch(name, place)
        tree.add_parent(_hosts(entry, "switches", place), name, place)
        nodes = _hosts(entry, "nodes", place)
        for block in _hosts(entry, "capacity_blocks", place):
            if block not in blocks:
                raise InputError(f"names the unknown capacity block {block!r}", place=place)
            nodes += _hosts(blocks[block][0], "nodes", blocks[block][1])
        tree.add_servers(nodes, name, place)
        placed.update(nodes)
    for at, entry in enumerate(list_of(content.get("blocks", []), "blocks", None)):
        place = where(entry, f"blocks[{at}]")
        table = table_of(entry, "blocks", place)
        switch, nodes = text_of(table.get("switch"), "switch", place), _hosts(table, "nodes", place)
        if switch not in dict(_named(content, "switches")):
            tree.add_switch(switch, place)
        tree.add_servers(nodes, switch, place)
        placed.update(nodes)
    others = [(name, place) for name, (_, place) in _named(content, "nodes") if name not in placed]
    others += [
        (node, place)
        for entry, place in blocks.values()
        for node in _hosts(entry, "nodes", place)
        if node not in placed
    ]
    for node, place in others:
        tree.add_servers([node], None, place)
    bare = len({node for node, _ in others})
    has_domains = any(key in str(content) for key in ("capacity_block", "nvlink"))
    return tree.topology(*_assumptions(bare, has_domains))


def _assumptions(bare: int, domains: bool) -> list[str]:
    core = f"{bare} server{'' if bare == 1 else 's'} below no switch: connected to the core"
    return [core] * bool(bare) + [DOMAINS] * domains


def _named(content: dict[str, Any], field: str) -> Iterator[tuple[str, tuple[dict[str, Any], str]]]:
    """Yield the entries of a table by name, or of a list whose entries have a name, with their places."""
    value = content.get(field) or {}
    if isinstance(value, list):
        for at, entry in enumerate(value):
            place = where(entry, f"{field}[{at}]")
            yield text_of(table_of(entry, field, place).get("name"), "name", place), (entry, place)
        return
    for name, entry in table_of(value, field, None).items():
        place = f"{field}.{name}" if not getattr(entry, "line", 0) else f"{where(entry, '')} ({field}.{name})"
        yield name, (table_of(entry or {}, name, place), place)


def _hosts(entry: dict[str, Any], field: str, place: str) -> list[str]:
    try:
        return [
            name
            for part in list_of(entry.get(field) or [], field, place)
            for name in expand(text_of(part, field, place))
        ]
    except InputError as error:
        raise InputError(error.problem, field=field, place=place) from None
