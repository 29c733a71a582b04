"""A CSV table with a row for each server: its switches, and its GPUs if there is such a column."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ringsched.errors import InputError, UnknownName
from ringsched.formats.files import read_text
from ringsched.formats.host_lists import expand
from ringsched.formats.topologies.topology import Topology
from ringsched.model.checks import MAX_GPUS, shown

HOSTS = ("host", "hostname", "host_ip", "node", "nodename", "server", "name", "ip")
GPUS = ("gpus", "gpu", "num_gpus", "gpu_num", "gpu_count")
_SEPARATORS = (",", ";", "\t", "|")
_SEVERAL = re.compile(r"\s*[;|+]\s*")

Node = tuple[int, str]  # a level, 0 for servers, and a name
Edges = set[tuple[Node, Node]]


def read_table(path: Path, *, levels: Sequence[str] | None = None) -> Topology:
    """Return the topology of a table; `levels` names the columns of the switches.

    The level with fewer names is the upper one. Where that does not tell, the first is next to the servers.
    Switches above one switch or server are merged: a tree has one way up.
    """
    rows = _rows(path)
    at, header = rows[0]
    if twice := [name for name in header if header.count(name) > 1]:
        raise InputError(f"has the column {twice[0]!r} twice", place=at)
    _check_header(header, rows)
    host = next((name for name in header if name.lower() in HOSTS), header[0])
    gpus = next((name for name in header if name.lower() in GPUS), None)
    chosen = list(levels or [name for name in header if name not in (host, gpus)])
    for name in chosen:
        if name not in header:
            raise UnknownName("column", name, header, field="levels")
    if not chosen:
        raise InputError("has no column with switches", place=at)
    for place, cells in rows:
        if len(cells) != len(header):
            raise InputError(f"has {len(cells)} cells, but the header has {len(header)}", place=place)
    columns = _upwards([header.index(name) for name in chosen], [cells for _, cells in rows[1:]])
    edges, servers = _edges(rows[1:], header, host, columns)
    assumed = f"servers are in column {host}; levels from the servers up: "
    topology = _topology(edges, servers, [header[column] for column in columns], assumed)
    return topology if gpus is None else replace(topology, gpus=_gpus(rows[1:], header, host, gpus))


def _rows(path: Path) -> list[tuple[str, list[str]]]:
    """Return the cells of the header and of every row, and which line it is."""
    lines = [
        (f"line {number}", line)
        for number, line in enumerate(read_text(path).splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if len(lines) < 2:
        raise InputError("must have a header and a row for each server")
    separator = max(_SEPARATORS, key=lines[0][1].count)
    rows = []
    for place, line in lines:
        try:
            cells = next(csv.reader([line], delimiter=separator, strict=True))
        except csv.Error as error:
            raise InputError(f"is not valid CSV: {error}", place=place) from None
        rows.append((place, [cell.strip() for cell in cells]))
    return rows


def _check_header(header: list[str], rows: list[tuple[str, list[str]]]) -> None:
    """Raise if the first line is a row: a name of it is also below."""
    for column, name in enumerate(header):
        if any(name == cells[column] for _, cells in rows[1:] if column < len(cells)):
            problem = f"is a row, not a header: {name!r} is also below; add a line such as host,leaf,spine"
            raise InputError(problem, place=rows[0][0])


def _upwards(columns: list[int], rows: list[list[str]]) -> list[int]:
    """Return the columns from the servers up."""
    lowest, uppermost = (len({cells[at] for cells in rows}) for at in (columns[0], columns[-1]))
    return columns if lowest >= uppermost else columns[::-1]


def _hosts(cells: list[str], header: list[str], host: str, place: str) -> list[str]:
    try:
        names = expand(cells[header.index(host)])
    except InputError as error:
        raise InputError(error.problem, field=host, place=place) from None
    if not names:
        raise InputError("is empty", field=host, place=place)
    return names


def _gpus(rows: list[tuple[str, list[str]]], header: list[str], host: str, column: str) -> dict[str, int]:
    gpus: dict[str, int] = {}
    for place, cells in rows:
        if written := cells[header.index(column)]:
            count = int(written) if written.isdecimal() else 0
            if not 1 <= count <= MAX_GPUS:
                problem = f"must be a number of GPUs, not {shown(written)}"
                raise InputError(problem, field=column, place=place)
            for name in _hosts(cells, header, host, place):
                if gpus.setdefault(name, count) != count:
                    problem = f"= {count} differs from {gpus[name]} in an earlier row of {name!r}"
                    raise InputError(problem, field=column, place=place)
    return gpus


def _edges(
    rows: list[tuple[str, list[str]]], header: list[str], host: str, columns: list[int]
) -> tuple[Edges, list[str]]:
    """Return which node is above which, and the servers; a cell may name several switches."""
    edges: Edges = set()
    servers: dict[str, None] = {}
    for place, cells in rows:
        for server in _hosts(cells, header, host, place):
            servers[server] = None
            below: list[Node] = [(0, server)]
            for level, column in enumerate(columns, start=1):
                above = [(level, name) for name in _SEVERAL.split(cells[column]) if name]
                edges.update((one, other) for one in below for other in above)
                below = above or below
    return edges, list(servers)


def _merged(edges: Edges) -> dict[Node, Node]:
    """Return the first node of the group of each switch: switches above one group are one."""
    first_of: dict[Node, Node] = {other: other for _, other in edges}

    def first(node: Node) -> Node:
        while first_of.get(node, node) != node:
            node = first_of[node]
        return node

    above_of: dict[Node, Node] = {}
    for one, other in sorted(edges):  # from the servers up, and the lowest above each first
        known = above_of.setdefault(first(one), other)
        if known[0] == other[0] and first(known) != first(other):
            low, high = sorted((first(known), first(other)))
            first_of[high] = low
    return {node: first(node) for node in first_of}


def _topology(edges: Edges, servers: list[str], levels: list[str], assumed: str) -> Topology:
    first_of = _merged(edges)
    members: dict[Node, list[str]] = {}
    for node in sorted(first_of):
        members.setdefault(first_of[node], []).append(node[1])
    names = {
        first: "+".join(group) if len(group) <= 3 else f"{group[0]}+{len(group) - 1}-more"
        for first, group in members.items()
    }
    if len(set(names.values())) < len(names):  # the same name at two levels
        names = {first: f"{levels[first[0] - 1]}-{name}" for first, name in names.items()}
    above_of: dict[Node, str] = {}
    for one, other in sorted(edges):
        above_of.setdefault(first_of.get(one, one), names[first_of[other]])
    assumptions = [assumed + ", ".join(levels)]
    for level, name in enumerate(levels, start=1):
        groups = [group for first, group in members.items() if first[0] == level and len(group) > 1]
        if groups:
            assumptions.append(
                f"{sum(map(len, groups))} switches of level {name} are merged into {len(groups)}, such as "
                f"{'+'.join(min(groups, key=len)[:3])}: a node below has several of them, and uses all evenly"
            )
    if bare := sum((0, server) not in above_of for server in servers):
        assumptions.append(f"{bare} servers without a switch: connected to the core")
    return Topology(
        switch_of={server: above_of.get((0, server)) for server in servers},
        parent_of={names[node]: above for node, above in above_of.items() if node[0] > 0},
        parallel={names[first]: len(group) for first, group in members.items() if len(group) > 1},
        assumptions=tuple(assumptions),
    )
