"""The iteration time: eq. (8) of the paper, less what overlaps with the backward pass."""

from __future__ import annotations

import math
from typing import NamedTuple

from ringsched.contention.network import Shape
from ringsched.jit import part
from ringsched.model import Cluster, Job

GIGABITS_PER_MEGABYTE = 8e-3


@part
def iteration_time_s(
    exchange_gbit: float,
    reduce_s: float,
    compute_s: float,
    backward_s: float,
    overlap: float,
    latency_s: float,
    bandwidth_gbps: float,
) -> float:
    """Return tau, eq. (8): exchange + reduction + latency + computation; less what is hidden.

    With n equal buckets, overlap = 1 - 1/n, the backward pass hides overlap * min(backward,
    communication): docs/concepts/model.md has the derivation.

    Examples
    --------
    >>> iteration_time_s(5.0, 0.01, 0.1, 0.08, 0.0, 0.002, 10.0)
    0.612
    >>> round(iteration_time_s(5.0, 0.01, 0.1, 0.08, 0.75, 0.002, 10.0), 3)
    0.552
    """
    exchange_s = 0.0
    if exchange_gbit > 0:
        # A speed so small that it rounded to nothing takes for ever.
        exchange_s = exchange_gbit / bandwidth_gbps if bandwidth_gbps > 0 else math.inf
    communication_s = exchange_s + reduce_s + latency_s
    return communication_s + compute_s - overlap * min(backward_s, communication_s)


class Work(NamedTuple):
    """What one iteration of a job asks for, wherever it runs."""

    exchange_gbit: float
    reduce_s: float
    compute_s: float
    backward_s: float = 0.0
    overlap: float = 0.0  # the largest share of the backward pass, or of communication, that can hide


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
        return tau_of(self.work, self.latency_s, min(bandwidth_gbps, self.shape.free_gbps))


def work_of(job: Job, cluster: Cluster) -> Work:
    """Return the work of one iteration: 2m(w-1)/w exchanged, m(w-1)/w reduced, then computed."""
    reduced_gbit = job.gradient_mb * GIGABITS_PER_MEGABYTE * (job.gpus - 1) / job.gpus
    return Work(
        2 * reduced_gbit,
        reduced_gbit / cluster.reduce_gbps,
        job.compute_s,
        job.backward_s,
        overlap_of(job.buckets),
    )


def overlap_of(buckets: int) -> float:
    """Return the share that `buckets` equal buckets can hide: all but the first or the last of them."""
    return 1 - 1 / buckets


def tau_of(work: Work, latency_s: float, bandwidth_gbps: float) -> float:
    """Return tau of a job at a bandwidth."""
    return iteration_time_s(*work, latency_s, bandwidth_gbps)


def hidden_in(work: Work, tau: float) -> float:
    """Return how much of the communication the backward pass hides in an iteration of `tau` seconds.

    What is exposed of communication X is X - overlap * min(backward, X); this is that, solved for X.

    Examples
    --------
    >>> work = Work(exchange_gbit=5.0, reduce_s=0.0, compute_s=0.1, backward_s=0.08, overlap=0.75)
    >>> [round(hidden_in(work, tau_of(work, 0.0, gbps)), 6) for gbps in (10.0, 100.0)]
    [0.06, 0.0375]
    """
    exposed_s = tau - work.compute_s
    return min(work.overlap * work.backward_s, work.overlap / (1 - work.overlap) * max(0.0, exposed_s))
