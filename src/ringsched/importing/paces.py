"""How many iterations jobs complete that hold given GPUs at given times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ringsched.contention.iteration_time import Work, iteration_time_s, sharing_factor, work_of
from ringsched.contention.network import Network, Shape, network_of, shape_of
from ringsched.model import Cluster, Contention, Job, Placement


class Stay(NamedTuple):
    """A job on its GPUs from start to end, at the pace of one iteration as `job` describes it."""

    job: Job
    start_s: float
    end_s: float
    gpus: Placement


def iterations_done(stays: Sequence[Stay], cluster: Cluster, contention: Contention) -> list[float]:
    """Return the iterations of each stay, a real number: the integral of 1/tau over its time.

    Who shares a link with whom follows from the stays alone, so that one sweep over their starts and
    ends is enough.

    Examples
    --------
    >>> from ringsched.generate.like_servers import CONTENTION, like_servers
    >>> job = Job(
    ...     name="a", gpus=1, iterations=1, gradient_mb=9, minibatch=1, forward_ms=0, backward_ms=200
    ... )
    >>> stay = Stay(job, 0.0, 10.0, Placement({"s0": [3]}))
    >>> iterations_done([stay], like_servers(1, 8), CONTENTION.replace(server_latency_ms=0))
    [50.0]
    """
    sweep = _Sweep(stays, cluster, contention)
    events = [(stay.start_s, True, at) for at, stay in enumerate(stays)]
    events += [(stay.end_s, False, at) for at, stay in enumerate(stays)]
    for time_s, starts, at in sorted(events):  # at one instant ends come first, as in the engine
        sweep.change(time_s, starts, at)
    return sweep.done


class _Sweep:
    def __init__(self, stays: Sequence[Stay], cluster: Cluster, contention: Contention) -> None:
        self._contention = contention
        self._network: Network = network_of(cluster)
        index = {server.name: at for at, server in enumerate(cluster.servers)}
        self._works: list[Work] = [work_of(stay.job, cluster) for stay in stays]
        self._shapes: list[Shape] = [
            shape_of(self._network, {index[name]: len(held) for name, held in stay.gpus.items()})
            for stay in stays
        ]
        self._on_link: dict[int, set[int]] = {}
        self._since_s = [0.0] * len(stays)
        self._tau_s = [0.0] * len(stays)
        self.done = [0.0] * len(stays)

    def change(self, time_s: float, starts: bool, at: int) -> None:
        """Let a job start or end; those it meets on its links go on at another pace."""
        links = self._shapes[at].links
        if not starts:
            self._count(at, time_s)
        for link in links:
            if starts:
                self._on_link.setdefault(link, set()).add(at)
            else:
                self._on_link[link].remove(at)
        touched = set().union(*(self._on_link[link] for link in links)) - {at}
        for other in touched:
            self._count(other, time_s)
        self._pace(touched | {at} if starts else touched, time_s)

    def _count(self, at: int, time_s: float) -> None:
        self.done[at] += (time_s - self._since_s[at]) / self._tau_s[at]

    def _pace(self, jobs: Iterable[int], time_s: float) -> None:
        for at in jobs:
            self._since_s[at] = time_s
            self._tau_s[at] = self._tau(at)

    def _tau(self, at: int) -> float:
        shape, uplinks = self._shapes[at], self._network.uplink_gbps
        shared = [
            uplinks[link] / sharing_factor(self._contention, len(self._on_link[link])) for link in shape.links
        ]
        return iteration_time_s(
            self._works[at],
            bandwidth_gbps=min([shape.free_gbps, *shared]),
            num_servers=shape.num_servers,
            server_latency_s=self._contention.server_latency_ms * 1e-3,
        )
