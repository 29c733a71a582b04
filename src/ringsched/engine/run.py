"""What came of a simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ringsched.engine.problem import Problem
from ringsched.model import Outcome


@dataclass(frozen=True, slots=True)
class Run:
    """Instants in the clock's units, GPUs by number, in the order of the jobs."""

    starts: Sequence[float]
    finishes: Sequence[float]
    gpus: Sequence[Sequence[int]]

    @property
    def makespan(self) -> float:
        """The last finish."""
        return max(self.finishes, default=0)


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
