"""What a search is about, as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ringsched.engine.arrays import Arrays, Floats, Integers
from ringsched.engine.problem import Problem
from ringsched.model.objective import Objective


class Task(NamedTuple):
    """What the search is about."""

    release: Floats  # of each job
    arrivals: Integers  # jobs to be placed, by release
    best_case: Floats  # of each job
    weight: Floats  # of each job
    running: Integers  # jobs that run at time 0, on the GPUs in `planned`
    planned: Integers
    peers: Integers  # jobs to be placed, those of one size together ...
    peer_first: Integers  # ... of each job: where they begin ...
    peer_end: Integers  # ... and end
    largest_server: int
    target: float  # no makespan can be below it
    patience: int  # steps without progress before a chain is kicked


def task_of(problem: Problem, arrays: Arrays, objective: Objective, target_s: float) -> Task:
    """Return the task of a problem; `target_s` is a lower bound on the makespan."""
    planned = np.zeros(arrays.gpu_first[-1], dtype=np.int64)
    for job, held in problem.running.items():
        planned[arrays.gpu_first[job] : arrays.gpu_first[job + 1]] = sorted(held)
    queued = sorted(problem.queued, key=lambda job: (problem.release[job], job))
    peers = np.array(sorted(queued, key=lambda job: (problem.gpus[job], job)), dtype=np.int64)
    sizes = arrays.gpus[peers]
    return Task(
        peers=peers,
        peer_first=np.searchsorted(sizes, arrays.gpus, side="left"),
        peer_end=np.searchsorted(sizes, arrays.gpus, side="right"),
        release=np.array(problem.release, dtype=np.float64),
        arrivals=np.array(queued, dtype=np.int64),
        best_case=np.array(problem.best_case, dtype=np.float64),
        weight=np.array(objective.weights(problem.scenario.jobs), dtype=np.float64),
        running=np.array(list(problem.running), dtype=np.int64),
        planned=planned,
        largest_server=int(arrays.capacity[: arrays.num_servers].max()),
        target=float(problem.clock.units(target_s)),
        patience=max(200, 10 * len(queued)),
    )
