"""Which GPUs are idle when, in a run that is given."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ringsched.analysis.blame.timeline import Floats, Integers, timelines_of
from ringsched.engine.problem import Problem
from ringsched.engine.run import Run


@dataclass(frozen=True, slots=True, eq=False)
class Idle:
    """The idle GPUs at one instant, and what surrounds them."""

    time: float
    gpus: Integers  # ascending
    until: Floats  # when each is taken by the next job; infinity if by none
    jobs_on_link: Sequence[int]  # of every node


class Occupancy:
    """The GPUs of a cluster over the course of a run."""

    def __init__(self, problem: Problem, run: Run) -> None:
        held = [(gpu, job) for job, gpus in enumerate(run.gpus) for gpu in gpus]
        gpus, jobs = np.array(held, dtype=np.int64).reshape(-1, 2).T
        self._gpu = gpus
        self._start = np.array(run.starts, dtype=np.float64)[jobs]
        self._finish = np.array(run.finishes, dtype=np.float64)[jobs]
        self._usable = np.array(problem.available)
        shapes = [problem.shape(gpus) for gpus in run.gpus]
        # As lists, which are quicker to look one number up in; before the first instant nobody is there.
        self._on_links = [
            (line.instants.tolist(), [0, *line.num_jobs.tolist()])
            for line in timelines_of(run, shapes, len(problem.network.uplink_gbps))
        ]

    def idle(self, time: float) -> Idle:
        """Return what is idle at an instant, once completions and starts there have happened."""
        busy = self._gpu[(self._start <= time) & (self._finish > time)]
        idle = self._usable.copy()
        idle[busy] = False
        until = np.full(len(idle), math.inf)
        later = self._start > time
        np.minimum.at(until, self._gpu[later], self._start[later])
        gpus = np.flatnonzero(idle)
        on_link = [counts[bisect_right(instants, time)] for instants, counts in self._on_links]
        return Idle(time, gpus, until[gpus], on_link)
