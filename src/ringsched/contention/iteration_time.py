"""The iteration time of the paper, eq. (8), and the parts it is made of."""

from __future__ import annotations

import math
from typing import NamedTuple

from ringsched.contention.network import Shape
from ringsched.jit import part
from ringsched.model import Cluster, Job

GIGABITS_PER_MEGABYTE = 8e-3


class Work(NamedTuple):
    """What one iteration of a job asks for, wherever it runs."""

    exchange_gbit: float
    reduce_s: float
    compute_s: float


class Ring(NamedTuple):
    """A job on its GPUs, as contention sees it."""

    work: Work
    shape: Shape
    latency_s: float  # of all servers it uses

    @property
    def links(self) -> tuple[int, ...]:
        """The nodes whose uplinks it crosses, ascending."""
        return self.shape.links

    def tau(self, bandwidth_gbps: float) -> float:
        """Return seconds per iteration with this bandwidth on the links it crosses."""
        exchange_gbit, reduce_s, compute_s = self.work
        bandwidth_gbps = min(bandwidth_gbps, self.shape.free_gbps)
        return iteration_time_s(exchange_gbit, reduce_s, self.latency_s, compute_s, bandwidth_gbps)


def work_of(job: Job, cluster: Cluster) -> Work:
    """Return the work of one iteration: 2m(w-1)/w exchanged, m(w-1)/w reduced, then computed."""
    reduced_gbit = job.gradient_mb * GIGABITS_PER_MEGABYTE * (job.gpus - 1) / job.gpus
    return Work(2 * reduced_gbit, reduced_gbit / cluster.reduce_gbps, job.compute_s)


@part
def iteration_time_s(
    exchange_gbit: float, reduce_s: float, latency_s: float, compute_s: float, bandwidth_gbps: float
) -> float:
    """Return tau, eq. (8): exchange + reduction + latency + computation.

    Examples
    --------
    >>> iteration_time_s(5.0, 0.01, 0.002, 0.1, 10.0)
    0.612
    """
    exchange_s = 0.0
    if exchange_gbit > 0:
        # A speed so small that it rounded to nothing takes for ever.
        exchange_s = exchange_gbit / bandwidth_gbps if bandwidth_gbps > 0 else math.inf
    return exchange_s + reduce_s + latency_s + compute_s
