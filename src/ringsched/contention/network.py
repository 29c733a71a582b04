"""The tree of links: one uplink above every server and every switch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ringsched.model import Cluster

CORE = -1  # above the nodes that hang on no switch


class Network(NamedTuple):
    """The nodes of the tree: servers by index, then switches level by level; each has one uplink."""

    uplink_gbps: tuple[float, ...]
    parent_of: tuple[int, ...]  # of each node: the switch its uplink leads to, or CORE
    capacity: tuple[int, ...]  # available GPUs at or below each node
    num_servers: int
    num_levels: int  # the most uplinks between a server and the core
    inside_gbps: tuple[float, ...]  # of a server, by the GPUs that a job uses in it; the last holds beyond

    def inside(self, gpus: int) -> float:
        """Return the speed between the GPUs of a job in one server, of which it uses so many."""
        return self.inside_gbps[min(gpus, len(self.inside_gbps) - 1)]

    def speeds_inside(self, most: int) -> tuple[float, ...]:
        """Return the speeds between two, three, ... up to `most` GPUs; beyond the table all are alike."""
        return self.inside_gbps[2 : 1 + max(2, min(most, len(self.inside_gbps) - 1))]

    def path(self, node: int) -> Iterator[int]:
        """Yield the node and all switches above it: their uplinks lead from it to the core."""
        while node != CORE:
            yield node
            node = self.parent_of[node]


class Shape(NamedTuple):
    """What the network sees of a placement."""

    links: tuple[int, ...]  # nodes whose uplinks the job crosses, ascending
    num_servers: int
    free_gbps: float  # the slowest link of the ring that knows no contention; inf if there is none


def network_of(cluster: Cluster) -> Network:
    """Return the tree of links of `cluster`."""
    servers, switches = cluster.servers, cluster.switches
    node_of: dict[str | None, int] = {switch.name: len(servers) + at for at, switch in enumerate(switches)}
    above = (*(server.switch for server in servers), *(switch.parent for switch in switches))
    network = Network(
        uplink_gbps=(
            *(server.uplink_gbps or cluster.inter_server_gbps for server in servers),
            *(switch.uplink_gbps or math.inf for switch in switches),  # without one it is never crossed
        ),
        parent_of=tuple(node_of.get(name, CORE) for name in above),
        capacity=(),
        num_servers=len(servers),
        num_levels=1,
        inside_gbps=cluster.inside_gbps,
    )
    capacity = [0] * len(above)
    num_levels = 1
    for at, server in enumerate(servers):
        path = tuple(network.path(at))
        num_levels = max(num_levels, len(path))
        for node in path:
            capacity[node] += server.capacity
    return network._replace(capacity=tuple(capacity), num_levels=num_levels)


def shape_of(network: Network, gpus_on: Mapping[int, int]) -> Shape:
    """Return the shape of a placement given as server index -> number of GPUs.

    A job crosses the uplink of node v when 0 < y(v) < G: the indicator of eq. (6), for any node.
    """
    if len(gpus_on) == 1:  # the usual case: no uplink is crossed
        (held,) = gpus_on.values()
        return Shape((), 1, network.inside(held) if held > 1 else math.inf)
    below: dict[int, int] = {}
    for server, held in gpus_on.items():
        for node in network.path(server):
            below[node] = below.get(node, 0) + held
    total = sum(gpus_on.values())
    return Shape(
        links=tuple(sorted(node for node, held in below.items() if held < total)),
        num_servers=len(gpus_on),
        free_gbps=min((network.inside(held) for held in gpus_on.values() if held > 1), default=math.inf),
    )
