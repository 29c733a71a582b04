"""Starts moved by ever smaller steps: a search in pieces of time knows them only roughly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ringsched.engine.clock import SLACK
from ringsched.engine.problem import Problem
from ringsched.engine.run import Run
from ringsched.search.exact.instance import Counts
from ringsched.search.exact.realise import realise


def polished(
    problem: Problem, run: Run, counts: Sequence[Counts], value_of: Callable[[Run], float], step: float
) -> Run:
    """Return the run with one start after another moved by a step, as long as that helps; then by half."""
    while step > SLACK * max(1.0, run.makespan):
        moved = _moved(problem, run, counts, value_of, step)
        if moved is run:
            step /= 2
        run = moved
    return run


def _moved(
    problem: Problem, run: Run, counts: Sequence[Counts], value_of: Callable[[Run], float], step: float
) -> Run:
    for job in problem.queued:
        for shift in (-step, step):
            starts = list(run.starts)
            starts[job] = max(problem.release[job], starts[job] + shift)
            moved = realise(problem, starts, counts)
            if value_of(moved) < value_of(run) * (1 - SLACK):
                run = moved
    return run
