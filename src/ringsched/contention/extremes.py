"""The fastest and the slowest iteration a job can have, whatever the plan."""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import accumulate

from ringsched.contention.iteration_time import Work, iteration_time_s, sharing_factor
from ringsched.contention.network import Network, Shape
from ringsched.model import Contention
from ringsched.model.contention import MAX_MIN


class Extremes:
    """Best and worst cases in one cluster; what does not depend on the job is computed once.

    `num_spreadable_jobs` counts the jobs with two or more GPUs, which can meet on a link.
    """

    def __init__(self, network: Network, contention: Contention, num_spreadable_jobs: int) -> None:
        servers = sorted(network.capacity[: network.num_servers], reverse=True)
        self._num_servers = network.num_servers
        self._latency_s = contention.server_latency_ms * 1e-3
        self._intra_gbps = network.intra_server_gbps
        self._by_averages = contention.model == MAX_MIN
        self._slowest_alone_gbps = min(network.uplink_gbps)
        self._largest_server = servers[0]
        self._capacity_of_largest = list(accumulate(servers))
        # Alone on it, a job has all of a link, or a lane if they are reserved.
        self._fastest_gbps = max(network.uplink_gbps[: network.num_servers]) / sharing_factor(contention, 1)
        # With every link as full as can be: no more jobs on it than GPUs below it.
        most_jobs = [max(1, min(capacity, num_spreadable_jobs)) for capacity in network.capacity]
        factor = {num_jobs: sharing_factor(contention, num_jobs) for num_jobs in set(most_jobs)}
        self._slowest_gbps = min(
            uplink / factor[num_jobs] for uplink, num_jobs in zip(network.uplink_gbps, most_jobs, strict=True)
        )

    def best_case_tau(self, work: Work, gpus: int) -> float:
        """Return a tau below that of every placement: one server, or the fewest and fastest of several."""
        tau = math.inf
        if self._largest_server >= gpus:
            tau = self._tau(work, self._intra_gbps, 1)
        if gpus >= 2 and self._num_servers >= 2:
            fewest = bisect_left(self._capacity_of_largest, gpus) + 1
            tau = min(tau, self._tau(work, self._fastest_gbps, max(2, fewest)))
        return tau

    def worst_case_tau(self, work: Work, gpus: int) -> float:
        """Return a tau above that of every placement; of a one-GPU job its best case."""
        if gpus == 1:
            return self.best_case_tau(work, gpus)
        num_servers = min(gpus, self._num_servers)
        if self._num_servers < 2:
            return self._tau(work, self._intra_gbps, num_servers)
        if self._by_averages:  # nobody has less than an equal part of a link, or all it asks for
            alone = self._tau(work, min(self._intra_gbps, self._slowest_alone_gbps), num_servers)
            if work.exchange_gbit == 0:
                return alone
            # A speed so small that it rounded to nothing takes for ever.
            return max(alone, work.exchange_gbit / self._slowest_gbps if self._slowest_gbps > 0 else math.inf)
        return self._tau(work, min(self._intra_gbps, self._slowest_gbps), num_servers)

    def _tau(self, work: Work, bandwidth_gbps: float, num_servers: int) -> float:
        return iteration_time_s(
            work,
            bandwidth_gbps=bandwidth_gbps,
            num_servers=num_servers,
            server_latency_s=self._latency_s,
        )


def uncontended_tau(work: Work, shape: Shape, network: Network, contention: Contention) -> float:
    """Return tau at a given placement with no other job around."""
    alone = sharing_factor(contention, 1)
    return iteration_time_s(
        work,
        bandwidth_gbps=min([shape.free_gbps, *(network.uplink_gbps[link] / alone for link in shape.links)]),
        num_servers=shape.num_servers,
        server_latency_s=contention.server_latency_ms * 1e-3,
    )
