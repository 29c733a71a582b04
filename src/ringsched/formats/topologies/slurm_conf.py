"""Slurm's `topology.conf`, of the tree and the block plugin, and what `scontrol show topology` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ringsched.errors import InputError, did_you_mean
from ringsched.formats.files import read_text
from ringsched.formats.host_lists import expand
from ringsched.formats.topologies.topology import Topology, Tree, at_place

# In lower case: Slurm accepts any case. Levels, indices and sizes are printed by scontrol.
SWITCH_KEYS = {
    "switchname": "SwitchName",
    "switches": "Switches",
    "nodes": "Nodes",
    "linkspeed": "LinkSpeed",
    "level": "Level",
}
BLOCK_KEYS = {
    "blockname": "BlockName",
    "nodes": "Nodes",
    "blockindex": "BlockIndex",
    "blocksize": "BlockSize",
}
SIZES_KEYS = {"blocksizes": "BlockSizes"}
FIRST_KEYS = {"switchname": SWITCH_KEYS, "blockname": BLOCK_KEYS, "blocksizes": SIZES_KEYS}
_FIELD = re.compile(r"\s*(\w+)\s*=\s*(\"[^\"]*\"|\S+)")

LINK_SPEEDS = "LinkSpeed is ignored: it has no unit"
BLOCK_SIZES = "BlockSizes are sizes of allocations, not switches: blocks are connected to the core"


def read_slurm_conf(path: Path) -> Topology:
    """Return the topology in a `topology.conf`."""
    return topology_in(read_text(path))


def topology_in(text: str) -> Topology:
    """Return the topology in the text of such a file; a block counts as a switch.

    Examples
    --------
    >>> topology = topology_in('''SwitchName=core Switches=s[1-2]
    ... SwitchName=s1 Nodes=n[1-2]
    ... SwitchName=s2 Nodes=n3''')
    >>> topology.switch_of, topology.parent_of
    ({'n1': 's1', 'n2': 's1', 'n3': 's2'}, {'s1': 'core', 's2': 'core'})
    """
    tree = Tree()
    kinds: dict[str, str] = {}
    assumptions: list[str] = []
    for where, given in _lines(text):
        kind = next(iter(given))
        kinds.setdefault(kind.removesuffix("name").removesuffix("sizes"), where)
        if len(kinds) > 1:
            raise InputError("switches and blocks are mixed; keep one kind", place=where)
        if "linkspeed" in given and given["linkspeed"] != "1" and LINK_SPEEDS not in assumptions:
            assumptions.append(LINK_SPEEDS)
        if kind == "blocksizes":
            if "," in given[kind]:
                assumptions.append(BLOCK_SIZES)
            continue
        _add(tree, given, kind, where)
    return tree.topology(*assumptions)


def _add(tree: Tree, given: Mapping[str, str], kind: str, where: str) -> None:
    name = given[kind]
    tree.add_switch(name, where)
    tree.add_parent(_names(given, "switches", where), name, where)
    if given.get("level", "0") != "0":
        return  # scontrol lists the nodes of all switches below, too
    nodes = _names(given, "nodes", where)
    if "ALL" in nodes:
        raise InputError("= ALL has to be written as a list of nodes", field="Nodes", place=where)
    tree.add_servers(nodes, name, where)


def _names(given: Mapping[str, str], key: str, where: str) -> list[str]:
    try:
        return at_place(where, expand, given.get(key, ""))
    except InputError as error:
        raise InputError(error.problem, field=SWITCH_KEYS[key], place=where) from None


def _lines(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the fields of each line, by their names in lower case, and which line it is."""
    begun, first = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.partition("#")[0].rstrip()
        first = first or number
        if line.endswith("\\"):
            begun += line[:-1] + " "
            continue
        whole, where = begun + line, f"line {first}"
        begun, first = "", 0
        if whole.strip():
            yield where, _fields(whole.strip(), where)


def _fields(line: str, where: str) -> dict[str, str]:
    given: dict[str, str] = {}
    at = 0
    while at < len(line):
        found = _FIELD.match(line, at)
        if found is None:
            raise InputError(f"{line[at:].strip()[:40]!r} is not written as KEY=VALUE", place=where)
        key, at = found[1], found.end()
        known = FIRST_KEYS.get(next(iter(given), key.lower()), {})
        if key.lower() not in known:
            choices = [*known.values()] or [keys[first] for first, keys in FIRST_KEYS.items()]
            listed = "" if known else f"; a line begins with {', '.join(choices)}"
            raise InputError(f"unknown key {key!r}{did_you_mean(key, choices)}{listed}", place=where)
        if key.lower() in given:
            raise InputError("is given twice", field=known[key.lower()], place=where)
        given[key.lower()] = found[2].strip('"')
    return given
