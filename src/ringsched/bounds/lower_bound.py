"""All lower bounds on an objective."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from ringsched.bounds.completion import best_cases, priced_gpus, squashed_area
from ringsched.bounds.fastest import fastest_of
from ringsched.bounds.large_jobs import long_jobs, server_classes
from ringsched.bounds.makespan import core_bounds, side_by_side, wide_jobs, work_left
from ringsched.bounds.work import work_of
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
    return max(bound.value_s for bound in quick_bounds(problem, objective))


def quick_bounds(problem: Problem, objective: Objective = MAKESPAN) -> tuple[Bound, ...]:
    """Return the bounds that take next to no time, also for 100,000 jobs."""
    return tuple(_QUICK_OF[objective](problem, objective))


def _core(problem: Problem, objective: Objective) -> Iterator[Bound]:  # noqa: ARG001
    yield from core_bounds(problem)


def _makespan(problem: Problem, objective: Objective) -> Iterator[Bound]:
    yield from _core(problem, objective)
    work = work_of(problem)
    yield work_left(work)
    for bound in (side_by_side(work), wide_jobs(work), long_jobs(work), server_classes(work)):
        if bound is not None:
            yield bound


def _completion(problem: Problem, objective: Objective, *, quick: bool = False) -> Iterator[Bound]:
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
