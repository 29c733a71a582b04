"""Who shares links with whom at this moment, and what it costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ringsched.contention.extremes import uncontended_tau
from ringsched.contention.iteration_time import iteration_time_s, sharing_factor, work_of
from ringsched.contention.network import network_of, shape_of
from ringsched.model import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLink:
    """The uplink of a server or a rack that several jobs cross; each has 1/factor of it."""

    name: str
    jobs: int
    factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentionNow:
    """Links with more than one job, and how much longer an iteration of each job takes than alone."""

    links: tuple[SharedLink, ...]
    slowdown: dict[str, float]


def contention_now(scenario: Scenario) -> ContentionNow:
    """Return the contention among the jobs that run at time 0."""
    cluster, contention = scenario.cluster, scenario.contention
    network = network_of(cluster)
    index = {server.name: at for at, server in enumerate(cluster.servers)}
    running = [job for job in scenario.jobs if job.running_on is not None]
    shapes = {
        job.name: shape_of(network, {index[name]: len(held) for name, held in (job.running_on or {}).items()})
        for job in running
    }
    on_link = Counter(link for shape in shapes.values() for link in shape.links)
    slowdown = {}
    for job in running:
        shape, work = shapes[job.name], work_of(job, cluster)
        shared = [
            network.uplink_gbps[link] / sharing_factor(contention, on_link[link]) for link in shape.links
        ]
        now_s = iteration_time_s(
            work,
            bandwidth_gbps=min([shape.free_gbps, *shared]),
            num_servers=shape.num_servers,
            server_latency_s=contention.server_latency_ms * 1e-3,
        )
        slowdown[job.name] = now_s / uncontended_tau(work, shape, network, contention)
    names = [*(server.name for server in cluster.servers), *(rack.name for rack in cluster.switches)]
    links = tuple(
        SharedLink(name=names[link], jobs=count, factor=sharing_factor(contention, count))
        for link, count in sorted(on_link.items())
        if count > 1
    )
    return ContentionNow(links=links, slowdown=slowdown)
