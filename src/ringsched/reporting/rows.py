"""The rows of the Gantt chart: a GPU each, servers of one rack together."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from ringsched.model import Cluster, Placement


class Rows:
    """Which row each GPU has: racks in their order, then the servers that stand in none.

    Examples
    --------
    >>> from ringsched.model import Server
    >>> servers = (Server(name="a", gpus=4), Server(name="b", gpus=2))
    >>> cluster = Cluster(servers=servers, inter_server_gbps=10, intra_server_gbps=100, reduce_gbps=400)
    >>> Rows(cluster).runs(Placement({"a": [0, 1, 3], "b": [1]}))
    [(0, 2), (3, 1), (5, 1)]
    """

    def __init__(self, cluster: Cluster) -> None:
        rack_at = {rack.name: at for at, rack in enumerate(cluster.switches)}
        self.servers = sorted(
            cluster.servers,
            key=lambda server: len(rack_at) if server.switch is None else rack_at[server.switch],
        )
        self.first: dict[str, int] = {}
        self.num_rows = 0
        for server in self.servers:
            self.first[server.name] = self.num_rows
            self.num_rows += server.gpus
        self._gpus = {server.name: server.gpus for server in self.servers}
        self.racks = [
            {
                "name": name,
                "row": self.first[(members := list(group))[0].name],
                "rows": sum(server.gpus for server in members),
            }
            for name, group in groupby(self.servers, key=lambda server: server.switch)
            if name is not None
        ]

    def runs(self, placement: Placement) -> list[tuple[int, int]]:
        """Return the rows of a placement as (first row, how many); GPUs that do not exist have none."""
        runs: list[tuple[int, int]] = []
        for server, held in placement.items():
            first = self.first.get(server, 0)
            gpus = sorted({gpu for gpu in held if 0 <= gpu < self._gpus.get(server, 0)})
            runs += [(first + start, length) for start, length in consecutive(gpus)]
        return sorted(runs)

    def below(self, kind: str, name: str) -> dict[str, Any]:
        """Return the rows at or below a link: its server's, or all of its rack."""
        if kind == "server":
            return {"row": self.first[name], "rows": self._gpus[name]}
        rack = next(rack for rack in self.racks if rack["name"] == name)
        return {"row": rack["row"], "rows": rack["rows"]}

    def data(self) -> dict[str, Any]:
        """Return servers and racks for the page; rows count from 0."""
        return {
            "rows": self.num_rows,
            "servers": [
                {"name": server.name, "row": self.first[server.name], "gpus": server.gpus}
                | ({"off": list(server.unavailable)} if server.unavailable else {})
                for server in self.servers
            ],
            "racks": self.racks,
        }


def consecutive(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return ascending numbers as runs of (first, how many).

    Examples
    --------
    >>> consecutive([0, 1, 2, 5])
    [(0, 3), (5, 1)]
    """
    runs = []
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in group]
        runs.append((members[0], len(members)))
    return runs
