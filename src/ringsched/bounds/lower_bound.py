"""All lower bounds on an objective."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ringsched.bounds.at_once import after_running, few_at_once, required_servers, work_after_running
from ringsched.bounds.completion import best_cases, priced_gpus, squashed_area
from ringsched.bounds.fastest import fastest_of
from ringsched.bounds.large_jobs import long_jobs, server_classes
from ringsched.bounds.link_time import levels_of, shared_links
from ringsched.bounds.makespan import core_bounds, side_by_side, wide_jobs, work_left
from ringsched.bounds.priced_placements import priced_placements
from ringsched.bounds.slowdown import due_work, earliest_ends
from ringsched.bounds.ways import ways_of
from ringsched.bounds.work import work_of
from ringsched.engine.problem import Problem
from ringsched.model import Bound
from ringsched.model.objective import MAKESPAN, MAX_SLOWDOWN, MEAN_COMPLETION, WEIGHTED_COMPLETION, Objective


def lower_bounds(problem: Problem, objective: Objective = MAKESPAN) -> tuple[Bound, ...]:
    """Return the bounds on an objective, the largest first; none for a scenario without jobs."""
    if objective not in problem.bounds:
        groups = ALL_OF[objective] if problem.num_jobs else ()
        bounds = [bound for group in groups for bound in group(problem, objective)]
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


def _whole_cluster(problem: Problem, objective: Objective) -> Iterator[Bound]:  # noqa: ARG001
    work = work_of(problem)
    yield work_left(work)
    for bound in (side_by_side(work), wide_jobs(work), long_jobs(work), server_classes(work)):
        if bound is not None:
            yield bound


def _placements(problem: Problem, objective: Objective) -> Iterator[Bound]:  # noqa: ARG001
    work = work_of(problem)
    ways = ways_of(problem)
    later = work_after_running(work, ways)
    if ways.running:
        yield after_running(later)
    yield few_at_once(later)
    if (bound := required_servers(later)) is not None:
        yield bound
    if (bound := shared_links(problem, ways, levels_of(problem))) is not None:
        yield bound


def _completion(problem: Problem, objective: Objective) -> Iterator[Bound]:
    fastest = fastest_of(problem)
    yield best_cases(problem, fastest, objective)
    yield squashed_area(problem, fastest, objective)


def _priced(problem: Problem, objective: Objective) -> Iterator[Bound]:
    yield priced_gpus(problem, fastest_of(problem), objective)


def _priced_placements(problem: Problem, objective: Objective) -> Iterator[Bound]:
    if (bound := priced_placements(problem, objective)) is not None:
        yield bound


def _alone(problem: Problem, objective: Objective) -> Iterator[Bound]:
    yield best_cases(problem, fastest_of(problem), objective)


def _slowdown(problem: Problem, objective: Objective) -> Iterator[Bound]:
    fastest = fastest_of(problem)
    ways = ways_of(problem)
    alone = earliest_ends(problem, ways)
    yield best_cases(problem, fastest, objective)
    yield alone
    if (bound := due_work(problem, fastest, ways, least=alone.value_s)) is not None:
        yield bound


Bounds = Callable[[Problem, Objective], Iterable[Bound]]
_MEAN = (_completion, _priced, _priced_placements)
ALL_OF: Mapping[Objective, Sequence[Bounds]] = {
    MAKESPAN: (_core, _whole_cluster, _placements),
    MEAN_COMPLETION: _MEAN,
    WEIGHTED_COMPLETION: _MEAN,
    MAX_SLOWDOWN: (_slowdown,),
}
_QUICK_OF: Mapping[Objective, Bounds] = {
    MAKESPAN: _core,
    MEAN_COMPLETION: _completion,
    WEIGHTED_COMPLETION: _completion,
    MAX_SLOWDOWN: _alone,
}
