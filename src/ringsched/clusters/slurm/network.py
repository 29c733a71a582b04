"""The nodes and switches of Slurm, and link speeds, which Slurm does not know."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ringsched.clusters.slurm.commands import Commands
from ringsched.clusters.slurm.values import gpu_count, read_json, string, words
from ringsched.errors import AdapterError, InputError, did_you_mean
from ringsched.formats.decode import build, check_keys, link_gbps, parse, table
from ringsched.formats.topologies.slurm_conf import topology_in
from ringsched.formats.topologies.topology import Topology
from ringsched.importing.cluster import Surroundings, surroundings_of
from ringsched.model import Cluster, Contention, Server, Time
from ringsched.model.checks import number
from ringsched.model.cluster import (
    INTER_SERVER_GBPS,
    INTRA_SERVER_GBPS,
    OVERSUBSCRIPTION,
    RACKS,
    REDUCE_GBPS,
    SWITCHES,
    switches_above,
)

# Nodes in these states get no new jobs.
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
    nodes = [_node(entry) for entry in entries]
    found = tuple(node for node in nodes if partition in node.partitions and node.gpus)
    if not found:
        known = {name for node in nodes if node.gpus for name in node.partitions}
        raise _no_partition(partition, sorted(known), any(partition in node.partitions for node in nodes))
    return found


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


VARIABLE = "RINGSCHED_NETWORK"
USUAL_FILE = Path("/etc/ringsched/network.toml")
_SPEEDS = ("inter_server_gbps", "intra_server_gbps", "reduce_gbps")
_SWITCH_UPLINK = tuple(f"{words.one}_uplink_gbps" for words in (SWITCHES, RACKS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Speeds, contention and time of a cluster whose servers Slurm knows.

    `switch_uplink_gbps` is the default of switches that are not in `switches`; without it, a quarter of the
    total uplink speed of the nodes below. `servers` holds uplinks that differ from `inter_server_gbps`.
    """

    inter_server_gbps: float = INTER_SERVER_GBPS
    intra_server_gbps: float = INTRA_SERVER_GBPS
    reduce_gbps: float = REDUCE_GBPS
    switch_uplink_gbps: float | None = None
    switches: Mapping[str, float] = field(default_factory=dict)
    servers: Mapping[str, float] = field(default_factory=dict)
    contention: Contention = field(default_factory=Contention.ethernet)
    time: Time = field(default_factory=lambda: Time(model="continuous"))

    def cluster(self, servers: Sequence[Server], parent_of: Mapping[str, str]) -> Cluster:
        """Return the cluster of these servers; `parent_of` holds the switch above each switch, if any."""
        with_uplinks = tuple(
            server.replace(uplink_gbps=self.servers[server.name]) if server.name in self.servers else server
            for server in servers
        )
        return Cluster(
            servers=with_uplinks,
            switches=switches_above(with_uplinks, parent_of, self.inter_server_gbps, self._uplink_gbps),
            inter_server_gbps=self.inter_server_gbps,
            intra_server_gbps=self.intra_server_gbps,
            reduce_gbps=self.reduce_gbps,
        )

    def _uplink_gbps(self, switch: str, level: int, below: Sequence[float]) -> float:  # noqa: ARG002
        if switch in self.switches:
            return self.switches[switch]
        if self.switch_uplink_gbps is not None:
            return self.switch_uplink_gbps
        return max([*below, sum(below) / OVERSUBSCRIPTION])


def usual_network() -> Network:
    """Return the network that RINGSCHED_NETWORK or /etc/ringsched/network.toml describes, or the defaults."""
    if path := os.environ.get(VARIABLE):
        return load_network(Path(path))
    return load_network(USUAL_FILE) if USUAL_FILE.exists() else Network()


def load_network(path: Path) -> Network:
    """Read a network file; missing values have the documented defaults.

    Of a scenario, such as `ringsched topology` writes it, the speeds count; Slurm has the servers.
    """
    content = parse(path)
    if isinstance(table(content.get("cluster", {}), "cluster").get("servers"), list):
        return _network_of(surroundings_of(path))
    try:
        check_keys(content, ("cluster", "contention", "time"), (), None)
        cluster = table(content.get("cluster", {}), "cluster")
        tables = (SWITCHES.table, RACKS.table)
        check_keys(cluster, (*_SPEEDS, *_SWITCH_UPLINK, *tables, "servers"), (), "cluster")
        given = {key: number(_speed(cluster, key), key, above=0) for key in _SPEEDS if key in cluster}
        contention, time = (table(content.get(name, {}), name) for name in ("contention", "time"))
        check_keys(contention, [entry.name for entry in fields(Contention)], (), "contention")
        check_keys(time, [entry.name for entry in fields(Time)], (), "time")
        return Network(
            **given,
            switch_uplink_gbps=_switch_uplink_gbps(cluster),
            switches=_uplinks(cluster, *tables),
            servers=_uplinks(cluster, "servers"),
            contention=build(Contention, contention, "contention") if contention else Contention.ethernet(),
            time=build(Time, {"model": "continuous"} | time, "time"),
        )
    except InputError as error:
        raise error.located(file=str(path)) from None


def _speed(cluster: Mapping[str, object], key: str) -> Any:
    return link_gbps(cluster[key], key, "cluster") if key == "inter_server_gbps" else cluster[key]


def _network_of(surroundings: Surroundings) -> Network:
    cluster = surroundings.cluster
    return Network(
        inter_server_gbps=cluster.inter_server_gbps,
        intra_server_gbps=cluster.intra_server_gbps,
        reduce_gbps=cluster.reduce_gbps,
        switches={each.name: each.uplink_gbps for each in cluster.switches if each.uplink_gbps is not None},
        servers={each.name: each.uplink_gbps for each in cluster.servers if each.uplink_gbps is not None},
        contention=surroundings.contention,
        time=surroundings.time,
    )


def _switch_uplink_gbps(cluster: Mapping[str, object]) -> float | None:
    given = [key for key in _SWITCH_UPLINK if key in cluster]
    if len(given) > 1:
        raise InputError(f"means the same as {given[0]}; keep one of them", field=given[1], place="cluster")
    return number(cluster[given[0]], given[0], above=0) if given else None


def _uplinks(cluster: Mapping[str, object], *tables: str) -> dict[str, float]:
    uplinks: dict[str, float] = {}
    for key in tables:
        for name, value in table(cluster.get(key, {}), f"cluster.{key}").items():
            place = f"cluster.{key}.{name}"
            check_keys(table(value, place), ("uplink_gbps",), ("uplink_gbps",), place)
            if name in uplinks:
                raise InputError(f"duplicates the switch name {name!r}", field="name", place=place)
            speed = link_gbps(table(value, place)["uplink_gbps"], "uplink_gbps", place)
            uplinks[name] = number(speed, "uplink_gbps", above=0)
    return uplinks
