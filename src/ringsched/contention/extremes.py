"""The fastest and the slowest iteration a job can have, whatever the plan."""

from __future__ import annotations

import math

from ringsched.contention.iteration_time import Work, iteration_time_s, sharing_factor
from ringsched.contention.network import Network, Shape
from ringsched.model import Contention


def best_case_tau(work: Work, gpus: int, network: Network, contention: Contention) -> float:
    """Return a tau below that of every placement: one server, or the fewest and fastest of several."""
    latency_s = contention.server_latency_ms * 1e-3
    servers = network.capacity[: network.num_servers]
    tau = math.inf
    if max(servers) >= gpus:
        tau = iteration_time_s(
            work, bandwidth_gbps=network.intra_server_gbps, num_servers=1, server_latency_s=latency_s
        )
    if gpus >= 2 and network.num_servers >= 2:
        spread = iteration_time_s(
            work,
            bandwidth_gbps=max(network.uplink_gbps[: network.num_servers]),
            num_servers=max(2, _fewest_servers(servers, gpus)),
            server_latency_s=latency_s,
        )
        tau = min(tau, spread)
    return tau


def worst_case_tau(
    work: Work, gpus: int, network: Network, contention: Contention, num_spreadable_jobs: int
) -> float:
    """Return a tau above that of every placement: all servers used, every link as full as can be.

    `num_spreadable_jobs` counts the jobs with two or more GPUs. A one-GPU job's worst case is its
    best case.
    """
    if gpus == 1:
        return best_case_tau(work, gpus, network, contention)
    bandwidth_gbps = network.intra_server_gbps
    if network.num_servers >= 2:
        for uplink, capacity in zip(network.uplink_gbps, network.capacity, strict=True):
            num_jobs = max(1, min(capacity, num_spreadable_jobs))
            bandwidth_gbps = min(bandwidth_gbps, uplink / sharing_factor(contention, num_jobs))
    return iteration_time_s(
        work,
        bandwidth_gbps=bandwidth_gbps,
        num_servers=min(gpus, network.num_servers),
        server_latency_s=contention.server_latency_ms * 1e-3,
    )


def uncontended_tau(work: Work, shape: Shape, network: Network, contention: Contention) -> float:
    """Return tau at a given placement with no other job around."""
    return iteration_time_s(
        work,
        bandwidth_gbps=min([shape.free_gbps, *(network.uplink_gbps[link] for link in shape.links)]),
        num_servers=shape.num_servers,
        server_latency_s=contention.server_latency_ms * 1e-3,
    )


def _fewest_servers(capacities: tuple[int, ...], gpus: int) -> int:
    for count, capacity in enumerate(sorted(capacities, reverse=True), start=1):
        gpus -= capacity
        if gpus <= 0:
            return count
    return len(capacities)
