"""The value of an objective, for whoever looks for a better one."""

from __future__ import annotations

from collections.abc import Sequence

from ringsched.engine.problem import Problem
from ringsched.model.objective import Objective


def objective_value(problem: Problem, finishes: Sequence[float], objective: Objective) -> float:
    """Return in seconds what finishes, in the clock's units from the origin on, are worth; less is better."""
    finishes_s = [problem.clock.seconds(finish) for finish in finishes]
    return objective.value_s(problem.scenario.jobs, finishes_s, origin_s=problem.origin_s)
