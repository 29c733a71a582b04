"""A problem as read-only arrays, for the kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.contention.arrays import links_of, offsets
from ringsched.contention.traffic import Links
from ringsched.engine.problem import Problem

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Arrays(NamedTuple):
    """What does not change while jobs run. Nodes are servers, then switches."""

    slotted: bool
    interpreted: bool  # kernels run as plain Python
    unit_s: float
    num_servers: int
    first_gpu: Integers  # of each server, and the number of GPUs at the end
    server_of: Integers  # of each GPU
    available: NDArray[np.bool_]  # of each GPU
    capacity: Integers  # of each node
    gpus: Integers  # of each job
    gpu_first: Integers  # of each job, and their sum at the end
    iterations: Integers
    links: Links


def arrays_of(problem: Problem) -> Arrays:
    """Return the arrays of a problem."""
    fabric = problem.fabric
    gpus = np.array(problem.gpus, dtype=np.int64)
    capacity = np.array(fabric.network.capacity, dtype=np.int64)
    links = links_of(
        fabric.network,
        fabric.model,
        fabric.latency_s,
        problem.works,
        gpus=gpus,
        # At most an uplink of every level for each of its GPUs.
        most_links=fabric.network.num_levels * gpus,
        # A job crosses a link only with a GPU below it, so no more jobs than GPUs are ever on it.
        most_jobs=np.minimum(capacity, problem.num_jobs),
    )
    return Arrays(
        slotted=problem.clock.slotted,
        interpreted=links.python is not None,
        unit_s=problem.clock.unit_s,
        num_servers=fabric.network.num_servers,
        first_gpu=np.array(problem.first_gpu, dtype=np.int64),
        server_of=np.array(problem.server_of, dtype=np.int64),
        available=np.array(problem.available, dtype=np.bool_),
        capacity=capacity,
        gpus=gpus,
        gpu_first=offsets(gpus),
        iterations=np.array(problem.iterations, dtype=np.int64),
        links=links,
    )
