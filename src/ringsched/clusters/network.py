"""The network file: link speeds and contention, which a cluster's manager does not know."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ringsched.errors import InputError
from ringsched.formats.decode import build, check_keys, link_gbps, parse, table
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

VARIABLE = "RINGSCHED_NETWORK"
USUAL_FILE = Path("/etc/ringsched/network.toml")
_SPEEDS = ("inter_server_gbps", "intra_server_gbps", "reduce_gbps")
_SWITCH_UPLINK = tuple(f"{words.one}_uplink_gbps" for words in (SWITCHES, RACKS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Speeds, contention and time of a cluster whose servers its manager knows.

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

    Of a scenario, such as `ringsched topology` writes it, the speeds count; the manager has the servers.
    """
    content = parse(path)
    if isinstance(table(content.get("cluster", {}), "cluster").get("servers"), list):
        return _network_of(path)
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


def _network_of(path: Path) -> Network:
    from ringsched.importing.cluster import surroundings_of  # it loads the readers of all traces

    surroundings = surroundings_of(path)
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
