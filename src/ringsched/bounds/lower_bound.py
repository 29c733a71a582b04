"""All lower bounds on an objective."""

from __future__ import annotations

from collections.abc import Iterator

from ringsched.bounds.core import core_bounds
from ringsched.engine.problem import Problem
from ringsched.model import Bound
from ringsched.model.objective import MAKESPAN


def lower_bounds(problem: Problem, objective: str = MAKESPAN) -> tuple[Bound, ...]:
    """Return the bounds on an objective, the largest first; none for a scenario without jobs."""
    if problem.num_jobs == 0:
        return ()
    if objective == MAKESPAN:
        bounds = [*core_bounds(problem), *_makespan(problem)]
    else:
        bounds = [*_completion(problem, objective)]
    return tuple(sorted(bounds, key=lambda bound: -bound.value_s))


def quick_bound_s(problem: Problem, objective: str = MAKESPAN) -> float:
    """Return the largest of the bounds that take no time to speak of, for who plans again and again."""
    if objective == MAKESPAN:
        return max(bound.value_s for bound in core_bounds(problem))
    from ringsched.bounds.best_cases import best_cases
    from ringsched.bounds.fastest import fastest_of
    from ringsched.bounds.squashed_area import squashed_area

    fastest = fastest_of(problem)
    return max(bound(problem, fastest, objective).value_s for bound in (best_cases, squashed_area))


# What the bounds beyond the core need is loaded here, so that nobody waits for numpy who does not plan.


def _makespan(problem: Problem) -> Iterator[Bound]:
    from ringsched.bounds.long_jobs import long_jobs
    from ringsched.bounds.server_classes import server_classes
    from ringsched.bounds.side_by_side import side_by_side, wide_jobs
    from ringsched.bounds.work import work_of
    from ringsched.bounds.work_left import work_left

    work = work_of(problem)
    yield work_left(work)
    for bound in (side_by_side(work), wide_jobs(work), long_jobs(work), server_classes(work)):
        if bound is not None:
            yield bound


def _completion(problem: Problem, objective: str) -> Iterator[Bound]:
    from ringsched.bounds.best_cases import best_cases
    from ringsched.bounds.fastest import fastest_of
    from ringsched.bounds.priced_gpus import priced_gpus
    from ringsched.bounds.squashed_area import squashed_area

    fastest = fastest_of(problem)
    yield best_cases(problem, fastest, objective)
    yield squashed_area(problem, fastest, objective)
    yield priced_gpus(problem, fastest, objective)
