"""Nodes of Kubernetes, as `kubectl get nodes -o json` prints them; labels name the levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ringsched.errors import InputError, UnknownName
from ringsched.formats.topologies.topology import Topology
from ringsched.formats.topologies.yaml_tables import list_of, parse_yaml_or_json, table_of, text_of, where

GPU_RESOURCE = "nvidia.com/gpu"
_TELLING = ("zone", "region", "rack", "block", "leaf", "spine", "core", "switch", "pod", "topology")


def read_kubernetes(path: Path, *, levels: Sequence[str] | None = None) -> Topology:
    """Return the nodes with GPUs and the switches that `levels`, keys of labels, describe.

    The level with fewer values is the upper one. Where that does not tell, the first is the uppermost.
    """
    content = parse_yaml_or_json(path)
    labels, gpus, without = _nodes(content)
    keys = sorted({key for of_node in labels.values() for key in of_node})
    if not levels:
        telling = [key for key in keys if any(word in key.rpartition("/")[2].lower() for word in _TELLING)]
        found = f"; labels that may tell: {', '.join(telling[:8])}" if telling else ""
        raise InputError(f"needs the labels of the levels, such as --levels rack,zone{found}")
    for level in levels:
        if level not in keys:
            raise UnknownName("label", level, keys, field="levels")
    upwards = _upwards(levels, labels)
    return _topology(upwards, labels, gpus, without)


def _nodes(content: Any) -> tuple[dict[str, dict[str, str]], dict[str, int], int]:
    """Return labels and GPUs of the nodes, and how many others have no GPUs."""
    table = table_of(content, "the file", None)
    items = list_of(table["items"], "items", None) if "items" in table else [table]
    labels: dict[str, dict[str, str]] = {}
    gpus: dict[str, int] = {}
    for at, item in enumerate(items):
        place = where(item, f"items[{at}]")
        node = table_of(item, "items", place)
        if node.get("kind", "Node") != "Node":
            raise InputError(
                f"is a {node['kind']}, not a Node; use kubectl get nodes", field="kind", place=place
            )
        metadata = table_of(node.get("metadata") or {}, "metadata", place)
        name = text_of(metadata.get("name"), "metadata.name", place)
        if name in labels:
            raise InputError(f"= {name!r} occurs twice", field="metadata.name", place=place)
        of_node = table_of(metadata.get("labels") or {}, "metadata.labels", place)
        labels[name] = {key: str(value) for key, value in of_node.items()}
        status = table_of(node.get("status") or {}, "status", place)
        capacity = table_of(status.get("capacity") or {}, "status.capacity", place)
        count = str(capacity.get(GPU_RESOURCE, "0"))
        if not count.isdecimal():
            raise InputError(f"must be a number, not {count!r}", field=GPU_RESOURCE, place=place)
        gpus[name] = int(count)
    if not labels:
        raise InputError("holds no nodes")
    with_gpus = {name: count for name, count in gpus.items() if count}
    if not with_gpus:
        return labels, {}, 0
    return {name: labels[name] for name in with_gpus}, with_gpus, len(gpus) - len(with_gpus)


def _upwards(levels: Sequence[str], labels: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the levels from the servers up."""
    num_values = [
        len({of_node[level] for of_node in labels.values() if level in of_node}) for level in levels
    ]
    return list(levels) if num_values[0] > num_values[-1] else list(reversed(levels))


def _topology(
    upwards: Sequence[str], labels: Mapping[str, Mapping[str, str]], gpus: dict[str, int], without: int
) -> Topology:
    """Return the tree; racks of the same name in two zones are two racks."""
    paths = {
        name: tuple((level, of_node[level]) for level in upwards if of_node.get(level))
        for name, of_node in labels.items()
    }
    # A switch is what all labels from its level up say.
    switches = {path[at:] for path in paths.values() for at in range(len(path))}
    namesakes = Counter(switch[0][1] for switch in switches)
    names = {
        switch: switch[0][1]
        if namesakes[switch[0][1]] == 1
        else "/".join(value for _, value in reversed(switch))
        for switch in switches
    }
    if len(set(names.values())) < len(names):  # the same value at two levels
        names = {
            switch: "/".join(f"{level}={value}" for level, value in reversed(switch)) for switch in switches
        }
    missing = {level: sum(not of_node.get(level) for of_node in labels.values()) for level in upwards}
    assumptions = [f"levels from the servers up: {', '.join(upwards)}"]
    assumptions += [
        f"{count} of {len(labels)} nodes have no label {level}: connected to the level above"
        for level, count in missing.items()
        if count
    ]
    twice = sorted(value for value, count in namesakes.items() if count > 1)
    if twice:
        assumptions.append(f"the same name at several places, such as {twice[0]}, means different switches")
    if without:
        assumptions.append(f"{without} of {len(labels) + without} nodes left out: no {GPU_RESOURCE}")
    return Topology(
        switch_of={name: names[path] if path else None for name, path in paths.items()},
        parent_of={names[switch]: names[switch[1:]] for switch in switches if len(switch) > 1},
        gpus=gpus,
        assumptions=tuple(assumptions),
    )
