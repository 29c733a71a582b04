"""The completion curves: how many jobs are done when, and how many could be at best."""

from __future__ import annotations

from itertools import accumulate

from ringsched.engine.problem import Problem
from ringsched.model import Plan, Scenario
from ringsched.model.objective import objective_named
from ringsched.reporting.times import Times


def finished_at(plan: Plan) -> list[float]:
    """Return when the first, second, ... job of a plan ends, in seconds."""
    return sorted(job.finish_s for job in plan.jobs)


def soonest_ends(problem: Problem, makespan_bound_s: float) -> list[float]:
    """Return how soon after the origin any plan can have ended the first, second, ... job, in seconds.

    `k` jobs have needed the GPU-seconds of at least the `k` smallest best cases, which all GPUs together must
    have had since the origin, and no job ends before its own release and best case. The last end is
    no earlier than the bound on the makespan.

    Examples
    --------
    >>> import ringsched
    >>> from ringsched.engine.problem import problem_of
    >>> problem = problem_of(ringsched.load_scenario("examples/first.toml"))
    >>> soonest_ends(problem, 5220.0)[-1]
    5220.0
    """
    seconds = problem.clock.seconds
    alone = sorted(
        seconds(release + best) for release, best in zip(problem.release, problem.best_case, strict=True)
    )
    areas = sorted(gpus * seconds(best) for gpus, best in zip(problem.gpus, problem.best_case, strict=True))
    packed = [area / problem.num_gpus for area in accumulate(areas)]
    ends = [max(pair) for pair in zip(alone, packed, strict=True)]
    if ends:
        ends[-1] = max(ends[-1], makespan_bound_s)
    return ends


def curve_data(ends_s: list[float], times: Times) -> list[float]:
    """Return when the first, second, ... job is done, for the page."""
    return [times.shown(end) for end in ends_s]


def makespan_bound_s(scenario: Scenario, plans: list[Plan]) -> float:
    """Return the largest bound on the makespan that the plans state, else compute one."""
    from ringsched.api import lower_bounds

    stated = [plan.lower_bound_s for plan in plans if objective_named(plan.objective).is_last_finish]
    if stated:
        return max(stated)
    bounds = lower_bounds(scenario)
    return bounds[0].value_s if bounds else 0.0
