"""All lower bounds on an objective."""

from __future__ import annotations

from ringsched.bounds.best_cases import best_cases
from ringsched.bounds.core import core_bounds
from ringsched.engine.problem import Problem
from ringsched.model import Bound
from ringsched.model.objective import MAKESPAN


def lower_bounds(problem: Problem, objective: str = MAKESPAN) -> tuple[Bound, ...]:
    """Return the bounds on an objective, the largest first; none for a scenario without jobs."""
    if problem.num_jobs == 0:
        return ()
    bounds = core_bounds(problem) if objective == MAKESPAN else [best_cases(problem, objective)]
    return tuple(sorted(bounds, key=lambda bound: -bound.value_s))
