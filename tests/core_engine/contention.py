"""The paper's contention among running jobs, kept up to date as they come and go."""

from __future__ import annotations

from collections.abc import Sequence

from ringsched.contention.iteration_time import Work, iteration_time_s, sharing_factor
from ringsched.contention.network import Network, Shape
from ringsched.model import Contention


class PaperContention:
    """A set of running jobs -> their iteration times, and which of them a change touches.

    A start or finish touches only the jobs that share an uplink with it, since tau depends on
    nothing but the number of jobs on the links a job crosses (eq. (6) to (8)).
    """

    def __init__(self, works: Sequence[Work], network: Network, contention: Contention) -> None:
        self._works = works
        self._network = network
        self._latency_s = contention.server_latency_ms * 1e-3
        # f(n) for every n that can occur; f(0) is never asked for.
        self._factor = [1.0, *(sharing_factor(contention, n + 1) for n in range(len(works)))]
        self._shapes: dict[int, Shape] = {}
        self._jobs_on: list[set[int]] = [set() for _ in network.uplink_gbps]
        self._touched: set[int] = set()

    def start(self, job: int, shape: Shape) -> None:
        """Add a running job."""
        self._shapes[job] = shape
        for link in shape.links:
            self._jobs_on[link].add(job)
            self._touched |= self._jobs_on[link]
        self._touched.add(job)

    def finish(self, job: int) -> None:
        """Take a running job away."""
        for link in self._shapes.pop(job).links:
            self._jobs_on[link].discard(job)
            self._touched |= self._jobs_on[link]
        self._touched.discard(job)

    def num_jobs_on(self, link: int) -> int:
        """Return n_v, how many running jobs cross the uplink of node `link`."""
        return len(self._jobs_on[link])

    def settle(self) -> list[tuple[int, float]]:
        """Return the jobs touched since the last call, with their tau, lowest job first."""
        touched, self._touched = sorted(self._touched), set()
        return [(job, self._tau(job)) for job in touched]

    def _tau(self, job: int) -> float:
        shape = self._shapes[job]
        bandwidth_gbps = shape.free_gbps
        for link in shape.links:
            shared = self._network.uplink_gbps[link] / self._factor[len(self._jobs_on[link])]
            bandwidth_gbps = min(bandwidth_gbps, shared)
        return iteration_time_s(
            self._works[job],
            bandwidth_gbps=bandwidth_gbps,
            num_servers=shape.num_servers,
            server_latency_s=self._latency_s,
        )
