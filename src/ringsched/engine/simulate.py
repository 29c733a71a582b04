"""The engine driven step by step from Python, for policies that are not kernels, and what came of a run."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringsched.engine.eligibility import may_start, next_reopening
from ringsched.engine.events import advance, next_completion, settle, start
from ringsched.engine.problem import Problem
from ringsched.engine.state import IDLE, Arrays, Integers, Run, State, arrays_of, new_state, reset, run_of
from ringsched.jit import runnable

# Decides where a job goes now: GPU numbers, or None to wait.
Place = Callable[["LiveCluster", int], Sequence[int] | None]


class PresentGpus:
    """GPUs and links as they are now, and where a job may start."""

    def __init__(self, problem: Problem, arrays: Arrays, state: State) -> None:
        self._arrays, self._state, self._eligibility = arrays, state, problem.eligibility

    @property
    def now(self) -> float:
        """The present instant."""
        return float(self._state.now[0])

    def is_idle(self, gpu: int) -> bool:
        """Whether a GPU can be given to a job."""
        return bool(self._state.holder[gpu] == IDLE)

    def idle(self) -> NDArray[np.bool_]:
        """Return of each GPU whether it can be given to a job."""
        return np.equal(self._state.holder, IDLE)

    def on_links(self) -> Integers:
        """Return n_v of each node: how many running jobs cross its uplink."""
        return self._state.traffic.num_on_link.copy()

    def may_start(self, job: int, gpus: Sequence[int]) -> bool:
        """Whether the job may start now on these GPUs: labels, windows and layout suit it."""
        permits, servers = self._arrays.permits, [int(self._arrays.server_of[gpu]) for gpu in gpus]
        return self._eligibility.suits(job, servers) and all(
            may_start(permits, job, server, self.now) for server in set(servers)
        )


class LiveCluster(PresentGpus):
    """GPUs and the jobs on them, moved on from event to event."""

    def __init__(self, problem: Problem) -> None:
        arrays = arrays_of(problem)
        super().__init__(problem, arrays, new_state(arrays))
        python, work_s = self._arrays.python_only, problem.pass_s
        self._start = runnable(start, python=python, work_s=work_s)
        self._settle = runnable(settle, python=python, work_s=work_s)
        self._next_completion = runnable(next_completion, python=python, work_s=work_s)
        self._advance = runnable(advance, python=python, work_s=work_s)
        reset(self._arrays, self._state)
        for job, gpus in problem.running.items():
            self.start(job, gpus)

    def next_reopening(self) -> float:
        """Return the next instant at which a server is available again; infinity if there is none."""
        return float(next_reopening(self._arrays.permits, self.now))

    def start(self, job: int, gpus: Sequence[int]) -> None:
        """Give `gpus` to `job`; its rate is set by the next `settle`."""
        self._state.chosen[: len(gpus)] = sorted(gpus)
        self._start(self._arrays, self._state, job, 0)

    def settle(self) -> None:
        """Set the rates of the new set of running jobs, once all starts of this instant are known."""
        self._settle(self._arrays, self._state)

    def next_completion(self) -> float:
        """Return the earliest finish of a running job; infinity if none runs."""
        return float(self._next_completion(self._state))

    def advance(self, time: float) -> None:
        """Move on to `time` and end the jobs that complete there."""
        self._advance(self._arrays, self._state, float(time))  # one type, compiled once

    def run(self) -> Run:
        """Return what happened, once all jobs have ended."""
        return run_of(self._arrays, self._state)


def simulate(problem: Problem, priority: Sequence[Any], place: Place) -> Run | None:
    """Run all jobs to their end, head of the queue first, the head blocking those behind it.

    Parameters
    ----------
    priority
        A sort key for each job; ties go to the lower index.
    place
        Asked for the head of the queue at every instant at which something changed.

    Returns
    -------
    The run, or None if the head can never be placed.
    """
    release = problem.release
    arrivals = sorted(problem.queued, key=lambda job: (release[job], job), reverse=True)
    queue: list[tuple[Any, int]] = []

    def start_heads(cluster: LiveCluster) -> float:
        while arrivals and release[arrivals[-1]] <= cluster.now:
            job = arrivals.pop()
            insort(queue, (priority[job], job))
        num_placed = 0
        for _, job in queue:
            gpus = place(cluster, job)
            if gpus is None:
                break
            cluster.start(job, gpus)
            num_placed += 1
        del queue[:num_placed]
        next_arrival = release[arrivals[-1]] if arrivals else math.inf
        return min(next_arrival, cluster.next_reopening()) if queue else next_arrival

    run = run_events(problem, start_heads)
    return None if queue else run


def run_events(problem: Problem, start_jobs: Callable[[LiveCluster], float]) -> Run:
    """Go from event to event until nothing runs and nothing is to come.

    `start_jobs` is called at every event. It starts what is to start, and returns the next instant at which
    it wants to be called even if no job ends then; infinity if there is none.
    """
    cluster = LiveCluster(problem)
    while True:
        wanted = start_jobs(cluster)
        cluster.settle()
        time = min(cluster.next_completion(), wanted)
        if time == math.inf:
            return cluster.run()
        cluster.advance(time)
