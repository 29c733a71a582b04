"""The mean of completions if every job had the cluster for itself."""

from __future__ import annotations

from ringsched.bounds.fastest import Fastest
from ringsched.engine.objective import objective_value
from ringsched.engine.problem import Problem
from ringsched.model import Bound
from ringsched.model.objective import Objective


def best_cases(problem: Problem, fastest: Fastest, objective: Objective) -> Bound:
    """No job can end before its release plus its shortest duration, and so neither can their mean."""
    earliest = [release + best for release, best in zip(problem.release, fastest.best, strict=True)]
    return Bound(
        name="best-cases",
        value_s=objective_value(problem, earliest, objective),
        terms={"jobs": problem.num_jobs},
    )
