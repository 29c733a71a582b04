"""What Slurm does not know: how fast links are, and what sharing one costs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from ringsched.errors import InputError
from ringsched.generate.like_servers import (
    CONTENTION,
    INTER_SERVER_GBPS,
    INTRA_SERVER_GBPS,
    OVERSUBSCRIPTION,
    REDUCE_GBPS,
)
from ringsched.io.decode import build, check_keys, parse, table
from ringsched.model import Cluster, Contention, Server, Switch, Time
from ringsched.model.checks import number
from ringsched.model.cluster import RACKS, SWITCHES

VARIABLE = "RINGSCHED_NETWORK"
USUAL_FILE = Path("/etc/ringsched/network.toml")
_SPEEDS = ("inter_server_gbps", "intra_server_gbps", "reduce_gbps")
_SWITCH_UPLINK = tuple(f"{words.one}_uplink_gbps" for words in (SWITCHES, RACKS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Speeds, contention and time of a cluster whose servers Slurm knows.

    `switch_uplink_gbps` is that of every switch without one of its own in `switches`; without it a quarter of
    what the nodes right below can send. `servers` holds uplinks that differ from `inter_server_gbps`.
    """

    inter_server_gbps: float = INTER_SERVER_GBPS
    intra_server_gbps: float = INTRA_SERVER_GBPS
    reduce_gbps: float = REDUCE_GBPS
    switch_uplink_gbps: float | None = None
    switches: Mapping[str, float] = field(default_factory=dict)
    servers: Mapping[str, float] = field(default_factory=dict)
    contention: Contention = CONTENTION
    time: Time = field(default_factory=lambda: Time(model="continuous"))

    def cluster(self, servers: Sequence[Server], parent_of: Mapping[str, str]) -> Cluster:
        """Return the cluster of these servers; `parent_of` holds the switch above each switch, if any."""
        return Cluster(
            servers=tuple(
                server.replace(uplink_gbps=self.servers[server.name])
                if server.name in self.servers
                else server
                for server in servers
            ),
            switches=self._switches(servers, parent_of),
            inter_server_gbps=self.inter_server_gbps,
            intra_server_gbps=self.intra_server_gbps,
            reduce_gbps=self.reduce_gbps,
        )

    def _switches(self, servers: Sequence[Server], parent_of: Mapping[str, str]) -> tuple[Switch, ...]:
        """Return the switches above the servers."""
        below: dict[str, list[str]] = {}  # the switches right below each switch
        sent_gbps: dict[str, list[float]] = {}  # the uplinks of the servers right below it
        for server in servers:
            switch = server.switch
            if switch is not None:
                uplink_gbps = self.servers.get(server.name, self.inter_server_gbps)
                sent_gbps.setdefault(switch, []).append(uplink_gbps)
            while switch is not None and switch not in below:
                below[switch] = []
                switch = parent_of.get(switch)
        for switch in below:
            if switch in parent_of:
                below[parent_of[switch]].append(switch)

        def uplink_of(switch: str) -> float:
            if switch in self.switches:
                return self.switches[switch]
            if self.switch_uplink_gbps is not None:
                return self.switch_uplink_gbps
            uplinks = sent_gbps.get(switch, []) + [uplink_of(lower) for lower in below[switch]]
            return max([*uplinks, sum(uplinks) / OVERSUBSCRIPTION])

        return tuple(
            Switch(name=switch, uplink_gbps=uplink_of(switch), parent=parent_of.get(switch))
            for switch in below
        )


def usual_network() -> Network:
    """Return the network that RINGSCHED_NETWORK or /etc/ringsched/network.toml describes, or the defaults."""
    if path := os.environ.get(VARIABLE):
        return load_network(Path(path))
    return load_network(USUAL_FILE) if USUAL_FILE.exists() else Network()


def load_network(path: Path) -> Network:
    """Read a network file; what it does not say has the documented defaults."""
    try:
        content = parse(path)
        check_keys(content, ("cluster", "contention", "time"), (), None)
        cluster = table(content.get("cluster", {}), "cluster")
        tables = (SWITCHES.table, RACKS.table)
        check_keys(cluster, (*_SPEEDS, *_SWITCH_UPLINK, *tables, "servers"), (), "cluster")
        given = {key: number(cluster[key], key, above=0) for key in _SPEEDS if key in cluster}
        contention, time = (table(content.get(name, {}), name) for name in ("contention", "time"))
        check_keys(contention, [entry.name for entry in fields(Contention)], (), "contention")
        check_keys(time, [entry.name for entry in fields(Time)], (), "time")
        return Network(
            **given,
            switch_uplink_gbps=_switch_uplink_gbps(cluster),
            switches=_uplinks(cluster, *tables),
            servers=_uplinks(cluster, "servers"),
            contention=build(Contention, contention, "contention") if contention else CONTENTION,
            time=build(Time, {"model": "continuous"} | time, "time"),
        )
    except InputError as error:
        raise error.located(file=str(path)) from None


def _switch_uplink_gbps(cluster: Mapping[str, object]) -> float | None:
    given = [key for key in _SWITCH_UPLINK if key in cluster]
    if len(given) > 1:
        raise InputError(f"is another name of {given[0]}; keep one of them", field=given[1], place="cluster")
    return number(cluster[given[0]], given[0], above=0) if given else None


def _uplinks(cluster: Mapping[str, object], *tables: str) -> dict[str, float]:
    uplinks: dict[str, float] = {}
    for key in tables:
        for name, value in table(cluster.get(key, {}), f"cluster.{key}").items():
            place = f"cluster.{key}.{name}"
            check_keys(table(value, place), ("uplink_gbps",), ("uplink_gbps",), place)
            if name in uplinks:
                raise InputError(f"duplicates the switch name {name!r}", field="name", place=place)
            uplinks[name] = number(table(value, place)["uplink_gbps"], "uplink_gbps", above=0)
    return uplinks
