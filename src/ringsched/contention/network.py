"""The tree of links: one uplink above every server and every rack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ringsched.model import Cluster

NO_RACK = -1


class Network(NamedTuple):
    """The nodes of the tree: servers by index, then racks; each has one uplink."""

    uplink_gbps: tuple[float, ...]
    rack_of: tuple[int, ...]  # of each server: its rack's node, or NO_RACK
    capacity: tuple[int, ...]  # available GPUs at or below each node
    intra_server_gbps: float

    @property
    def num_servers(self) -> int:
        """How many of the nodes are servers."""
        return len(self.rack_of)


class Shape(NamedTuple):
    """What the network sees of a placement."""

    links: tuple[int, ...]  # nodes whose uplinks the job crosses, ascending
    num_servers: int
    free_gbps: float  # the slowest link of the ring that knows no contention; inf if there is none


def network_of(cluster: Cluster) -> Network:
    """Return the tree of links of `cluster`."""
    servers, racks = cluster.servers, cluster.racks
    node_of = {rack.name: len(servers) + at for at, rack in enumerate(racks)}
    rack_of = tuple(NO_RACK if server.rack is None else node_of[server.rack] for server in servers)
    in_rack = dict.fromkeys(node_of.values(), 0)
    for server, rack in zip(servers, rack_of, strict=True):
        if rack != NO_RACK:
            in_rack[rack] += server.capacity
    return Network(
        uplink_gbps=(
            *(server.uplink_gbps or cluster.inter_server_gbps for server in servers),
            *(rack.uplink_gbps for rack in racks),
        ),
        rack_of=rack_of,
        capacity=(*(server.capacity for server in servers), *in_rack.values()),
        intra_server_gbps=cluster.intra_server_gbps,
    )


def shape_of(network: Network, gpus_on: Mapping[int, int]) -> Shape:
    """Return the shape of a placement given as server index -> number of GPUs.

    A job crosses the uplink of node v when 0 < y(v) < G: the indicator of eq. (6), for any node.
    """
    below = dict(gpus_on)
    for server, held in gpus_on.items():
        rack = network.rack_of[server]
        if rack != NO_RACK:
            below[rack] = below.get(rack, 0) + held
    total = sum(gpus_on.values())
    return Shape(
        links=tuple(sorted(node for node, held in below.items() if held < total)),
        num_servers=len(gpus_on),
        free_gbps=network.intra_server_gbps if max(gpus_on.values()) > 1 else float("inf"),
    )
