"""The rows of the Gantt chart: a GPU each, servers below one switch together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from ringsched.model import Cluster, Placement, Server


class Rows:
    """Which row each GPU has: below every switch its switches in their order, then its servers.

    Examples
    --------
    >>> from ringsched.model import Server
    >>> servers = (Server(name="a", gpus=4), Server(name="b", gpus=2))
    >>> cluster = Cluster(servers=servers, inter_server_gbps=10, intra_server_gbps=100, reduce_gbps=400)
    >>> Rows(cluster).runs(Placement({"a": [0, 1, 3], "b": [1]}))
    [(0, 2), (3, 1), (5, 1)]
    """

    def __init__(self, cluster: Cluster) -> None:
        parent_of = {switch.name: switch.parent for switch in cluster.switches}
        rank = {switch.name: at for at, switch in enumerate(cluster.switches)}

        def way_up(server: Server) -> Iterator[str]:
            switch = server.switch
            while switch is not None:
                yield switch
                switch = parent_of[switch]

        self.servers = sorted(
            cluster.servers, key=lambda server: (*[rank[name] for name in way_up(server)][::-1], len(rank))
        )
        self.first: dict[str, int] = {}
        self.num_rows = 0
        for server in self.servers:
            self.first[server.name] = self.num_rows
            self.num_rows += server.gpus
        self._gpus = {server.name: server.gpus for server in self.servers}
        self._switches: dict[str, dict[str, Any]] = {}
        for server in self.servers:
            for level, name in enumerate(way_up(server)):
                label = f"{cluster.switch_words.one} {name}"
                span = {"name": name, "label": label, "row": self.first[server.name], "rows": 0, "level": 0}
                seen = self._switches.setdefault(name, span)
                seen["rows"] += server.gpus
                seen["level"] = max(seen["level"], level)

    def runs(self, placement: Placement) -> list[tuple[int, int]]:
        """Return the rows of a placement as (first row, how many); GPUs that do not exist have none."""
        runs: list[tuple[int, int]] = []
        for server, held in placement.items():
            first = self.first.get(server, 0)
            gpus = sorted({gpu for gpu in held if 0 <= gpu < self._gpus.get(server, 0)})
            runs += [(first + start, length) for start, length in consecutive(gpus)]
        return sorted(runs)

    def below(self, kind: str, name: str) -> dict[str, Any]:
        """Return the rows at or below a link: its server's, or all below its switch."""
        if kind == "server":
            return {"row": self.first[name], "rows": self._gpus[name]}
        return {"row": self._switches[name]["row"], "rows": self._switches[name]["rows"]}

    def data(self) -> dict[str, Any]:
        """Return servers and switches for the page; rows count from 0, and levels from the servers up."""
        return {
            "rows": self.num_rows,
            "servers": [
                {"name": server.name, "row": self.first[server.name], "gpus": server.gpus}
                | ({"off": list(server.unavailable)} if server.unavailable else {})
                for server in self.servers
            ],
            "switches": list(self._switches.values()),
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
