"""Every job's run, cut where its speed changes: how much slower than alone it is, and what it sends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ringsched.analysis.blame.parts import Split
from ringsched.analysis.blame.timeline import Floats
from ringsched.engine.problem import Problem
from ringsched.engine.run import Run

SLOWER = 1 + 1e-9  # below this a factor is rounding
SAME = 1e-6  # relative: nobody would see the difference

Slowed = tuple[float, float, float]  # from, until, and how many times as long an iteration takes at worst


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """The times in which a job's speed does not change, one after the other."""

    instants_s: Floats  # the cuts: one more than stretches
    factors: Floats  # how many times as long an iteration takes as alone on the same GPUs
    gbps: Floats  # what the job sends over each of its links, on average

    @staticmethod
    def none() -> Stretches:
        """Return the stretches of a job that crosses no link: nothing is to be said."""
        return Stretches(np.zeros(0), np.zeros(0), np.zeros(0))


def stretches_of(problem: Problem, run: Run) -> list[Stretches]:
    """Return the stretches of every job."""
    split = Split(problem, run)
    return [
        _stretches(problem, split, job) if shape.links else Stretches.none()
        for job, shape in enumerate(split.shapes)
    ]


def slowed_stretches(stretches: Stretches) -> list[Slowed]:
    """Return the times in which a job is slower than alone, each as long as can be, with the worst factor.

    Examples
    --------
    >>> instants_s, factors = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 1.5, 2.0])
    >>> slowed_stretches(Stretches(instants_s, factors, factors))
    [(1.0, 3.0, 2.0)]
    """
    slower = np.concatenate([[False], stretches.factors > SLOWER, [False]])
    edges = np.flatnonzero(np.diff(slower)).reshape(-1, 2).tolist()
    return [
        (
            float(stretches.instants_s[first]),
            float(stretches.instants_s[last]),
            float(stretches.factors[first:last].max()),
        )
        for first, last in edges
    ]


def _stretches(problem: Problem, split: Split, job: int) -> Stretches:
    work, shape = problem.works[job], split.shapes[job]
    alone_s = problem.alone_tau(job, shape)
    intervals = split.intervals(job)
    instants_s = problem.seconds_at(intervals.instants)
    lengths_s = np.diff(problem.clock.seconds(intervals.instants))
    # In slotted time the last slot may be lost more than whole; a factor needs something left.
    factors = lengths_s / np.maximum(lengths_s - intervals.lost_s, 1e-3 * lengths_s)
    kept = np.flatnonzero(np.abs(np.diff(factors, prepend=0.0)) > SAME * factors)
    gbps = work.exchange_gbit / (alone_s * factors[kept])
    return Stretches(instants_s[np.append(kept, len(factors))], factors[kept], gbps)
