"""What the search chose, carried out by the engine."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ringsched.engine.problem import Problem
from ringsched.engine.run import Run
from ringsched.engine.simulate import LiveCluster, run_events
from ringsched.search.exact.instance import Counts


def realise(problem: Problem, starts: Sequence[float], counts: Sequence[Counts]) -> Run:
    """Start every job at its instant, or when its GPUs are free, on so many GPUs of each server."""
    waiting = sorted(problem.queued, key=lambda job: (starts[job], job))

    def start_due(cluster: LiveCluster) -> float:
        while waiting and starts[waiting[0]] <= problem.clock.same_instant_until(cluster.now):
            gpus = _idle_gpus(problem, cluster, counts[waiting[0]])
            if gpus is None or problem.release[waiting[0]] > cluster.now:
                break
            cluster.start(waiting.pop(0), gpus)
        next_start = starts[waiting[0]] if waiting else math.inf
        return next_start if next_start > cluster.now else math.inf

    return run_events(problem, start_due)


def _idle_gpus(problem: Problem, cluster: LiveCluster, counts: Counts) -> list[int] | None:
    chosen: list[int] = []
    for server, number in enumerate(counts):
        gpus = range(problem.first_gpu[server], problem.first_gpu[server + 1])
        idle = [gpu for gpu in gpus if cluster.is_idle(gpu)]
        if len(idle) < number:
            return None
        chosen += idle[:number]
    return chosen
