"""Policies with one placement rule: first-fit, list-scheduling, random, longest-first.

The kernels are imported where they are used, so that nobody waits for numba who does not plan.
"""

from __future__ import annotations

from ringsched.engine.problem import Problem
from ringsched.policies.orders import priorities
from ringsched.policies.policy import Settings
from ringsched.search.bisection import Candidate, search_theta


def solve_first_fit(problem: Problem, settings: Settings) -> Candidate | None:
    """Bisect θ for the first GPUs that fit, as section 7 says of FF."""
    from ringsched.placement.trial import FIRST_FIT

    return _bisect(problem, settings, FIRST_FIT)


def solve_list_scheduling(problem: Problem, settings: Settings) -> Candidate | None:
    """Bisect θ for the least loaded GPUs, as section 7 says of LS."""
    from ringsched.placement.trial import LEAST_LOADED

    return _bisect(problem, settings, LEAST_LOADED)


def solve_random(problem: Problem, settings: Settings) -> Candidate | None:
    """Take random GPUs whose load stays within θ = T, as section 7 says of RAND."""
    from ringsched.placement.trial import RANDOM_FIT

    return _once(problem, settings, RANDOM_FIT, settings.theta or problem.horizon, seed=settings.seed)


def solve_best_fit(problem: Problem, settings: Settings) -> Candidate | None:
    """Take the tightest fit; nothing to search for, and always feasible."""
    from ringsched.placement.trial import BEST_FIT

    return _once(problem, settings, BEST_FIT, None)


def _bisect(problem: Problem, settings: Settings, rule: int) -> Candidate | None:
    from ringsched.placement.runner import Runner

    runner = Runner(problem, priorities(problem, settings.order))

    def attempt(theta: int, limit: float) -> Candidate | None:
        makespan = runner.run(rule, theta=theta, deadline=limit)
        settings.on_trial()
        return None if makespan is None else Candidate(runner.last(), {"theta": theta})

    return search_theta(problem.horizon, attempt, theta=settings.theta)


def _once(
    problem: Problem, settings: Settings, rule: int, theta: int | None, *, seed: int | None = None
) -> Candidate | None:
    from ringsched.placement.runner import Runner

    runner = Runner(problem, priorities(problem, settings.order), seed=seed)
    makespan = runner.run(rule, theta=theta)
    settings.on_trial()
    params = {} if settings.theta is None else {"theta": settings.theta}
    return None if makespan is None else Candidate(runner.last(), params)
