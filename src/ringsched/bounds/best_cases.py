"""The mean of completions if every job had the cluster for itself."""

from __future__ import annotations

from ringsched.engine.objective import objective_value
from ringsched.engine.problem import Problem
from ringsched.model import Bound


def best_cases(problem: Problem, objective: str) -> Bound:
    """No job can end before its release plus its best case, and so neither can their mean."""
    earliest = [
        release + best_case for release, best_case in zip(problem.release, problem.best_case, strict=True)
    ]
    return Bound(
        name="best-cases",
        value_s=objective_value(problem, earliest, objective),
        terms={"jobs": problem.num_jobs},
    )
