"""The iteration time of the paper, eq. (8), and the parts it is made of."""

from __future__ import annotations

import math
from typing import NamedTuple

from ringsched.model import Cluster, Contention, Job
from ringsched.model.contention import FAIR_MODELS

GIGABITS_PER_MEGABYTE = 8e-3


class Work(NamedTuple):
    """What one iteration of a job asks for, wherever it runs."""

    exchange_gbit: float
    reduce_s: float
    compute_s: float


def work_of(job: Job, cluster: Cluster) -> Work:
    """Return the work of one iteration: 2m(w-1)/w exchanged, m(w-1)/w reduced, then computed."""
    reduced_gbit = job.gradient_mb * GIGABITS_PER_MEGABYTE * (job.gpus - 1) / job.gpus
    return Work(2 * reduced_gbit, reduced_gbit / cluster.reduce_gbps, job.compute_s)


def iteration_time_s(
    work: Work, *, bandwidth_gbps: float, num_servers: int, server_latency_s: float
) -> float:
    """Return tau, eq. (8): exchange + reduction + latency + computation.

    Examples
    --------
    >>> work = Work(exchange_gbit=5.0, reduce_s=0.01, compute_s=0.1)
    >>> iteration_time_s(work, bandwidth_gbps=10.0, num_servers=2, server_latency_s=0.001)
    0.612
    """
    exchange_s = 0.0
    if work.exchange_gbit > 0:
        # A speed so small that it rounded to nothing takes for ever.
        exchange_s = work.exchange_gbit / bandwidth_gbps if bandwidth_gbps > 0 else math.inf
    return exchange_s + work.reduce_s + server_latency_s * num_servers + work.compute_s


def sharing_factor(contention: Contention, num_jobs: int) -> float:
    """Return f: by how much `num_jobs` jobs on one link slow each of them.

    Linear: k + α(k-1) with k = max(1, ξ1 n); the paper lets k fall below 1, which would speed a
    lone job up. By table: its entries, and beyond its end the slope of its last step. Reserved: a
    lane each as long as there are enough, then equal shares.

    Examples
    --------
    >>> round(sharing_factor(Contention(degradation=0.2745), 4), 2)
    4.82
    >>> sharing_factor(Contention(table=(1.0, 2.5, 4.0)), 5)
    7.0
    >>> [sharing_factor(Contention(model="reserved", lanes=2), num_jobs) for num_jobs in (1, 2, 3)]
    [2.0, 2.0, 3.0]
    """
    if contention.model in FAIR_MODELS:
        return float(num_jobs)  # at most: what some do not ask for, the others have
    if contention.lanes is not None:
        return float(max(contention.lanes, num_jobs))
    table = contention.table
    if table is None:
        contending = max(1.0, (contention.share or 1.0) * num_jobs)
        return contending + (contention.degradation or 0.0) * (contending - 1)
    if num_jobs <= len(table):
        return table[num_jobs - 1]
    return table[-1] + (table[-1] - table[-2]) * (num_jobs - len(table))
