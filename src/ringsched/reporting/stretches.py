"""Every job's run, cut where its speed changes: how much slower than alone it is, and what it sends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ringsched.analysis.blame.parts import Split
from ringsched.contention.extremes import uncontended_tau
from ringsched.engine.problem import Problem
from ringsched.engine.run import Run

SLOWER = 1 + 1e-9  # below this a factor is rounding
SAME = 1e-6  # relative: nobody would see the difference

Slowed = tuple[float, float, float]  # from, until, and how many times as long an iteration takes


class Stretch(NamedTuple):
    """A time in which a job's speed does not change."""

    since_s: float
    until_s: float
    factor: float  # how many times as long an iteration takes as alone on the same GPUs
    gbps: float  # what it sends over each of its links, on average


def stretches_of(problem: Problem, run: Run) -> list[list[Stretch]]:
    """Return the stretches of every job; of a job that crosses no link there are none."""
    split = Split(problem, run)
    return [
        _stretches(problem, split, job) if split.shapes[job].links else [] for job in range(len(run.gpus))
    ]


def _stretches(problem: Problem, split: Split, job: int) -> list[Stretch]:
    work, shape = problem.works[job], split.shapes[job]
    alone_s = uncontended_tau(work, shape, problem.network, problem.scenario.contention)
    intervals = split.intervals(job)
    instants_s = [problem.clock.seconds(instant) for instant in intervals.instants.tolist()]
    stretches: list[Stretch] = []
    begun_s, factor = instants_s[0], 0.0
    for since_s, until_s, lost_s in zip(instants_s, instants_s[1:], intervals.lost_s.tolist(), strict=False):
        # In slotted time the last slot may be lost more than whole; a factor needs something left.
        useful_s = max(until_s - since_s - lost_s, 1e-3 * (until_s - since_s))
        own = (until_s - since_s) / useful_s
        if abs(own - factor) > SAME * own:
            if factor:
                stretches.append(Stretch(begun_s, since_s, factor, work.exchange_gbit / (alone_s * factor)))
            begun_s, factor = since_s, own
    stretches.append(Stretch(begun_s, instants_s[-1], factor, work.exchange_gbit / (alone_s * factor)))
    return stretches


def slowed_stretches(stretches: Sequence[Stretch]) -> list[Slowed]:
    """Return the times in which a job is slower than alone, each as long as can be, with the worst factor.

    Examples
    --------
    >>> slowed_stretches([Stretch(0, 1, 1.0, 9), Stretch(1, 2, 1.5, 6), Stretch(2, 3, 2.0, 4)])
    [(1, 3, 2.0)]
    """
    slowed: list[Slowed] = []
    for since_s, until_s, factor, _ in stretches:
        if factor <= SLOWER:
            continue
        if slowed and slowed[-1][1] == since_s:
            slowed[-1] = (slowed[-1][0], until_s, max(slowed[-1][2], factor))
        else:
            slowed.append((since_s, until_s, factor))
    return slowed
