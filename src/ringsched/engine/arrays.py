"""A problem as read-only arrays, for the kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.contention.iteration_time import sharing_factor
from ringsched.engine.problem import Problem
from ringsched.model.contention import FAIR_MODELS, PHASES

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Arrays(NamedTuple):
    """What does not change while jobs run.

    Nodes are servers, then racks. A job's GPUs stand at `gpu_first[job]`, its entries in the lists of
    links at twice that: it crosses at most one server and one rack uplink for each of its GPUs.
    """

    slotted: bool
    is_fair: bool  # links are shared max-min fairly ...
    is_phased: bool  # ... at each moment, not on average
    unit_s: float
    intra_gbps: float
    latency_s: float
    first_gpu: Integers  # of each server, and the number of GPUs at the end
    server_of: Integers  # of each GPU
    available: NDArray[np.bool_]  # of each GPU
    capacity: Integers  # of each node
    uplink_gbps: Floats  # of each node
    rack_of: Integers  # of each server: its rack's node, or -1
    link_first: Integers  # of each node: where the list of jobs on its uplink begins
    factor: Floats  # f(n)
    gpus: Integers  # of each job
    gpu_first: Integers  # of each job, and their sum at the end
    iterations: Integers
    exchange_gbit: Floats
    reduce_s: Floats
    compute_s: Floats
    entry_job: NDArray[np.int32]  # of each entry


def arrays_of(problem: Problem) -> Arrays:
    """Return the arrays of a problem."""
    contention, network = problem.scenario.contention, problem.network
    gpus = np.array(problem.gpus, dtype=np.int64)
    works = np.array(problem.works, dtype=np.float64).reshape(-1, 3)
    capacity = np.array(network.capacity, dtype=np.int64)
    # A job may cross a link only with a GPU below it, so no more jobs than GPUs are ever on it.
    most_jobs = min(problem.num_jobs, int(capacity.max(initial=0)))
    return Arrays(
        slotted=problem.clock.slotted,
        is_fair=contention.model in FAIR_MODELS,
        is_phased=contention.model == PHASES,
        unit_s=problem.clock.unit_s,
        intra_gbps=network.intra_server_gbps,
        latency_s=contention.server_latency_ms * 1e-3,
        first_gpu=np.array(problem.first_gpu, dtype=np.int64),
        server_of=np.array(problem.server_of, dtype=np.int64),
        available=np.array(problem.available, dtype=np.bool_),
        capacity=capacity,
        uplink_gbps=np.array(network.uplink_gbps, dtype=np.float64),
        rack_of=np.array(network.rack_of, dtype=np.int64),
        link_first=_offsets(np.minimum(capacity, problem.num_jobs)),
        factor=np.array([1.0, *(sharing_factor(contention, n + 1) for n in range(most_jobs))]),
        gpus=gpus,
        gpu_first=_offsets(gpus),
        iterations=np.array(problem.iterations, dtype=np.int64),
        exchange_gbit=works[:, 0].copy(),
        reduce_s=works[:, 1].copy(),
        compute_s=works[:, 2].copy(),
        entry_job=np.repeat(np.arange(problem.num_jobs, dtype=np.int32), 2 * gpus),
    )


def _offsets(sizes: Integers) -> Integers:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
