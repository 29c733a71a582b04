"""What Slurm allows: partitions, reservations, and the settings that matter to placements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ringsched.clusters.slurm.commands import Commands
from ringsched.clusters.slurm.values import duration_s, expand, moment_s, table_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A partition; `default_s` is the time limit of a job that states none."""

    name: str
    nodes: frozenset[str]
    is_up: bool = True
    max_s: float = math.inf
    default_s: float = math.inf
    min_nodes: int = 0
    max_nodes: int = 0  # 0: any
    max_cpus: int = 0  # per node
    tier: int = 1
    factor: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Nodes that only jobs of the reservation may use from `start_s` to `end_s`, in Unix seconds."""

    name: str
    nodes: frozenset[str]
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Partitions by name, reservations of nodes, and whether memory is shared out like CPUs."""

    partitions: dict[str, Partition]
    reservations: tuple[Reservation, ...] = ()
    shares_memory: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)


def read_site(commands: Commands) -> Site:
    """Read partitions, reservations and settings."""
    config = commands.ask("scontrol", "show", "config")
    pairs = (line.partition("=") for line in config.splitlines() if "=" in line)
    settings = {key.strip(): value.strip() for key, _, value in pairs}
    return Site(
        partitions=partitions_in(commands.ask("scontrol", "show", "partition", "--oneliner")),
        reservations=reservations_in(commands.ask("scontrol", "show", "reservation", "--oneliner")),
        shares_memory="MEMORY" in settings.get("SelectTypeParameters", "").upper(),
        settings=settings,
    )


def partitions_in(text: str) -> dict[str, Partition]:
    """Return the partitions that `scontrol show partition --oneliner` lists.

    Examples
    --------
    >>> text = "PartitionName=gpu DefaultTime=NONE MaxNodes=4 MaxTime=01:00:00 Nodes=n[1-2] State=UP"
    >>> found = partitions_in(text)["gpu"]
    >>> sorted(found.nodes), found.max_s, found.default_s, found.max_nodes
    (['n1', 'n2'], 3600.0, 3600.0, 4)
    """
    found = {}
    for row in table_rows(text, "PartitionName"):
        max_s = duration_s(row.get("MaxTime"))
        most_s = math.inf if max_s is None else max_s
        default_s = duration_s(row.get("DefaultTime"))
        found[row["PartitionName"]] = Partition(
            name=row["PartitionName"],
            nodes=frozenset(expand(row.get("Nodes", ""))),
            is_up=row.get("State", "UP") == "UP",
            max_s=most_s,
            default_s=most_s if default_s is None else default_s,
            min_nodes=whole(row.get("MinNodes")),
            max_nodes=whole(row.get("MaxNodes")),
            max_cpus=whole(row.get("MaxCPUsPerNode")),
            tier=whole(row.get("PriorityTier"), 1),
            factor=whole(row.get("PriorityJobFactor"), 1),
        )
    return found


def whole(text: str | None, otherwise: int = 0) -> int:
    """Return a whole number as Slurm writes it; `otherwise` for words such as UNLIMITED."""
    return int(text) if text is not None and text.isdigit() else otherwise


def reservations_in(text: str) -> tuple[Reservation, ...]:
    """Return the reservations of nodes that `scontrol show reservation --oneliner` lists.

    One of some cores counts as one of whole nodes, since Slurm does not say which GPUs it has.
    """
    return tuple(
        Reservation(
            name=row["ReservationName"],
            nodes=frozenset(expand(row["Nodes"])),
            start_s=moment_s(row.get("StartTime", "")) or 0.0,
            end_s=moment_s(row.get("EndTime", "")) or math.inf,
        )
        for row in table_rows(text, "ReservationName")
        if "Nodes" in row
    )
