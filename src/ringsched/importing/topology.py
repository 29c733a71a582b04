"""A cluster out of a topology file, with the speeds and GPUs that such files lack."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ringsched.errors import InputError, UnknownName
from ringsched.formats.host_lists import expand
from ringsched.formats.topologies.formats import read_topology
from ringsched.formats.topologies.topology import Topology
from ringsched.formatting import counted
from ringsched.model import Cluster, Server
from ringsched.model.checks import MAX_GPUS, integer, number, sequence
from ringsched.model.cluster import INTER_SERVER_GBPS, INTRA_SERVER_GBPS, REDUCE_GBPS, switches_above

GPUS_PER_SERVER = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTopology:
    """A cluster, and what was assumed about it because the file does not define it, a sentence each."""

    cluster: Cluster
    assumptions: tuple[str, ...]


def import_topology(
    path: str | os.PathLike[str],
    format: str,
    *,
    gbps: Sequence[float] | None = None,
    oversubscription: Sequence[float] | None = None,
    gpus_per_server: int | None = None,
    nodes: str | None = None,
    levels: Sequence[str] | None = None,
    topology: str | None = None,
) -> ImportedTopology:
    r"""Return the cluster that a topology file describes.

    Parameters
    ----------
    format
        slurm, slurm-yaml, topograph, kubernetes or csv.
    gbps
        Speeds of the links by level: of servers, of the switches above them, and so on. Switches without one
        can send what the links below can.
    oversubscription
        By level of switches: what the links below can send over what the uplink can.
    gpus_per_server
        For servers of which the file has no GPUs.
    nodes
        Only these servers, as a list such as `gpu[01-64]`.
    levels
        kubernetes: labels of the levels; csv: columns.
    topology
        slurm-yaml: name of a topology, instead of the cluster's default.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "topology.conf")
    >>> _ = file.write_text("SwitchName=s1 Nodes=n[1-4]\nSwitchName=s2 Nodes=n[5-8]\n")
    >>> import_topology(file, "slurm", gbps=[100, 200], gpus_per_server=4).cluster
    <Cluster: 8 servers, 32 GPUs, 2 racks, 100 Gbit/s between servers>
    """
    path = Path(path)
    found = read_topology(path, format, levels=levels, topology=topology)
    found = found.above(_chosen(found, nodes))
    assumptions = [*found.assumptions]
    speeds = [number(speed, "gbps", above=0) for speed in sequence(gbps or (), "gbps", "numbers")]
    ratios = [
        number(ratio, "oversubscription", above=0)
        for ratio in sequence(oversubscription or (), "oversubscription", "numbers")
    ]
    if ratios and len(speeds) > 1:
        raise InputError("is only allowed if --gbps has one speed, that of servers", field="oversubscription")
    inter_server_gbps = speeds[0] if speeds else INTER_SERVER_GBPS
    if not speeds:
        assumptions.append(f"links of servers have {INTER_SERVER_GBPS:g} Gbit/s; set it with --gbps")
    assumptions.append(
        f"{INTRA_SERVER_GBPS:g} Gbit/s inside servers and {REDUCE_GBPS:g} Gbit/s of reduction; edit the "
        "output to change them"
    )
    servers = tuple(_servers(found, gpus_per_server, assumptions))
    free: set[int] = set()

    def uplink_of(name: str, level: int, below: Sequence[float]) -> float:
        if level < len(speeds):
            return speeds[level] * found.parallel.get(name, 1)
        if level > len(ratios):
            free.add(level)
        return sum(below) / (ratios[level - 1] if level <= len(ratios) else 1)

    switches = switches_above(servers, found.parent_of, inter_server_gbps, uplink_of)
    cluster = Cluster(
        servers=servers,
        switches=switches,
        inter_server_gbps=inter_server_gbps,
        intra_server_gbps=INTRA_SERVER_GBPS,
        reduce_gbps=REDUCE_GBPS,
    )
    num_levels = max(cluster.switch_levels.values(), default=0)
    _check_used("gbps", len(speeds), num_levels + 1, "speed", num_levels)
    _check_used("oversubscription", len(ratios), num_levels, "ratio", num_levels)
    if free:
        listed = ", ".join(map(str, sorted(free)))
        assumptions.append(
            f"uplinks of switches of level {listed} can send all that the links below can; set them with "
            "--gbps or --oversubscription"
        )
    if speeds and any(
        level < len(speeds) for level in (cluster.switch_levels.get(n, 99) for n in found.parallel)
    ):
        assumptions.append("a merged switch has the uplinks of all switches that it consists of")
    return ImportedTopology(cluster=cluster, assumptions=tuple(assumptions))


def _check_used(field: str, given: int, usable: int, what: str, num_levels: int) -> None:
    if given > usable:
        levels = f"servers and {counted(num_levels, 'level')} of switches" if num_levels else "servers only"
        raise InputError(
            f"has {counted(given, what)}, but the network has links of {levels}; a switch above all servers "
            "counts as the core and has none",
            field=field,
        )


def _chosen(topology: Topology, nodes: str | None) -> list[str]:
    """Return the servers to keep, in the order of the file."""
    if nodes is None:
        return list(topology.switch_of)
    try:
        wanted = expand(nodes)
    except InputError as error:
        raise InputError(error.problem, field="nodes") from None
    for name in wanted:
        if name not in topology.switch_of:
            raise UnknownName("server", name, topology.switch_of, field="nodes")
    kept = set(wanted)
    return [name for name in topology.switch_of if name in kept]


def _servers(topology: Topology, gpus_per_server: int | None, assumptions: list[str]) -> list[Server]:
    unknown = [name for name in topology.switch_of if name not in topology.gpus]
    gpus = GPUS_PER_SERVER if gpus_per_server is None else gpus_per_server
    gpus = integer(gpus, "gpus_per_server", minimum=1, maximum=MAX_GPUS)
    if unknown and gpus_per_server is None:
        which = "servers" if len(unknown) == len(topology.switch_of) else counted(len(unknown), "server")
        assumptions.append(f"{which} have {GPUS_PER_SERVER} GPUs; set it with --gpus-per-server")
    return [
        Server(name=name, gpus=topology.gpus.get(name, gpus), switch=switch)
        for name, switch in topology.switch_of.items()
    ]
