"""Run a queue through the cluster: arrivals in, starts and finishes out."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.core_engine.state import Cluster

from ringsched.engine.problem import Problem
from ringsched.engine.run import Run

# Decides where a job goes now: GPU numbers, or None to wait.
Place = Callable[[Cluster, int], Sequence[int] | None]


def simulate(
    problem: Problem,
    priority: Sequence[Any],
    place: Place,
    *,
    release: Sequence[float] | None = None,
    deadline: float = math.inf,
) -> Run | None:
    """Run all jobs to their end, head of the queue first, the head blocking those behind it.

    Parameters
    ----------
    priority
        A sort key for each job; ties go to the lower index.
    place
        Asked for the head of the queue at every instant at which something changed.
    release
        When each job enters the queue; as the problem says if absent.
    deadline
        Give up as soon as the makespan is known not to be below it.

    Returns
    -------
    The run, or None: the head can never be placed, or the deadline is missed.
    """
    release = problem.release if release is None else release
    cluster = Cluster(problem)
    starts: dict[int, float] = dict.fromkeys(problem.running, 0)
    gpus_of = dict(problem.running)
    finishes: dict[int, float] = {}
    arrivals = sorted(problem.queued, key=lambda job: (release[job], job), reverse=True)
    queue: list[tuple[Any, int]] = []
    while True:
        while arrivals and release[arrivals[-1]] <= cluster.now:
            job = arrivals.pop()
            insort(queue, (priority[job], job))
        num_placed = 0
        for _, job in queue:
            gpus = place(cluster, job)
            if gpus is None:
                break
            cluster.start(job, gpus)
            starts[job], gpus_of[job] = cluster.now, tuple(sorted(gpus))
            num_placed += 1
        del queue[:num_placed]
        cluster.settle()
        time = _next_event(cluster, [release[arrivals[-1]]] if arrivals else [])
        if time is None:
            break
        if time >= deadline:
            return None
        finishes |= dict.fromkeys(cluster.advance(time), time)
    if queue:
        return None
    jobs = range(problem.num_jobs)
    return Run(
        tuple(starts[job] for job in jobs),
        tuple(finishes[job] for job in jobs),
        tuple(gpus_of[job] for job in jobs),
    )


def _next_event(cluster: Cluster, arrivals: Iterable[float]) -> float | None:
    completion = cluster.next_completion()
    return min(arrivals if completion is None else [completion, *arrivals], default=None)
