"""The Gantt chart: rows of GPUs, the jobs on them, and every run divided where its speed changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringsched.analysis.explain.parts import Floats, Split
from ringsched.formatting import consecutive
from ringsched.model import Cluster, Placement, Plan, Server
from ringsched.reporting.style import Times


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
        self._levels = cluster.switch_levels
        self._level_names = [
            cluster.level_name(level) for level in range(1 + max(self._levels.values(), default=0))
        ]
        self._switches: dict[str, dict[str, Any]] = {}
        for server in self.servers:
            for name in way_up(server):
                label = f"{cluster.switch_words.one} {name}"
                span = {"name": name, "label": label, "row": self.first[server.name], "rows": 0}
                seen = self._switches.setdefault(name, span | {"level": self._levels[name] - 1})
                seen["rows"] += server.gpus

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

    def level(self, kind: str, name: str) -> int:
        """Return the level of a link: 0 for servers, 1 for the switches above them, and so on."""
        return 0 if kind == "server" else self._levels[name]

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
            "linkLevels": self._level_names,
        }


SLOWER = 1 + 1e-9  # below this a factor is rounding
SAME = 1e-6  # relative; smaller differences are not visible

Slowed = tuple[float, float, float]  # from, until, and how many times as long an iteration takes at worst


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """The times in which a job's speed does not change, one after the other."""

    instants_s: Floats  # the cuts: one more than stretches
    factors: Floats  # how many times as long an iteration takes as alone on the same GPUs
    gbps: Floats  # what the job sends over each of its links, on average

    @staticmethod
    def none() -> Stretches:
        """Return the stretches of a job that crosses no link."""
        return Stretches(np.zeros(0), np.zeros(0), np.zeros(0))


def stretches_of(split: Split) -> list[Stretches]:
    """Return the stretches of every job."""
    return [
        _stretches(split, job) if shape.links else Stretches.none() for job, shape in enumerate(split.shapes)
    ]


def slowed_stretches(stretches: Stretches) -> list[Slowed]:
    """Return the times in which a job is slower than alone, each as long as can be, with the worst factor.

    Examples
    --------
    >>> instants_s, factors = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 1.5, 2.0])
    >>> slowed_stretches(Stretches(instants_s, factors, factors))
    [(1.0, 3.0, 2.0)]
    """
    slower = np.concatenate([[False], stretches.factors > SLOWER, [False]])
    edges = np.flatnonzero(np.diff(slower)).reshape(-1, 2).tolist()
    return [
        (
            float(stretches.instants_s[first]),
            float(stretches.instants_s[last]),
            float(stretches.factors[first:last].max()),
        )
        for first, last in edges
    ]


def _stretches(split: Split, job: int) -> Stretches:
    problem = split.problem
    work, shape = problem.works[job], split.shapes[job]
    alone_s = problem.alone_tau(job, shape)
    intervals = split.intervals(job)
    instants_s = problem.seconds_at(intervals.instants)
    lengths_s = np.diff(problem.clock.seconds(intervals.instants))
    # In slotted time the last slot may be lost more than whole; a factor needs something left.
    factors = lengths_s / np.maximum(lengths_s - intervals.lost_s, 1e-3 * lengths_s)
    kept = np.flatnonzero(np.abs(np.diff(factors, prepend=0.0)) > SAME * factors)
    gbps = work.exchange_gbit / (alone_s * factors[kept])
    return Stretches(instants_s[np.append(kept, len(factors))], factors[kept], gbps)


def gantt_data(
    plan: Plan,
    job_index: Mapping[str, int],
    rows: Rows,
    times: Times,
    slowed: Mapping[str, Sequence[Slowed]],
) -> dict[str, Any]:
    """Return columns, an entry for each job of the plan that the scenario knows.

    `runs` and `slow` are flat: first row, how many, first row, ...; and from, until, factor, from, ...
    """
    known = [job for job in plan.jobs if job.name in job_index]
    return {
        "job": [job_index[job.name] for job in known],
        "start": [times.shown(job.start_s) for job in known],
        # An invalid plan may state anything.
        "finish": [times.shown(max(job.start_s, job.finish_s)) for job in known],
        "runs": [[number for run in rows.runs(job.gpus) for number in run] for job in known],
        "slow": [
            [
                number
                for since_s, until_s, factor in slowed.get(job.name, ())
                for number in (times.shown(since_s), times.shown(until_s), round(factor, 3))
            ]
            for job in known
        ],
    }
