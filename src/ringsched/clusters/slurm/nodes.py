"""The nodes and switches of Slurm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ringsched.clusters.gpus import Node
from ringsched.clusters.slurm.commands import Commands
from ringsched.clusters.slurm.values import gpu_count, gpu_counts, number, read_json, string, words
from ringsched.errors import AdapterError, InputError, did_you_mean
from ringsched.formats.topologies.slurm_conf import topology_in
from ringsched.formats.topologies.topology import Topology

# Nodes in these states get no new jobs. Maintenance is left to its reservation, since the flag lags behind.
_NOT_NOW = {
    "DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING", "FUTURE", "INVALID", "INVALID_REG",
    "NOT_RESPONDING", "NO_RESPOND", "POWERING_DOWN", "REBOOT", "REBOOT_ISSUED",
    "REBOOT_REQUESTED", "UNKNOWN",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmNode(Node):
    """A node of Slurm; its state is such as IDLE or IDLE+DRAIN."""

    partitions: tuple[str, ...]
    reason: str = ""  # of an operator, why not
    types: Mapping[str, int] = field(default_factory=dict)  # GPUs by type
    features: frozenset[str] = frozenset()
    cpus: int = 0
    cpus_used: int = 0
    memory_mb: int = 0
    memory_used_mb: int = 0


def read_nodes(commands: Commands, partitions: Sequence[str]) -> tuple[SlurmNode, ...]:
    """Return the nodes of partitions that have GPUs, in Slurm's order."""
    entries = read_json(commands, "nodes", "sinfo", "--json")
    nodes = [_node(entry) for entry in entries]
    for partition in partitions:
        if not any(partition in node.partitions and node.gpus for node in nodes):
            known = {name for node in nodes if node.gpus for name in node.partitions}
            raise _no_partition(partition, sorted(known), any(partition in node.partitions for node in nodes))
    return tuple(node for node in nodes if node.gpus and set(partitions).intersection(node.partitions))


def _no_partition(name: str, with_gpus: Sequence[str], exists: bool) -> AdapterError:
    problem = f"partition {name!r} has no nodes with GPUs" if exists else f"there is no partition {name!r}"
    guess = did_you_mean(name, with_gpus)
    choices = f"; choose from {', '.join(with_gpus)}" if with_gpus else "; check Gres in slurm.conf"
    return AdapterError(f"{problem}{guess}{choices}", refused=True)


def default_partition(commands: Commands) -> str:
    """Return the name of the cluster's default partition."""
    for line in commands.ask("sinfo", "--noheader", "--format=%P").splitlines():
        if line.strip().endswith("*"):
            return line.strip().removesuffix("*")
    raise AdapterError("the cluster has no default partition; choose one with --partition", refused=True)


def _node(entry: Mapping[str, Any]) -> SlurmNode:
    states = [*words(entry, "state"), *words(entry, "state_flags")]
    return SlurmNode(
        name=string(entry, "name"),
        gpus=gpu_count(string(entry, "gres")),
        used=gpu_count(string(entry, "gres_used")),
        partitions=tuple(entry.get("partitions") or ()),
        state="+".join(states),
        usable=bool(states) and not _NOT_NOW.intersection(states),
        reason=string(entry, "reason"),
        types=gpu_counts(string(entry, "gres")),
        features=frozenset(_names(entry.get("active_features") or entry.get("features"))),
        cpus=number(entry, "cpus") or 0,
        cpus_used=number(entry, "alloc_cpus") or 0,
        memory_mb=number(entry, "real_memory") or 0,
        memory_used_mb=number(entry, "alloc_memory") or 0,
    )


def _names(value: object) -> list[str]:
    """Return names that Slurm writes as a list, or separated by commas."""
    listed = value if isinstance(value, list) else str(value or "").split(",")
    return [str(name) for name in listed if name]


_NONE = Topology(switch_of={}, parent_of={})


def read_topology(commands: Commands, nodes: Sequence[str]) -> Topology:
    """Return the switches above `nodes`; none if Slurm has none, or if all nodes have the same."""
    try:
        text = commands.ask("scontrol", "show", "topology")
    except AdapterError as error:
        if not error.refused:
            raise
        return _NONE  # no topology plugin
    return topology_of(text, nodes)


def topology_of(text: str, nodes: Sequence[str]) -> Topology:
    """Return the same of what Slurm printed; a block of the block plugin counts as a switch.

    Switches above all of the nodes are left out, as no job of theirs crosses an uplink up there.

    Examples
    --------
    >>> text = '''SwitchName=r1 Level=0 LinkSpeed=1 Nodes=n[1-2]
    ... SwitchName=r2 Level=0 LinkSpeed=1 Nodes=n3
    ... SwitchName=r3 Level=0 LinkSpeed=1 Nodes=n4
    ... SwitchName=left Level=1 LinkSpeed=1 Nodes=n[1-3] Switches=r[1-2]
    ... SwitchName=core Level=2 LinkSpeed=1 Nodes=n[1-4] Switches=left,r3
    ... '''
    >>> topology = topology_of(text, ["n1", "n4"])
    >>> topology.switch_of, topology.parent_of
    ({'n1': 'r1', 'n4': 'r3'}, {'r1': 'left'})
    >>> topology_of(text, ["n1", "n2"]).switch_of
    {'n1': None, 'n2': None}
    """
    known = [line for line in text.splitlines() if line.startswith(("SwitchName=", "BlockName="))]
    if not known:
        return _NONE
    try:
        return topology_in("\n".join(known)).above(nodes)
    except InputError as error:
        raise AdapterError(f"scontrol show topology printed what cannot be read: {error}") from None
