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

VARIABLE = "RINGSCHED_NETWORK"
USUAL_FILE = Path("/etc/ringsched/network.toml")
_SPEEDS = ("inter_server_gbps", "intra_server_gbps", "reduce_gbps", "rack_uplink_gbps")


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Speeds, contention and time of a cluster whose servers Slurm knows.

    `rack_uplink_gbps` is that of every rack without one of its own in `racks`; without it a quarter of what
    the rack's servers can send. `servers` holds uplinks that differ from `inter_server_gbps`.
    """

    inter_server_gbps: float = INTER_SERVER_GBPS
    intra_server_gbps: float = INTRA_SERVER_GBPS
    reduce_gbps: float = REDUCE_GBPS
    rack_uplink_gbps: float | None = None
    racks: Mapping[str, float] = field(default_factory=dict)
    servers: Mapping[str, float] = field(default_factory=dict)
    contention: Contention = CONTENTION
    time: Time = field(default_factory=lambda: Time(model="continuous"))

    def cluster(self, servers: Sequence[Server]) -> Cluster:
        """Return the cluster of these servers."""
        return Cluster(
            servers=tuple(
                server.replace(uplink_gbps=self.servers[server.name])
                if server.name in self.servers
                else server
                for server in servers
            ),
            switches=tuple(
                Switch(name=rack, uplink_gbps=self._rack_uplink_gbps(rack, servers))
                for rack in dict.fromkeys(server.switch for server in servers)
                if rack is not None
            ),
            inter_server_gbps=self.inter_server_gbps,
            intra_server_gbps=self.intra_server_gbps,
            reduce_gbps=self.reduce_gbps,
        )

    def _rack_uplink_gbps(self, rack: str, servers: Sequence[Server]) -> float:
        if rack in self.racks:
            return self.racks[rack]
        if self.rack_uplink_gbps is not None:
            return self.rack_uplink_gbps
        uplinks = [
            self.servers.get(server.name, self.inter_server_gbps)
            for server in servers
            if server.switch == rack
        ]
        return max(*uplinks, sum(uplinks) / OVERSUBSCRIPTION)


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
        check_keys(cluster, (*_SPEEDS, "racks", "servers"), (), "cluster")
        given = {key: number(cluster[key], key, above=0) for key in _SPEEDS if key in cluster}
        contention, time = (table(content.get(name, {}), name) for name in ("contention", "time"))
        check_keys(contention, [entry.name for entry in fields(Contention)], (), "contention")
        check_keys(time, [entry.name for entry in fields(Time)], (), "time")
        return Network(
            **given,
            racks=_uplinks(cluster, "racks"),
            servers=_uplinks(cluster, "servers"),
            contention=build(Contention, contention, "contention") if contention else CONTENTION,
            time=build(Time, {"model": "continuous"} | time, "time"),
        )
    except InputError as error:
        raise error.located(file=str(path)) from None


def _uplinks(cluster: Mapping[str, object], key: str) -> dict[str, float]:
    uplinks = {}
    for name, value in table(cluster.get(key, {}), f"cluster.{key}").items():
        place = f"cluster.{key}.{name}"
        check_keys(table(value, place), ("uplink_gbps",), ("uplink_gbps",), place)
        uplinks[name] = number(table(value, place)["uplink_gbps"], "uplink_gbps", above=0)
    return uplinks
