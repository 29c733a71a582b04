"""What came of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ringsched.engine.objective import objective_value
from ringsched.engine.problem import Problem
from ringsched.model import Outcome
from ringsched.model.objective import ALL


@dataclass(frozen=True, slots=True)
class Run:
    """Instants from the problem's origin, in the clock's units; GPUs by number; in the order of the jobs."""

    starts: Sequence[float]
    finishes: Sequence[float]
    gpus: Sequence[Sequence[int]]

    @property
    def makespan(self) -> float:
        """The last finish."""
        return max(self.finishes, default=0)


def outcome_of(problem: Problem, run: Run) -> Outcome:
    """Return a run in seconds, with its totals."""
    return Outcome(
        starts_s=tuple(problem.seconds_at(start) for start in run.starts),
        finishes_s=tuple(problem.seconds_at(finish) for finish in run.finishes),
        **{objective.field: objective_value(problem, run.finishes, objective) for objective in ALL},
    )
