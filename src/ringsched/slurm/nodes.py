"""The nodes of a cluster, as Slurm sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ringsched.errors import AdapterError
from ringsched.slurm.commands import Commands
from ringsched.slurm.gres import gpu_count
from ringsched.slurm.values import read_json, string, words

# A node in one of these is given no new job, whatever it still runs.
_NOT_NOW = {
    "DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING", "FUTURE", "INVALID", "INVALID_REG",
    "MAINT", "MAINTENANCE", "NOT_RESPONDING", "NO_RESPOND", "POWERING_DOWN", "REBOOT", "REBOOT_ISSUED",
    "REBOOT_REQUESTED", "UNKNOWN",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node with GPUs."""

    name: str
    gpus: int
    used: int  # GPUs that Slurm has given away
    partitions: tuple[str, ...]
    state: str  # such as IDLE or IDLE+DRAIN
    usable: bool  # whether new jobs may start there
    reason: str = ""  # of an operator, why not


def read_nodes(commands: Commands, partition: str) -> tuple[Node, ...]:
    """Return the nodes of a partition that have GPUs, in Slurm's order."""
    entries = read_json(commands, "nodes", "sinfo", "--json")
    nodes = (_node(entry) for entry in entries)
    found = tuple(node for node in nodes if partition in node.partitions and node.gpus)
    if not found:
        raise AdapterError(f"partition {partition!r} has no nodes with GPUs", refused=True)
    return found


def default_partition(commands: Commands) -> str:
    """Return the name of the cluster's default partition."""
    for line in commands.ask("sinfo", "--noheader", "--format=%P").splitlines():
        if line.strip().endswith("*"):
            return line.strip().removesuffix("*")
    raise AdapterError("the cluster has no default partition; name one by --partition", refused=True)


def _node(entry: Mapping[str, Any]) -> Node:
    states = [*words(entry, "state"), *words(entry, "state_flags")]
    return Node(
        name=string(entry, "name"),
        gpus=gpu_count(string(entry, "gres")),
        used=gpu_count(string(entry, "gres_used")),
        partitions=tuple(entry.get("partitions") or ()),
        state="+".join(states),
        usable=bool(states) and not _NOT_NOW.intersection(states),
        reason=string(entry, "reason"),
    )
