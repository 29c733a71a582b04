"""All lower bounds on an objective."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from ringsched.bounds.core import core_bounds
from ringsched.engine.problem import Problem
from ringsched.model import Bound
from ringsched.model.objective import MAKESPAN, MEAN_COMPLETION, WEIGHTED_COMPLETION, Objective


def lower_bounds(problem: Problem, objective: Objective = MAKESPAN) -> tuple[Bound, ...]:
    """Return the bounds on an objective, the largest first; none for a scenario without jobs."""
    if objective not in problem.bounds:
        bounds = _ALL_OF[objective](problem, objective) if problem.num_jobs else ()
        problem.bounds[objective] = tuple(sorted(bounds, key=lambda bound: -bound.value_s))
    return problem.bounds[objective]


def quick_bound_s(problem: Problem, objective: Objective = MAKESPAN) -> float:
    """Return the largest of the bounds that take next to no time, for callers that plan repeatedly."""
    return max(bound.value_s for bound in _QUICK_OF[objective](problem, objective))


# What the bounds beyond the core need is loaded here, so that nobody waits for numpy who does not plan.


def _core(problem: Problem, objective: Objective) -> Iterator[Bound]:  # noqa: ARG001
    yield from core_bounds(problem)


def _makespan(problem: Problem, objective: Objective) -> Iterator[Bound]:
    from ringsched.bounds.long_jobs import long_jobs
    from ringsched.bounds.server_classes import server_classes
    from ringsched.bounds.side_by_side import side_by_side, wide_jobs
    from ringsched.bounds.work import work_of
    from ringsched.bounds.work_left import work_left

    yield from _core(problem, objective)
    work = work_of(problem)
    yield work_left(work)
    for bound in (side_by_side(work), wide_jobs(work), long_jobs(work), server_classes(work)):
        if bound is not None:
            yield bound


def _completion(problem: Problem, objective: Objective, *, quick: bool = False) -> Iterator[Bound]:
    from ringsched.bounds.best_cases import best_cases
    from ringsched.bounds.fastest import fastest_of
    from ringsched.bounds.priced_gpus import priced_gpus
    from ringsched.bounds.squashed_area import squashed_area

    fastest = fastest_of(problem)
    yield best_cases(problem, fastest, objective)
    yield squashed_area(problem, fastest, objective)
    if not quick:
        yield priced_gpus(problem, fastest, objective)


_Bounds = Callable[[Problem, Objective], Iterable[Bound]]
_ALL_OF: Mapping[Objective, _Bounds] = {
    MAKESPAN: _makespan,
    MEAN_COMPLETION: _completion,
    WEIGHTED_COMPLETION: _completion,
}
_QUICK_OF: Mapping[Objective, _Bounds] = {
    MAKESPAN: _core,
    MEAN_COMPLETION: partial(_completion, quick=True),
    WEIGHTED_COMPLETION: partial(_completion, quick=True),
}
