"""Run a queue through the cluster: arrivals in, starts and finishes out."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ringsched.engine.problem import Problem
from ringsched.engine.state import Cluster
from ringsched.model import Outcome

# Decides where a job goes now: GPU numbers, or None to wait.
Place = Callable[[Cluster, int], Sequence[int] | None]


@dataclass(frozen=True, slots=True)
class Run:
    """What happened: instants in the clock's units, GPUs by number, in the order of the jobs."""

    starts: tuple[float, ...]
    finishes: tuple[float, ...]
    gpus: tuple[tuple[int, ...], ...]

    @property
    def makespan(self) -> float:
        """The last finish."""
        return max(self.finishes, default=0)


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


def replay(problem: Problem, starts: Sequence[float], gpus: Sequence[Sequence[int]]) -> Run:
    """Run every job on given GPUs from a given instant; nobody checks that the GPUs are free."""
    run = simulate(problem, starts, lambda _, job: gpus[job], release=starts)
    assert run is not None  # every placement succeeds and there is no deadline
    return run


def outcome_of(problem: Problem, run: Run) -> Outcome:
    """Return a run in seconds, with its totals."""
    seconds = problem.clock.seconds
    finishes_s = tuple(seconds(finish) for finish in run.finishes)
    completions = [
        finish - job.submit_s for finish, job in zip(finishes_s, problem.scenario.jobs, strict=True)
    ]
    return Outcome(
        starts_s=tuple(seconds(start) for start in run.starts),
        finishes_s=finishes_s,
        makespan_s=max(finishes_s, default=0.0),
        mean_completion_s=math.fsum(completions) / len(completions) if completions else 0.0,
    )


def _next_event(cluster: Cluster, arrivals: Iterable[float]) -> float | None:
    completion = cluster.next_completion()
    return min(arrivals if completion is None else [completion, *arrivals], default=None)
