"""Which links running jobs share now, and how much that slows each of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ringsched.contention.fabric import fabric_of
from ringsched.contention.iteration_time import work_of
from ringsched.model import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLink:
    """The uplink of a server or a switch that several jobs cross; each has at least 1/factor of it."""

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
    cluster, fabric = scenario.cluster, fabric_of(scenario.cluster, scenario.contention)
    index = {server.name: at for at, server in enumerate(cluster.servers)}
    rings = {
        job.name: fabric.ring(
            work_of(job, cluster),
            fabric.shape({index[name]: len(held) for name, held in job.running_on.items()}),
        )
        for job in scenario.jobs
        if job.running_on is not None
    }
    paces = fabric.iteration_times(rings)
    on_link = Counter(link for ring in rings.values() for link in ring.links)
    names = [*(server.name for server in cluster.servers), *(switch.name for switch in cluster.switches)]
    return ContentionNow(
        links=tuple(
            SharedLink(name=names[link], jobs=count, factor=fabric.model.factor(count))
            for link, count in sorted(on_link.items())
            if count > 1
        ),
        slowdown={
            name: pace.tau / fabric.alone_tau(rings[name].work, rings[name].shape)
            for name, pace in paces.items()
        },
    )
