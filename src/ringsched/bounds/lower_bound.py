"""All lower bounds on an objective, and the figures of the paper's theorem beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from ringsched.bounds.makespan import core_bounds
from ringsched.engine.problem import Problem
from ringsched.model import Bound
from ringsched.model.objective import MAKESPAN, MEAN_COMPLETION, WEIGHTED_COMPLETION, Objective
from ringsched.model.plan import Certificate

LARGEST = 1e300


def certificate_of(
    problem: Problem,
    *,
    theta: int,
    max_load: float,
    estimates: Sequence[float],
    makespan: float,
    bound: float,
) -> Certificate:
    """Return the certificate of a plan with this makespan and bound, in the clock's units.

    `estimates` are ρ̂ of every job, `max_load` is W_max, the largest sum of ρ̂ / u on a GPU.
    """
    best, worst = problem.best_case, problem.worst_case
    phi = max(slow / fast for slow, fast in zip(worst, best, strict=True))
    u = problem.overestimate(estimates)
    low = min(1.0, min(estimate / slow for estimate, slow in zip(estimates, worst, strict=True)))
    u, low = min(u, LARGEST), max(low, 1 / LARGEST)  # estimates may be absurd, figures must be numbers
    return Certificate(
        theta=theta,
        max_load=max_load,
        largest_job=max(problem.gpus),
        worst_over_best=phi,
        overestimate=u,
        underestimate=low,
        claimed_ratio=min(max(problem.gpus) * phi * u / low, LARGEST),
        measured_ratio=max(1.0, makespan / bound),
    )


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
    from ringsched.bounds.large_jobs import long_jobs, server_classes
    from ringsched.bounds.makespan import side_by_side, wide_jobs, work_left
    from ringsched.bounds.work import work_of

    yield from _core(problem, objective)
    work = work_of(problem)
    yield work_left(work)
    for bound in (side_by_side(work), wide_jobs(work), long_jobs(work), server_classes(work)):
        if bound is not None:
            yield bound


def _completion(problem: Problem, objective: Objective, *, quick: bool = False) -> Iterator[Bound]:
    from ringsched.bounds.completion import best_cases, priced_gpus, squashed_area
    from ringsched.bounds.fastest import fastest_of

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
