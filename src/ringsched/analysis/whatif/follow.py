"""Carrying out a plan that something has come in the way of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ringsched.engine.problem import Problem
from ringsched.engine.run import Run

if TYPE_CHECKING:  # loaded with the kernels
    from ringsched.engine.simulate import LiveCluster


def if_nobody_waits(problem: Problem, starts: Sequence[float], gpus: Sequence[Sequence[int]]) -> Run | None:
    """Run every job on its GPUs from its start, much faster than `follow`; None if some are still held."""
    from ringsched.placement.runner import replay

    run = replay(problem, starts, gpus)
    on_time = all(actual == planned for actual, planned in zip(run.starts, starts, strict=True))
    return run if on_time else None


def follow(problem: Problem, starts: Sequence[float], gpus: Sequence[Sequence[int]]) -> Run:
    """Run every job on its GPUs from its start, or as soon as those who had them before have left.

    Unlike in `replay`, a job that has to wait holds back only those who want the same GPUs after it.
    """
    from ringsched.engine.simulate import run_events

    coming = sorted(problem.queued, key=lambda job: (starts[job], job), reverse=True)
    due: list[int] = []

    def start_due(cluster: LiveCluster) -> float:
        while coming and starts[coming[-1]] <= cluster.now:
            due.append(coming.pop())
        due[:] = _start(cluster, due, gpus)
        return starts[coming[-1]] if coming else math.inf

    return run_events(problem, start_due)


def _start(cluster: LiveCluster, due: Sequence[int], gpus: Sequence[Sequence[int]]) -> list[int]:
    """Start the jobs whose GPUs are idle and wanted by none that comes before; return the others."""
    waiting, wanted = [], set[int]()
    for job in due:
        if wanted.isdisjoint(gpus[job]) and all(cluster.is_idle(gpu) for gpu in gpus[job]):
            cluster.start(job, gpus[job])
        else:
            waiting.append(job)
            wanted.update(gpus[job])
    return waiting
