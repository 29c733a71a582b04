"""Policies with one placement rule: first-fit, list-scheduling, random, longest-first."""

from __future__ import annotations

from collections.abc import Callable

from ringsched.engine.problem import Problem
from ringsched.placement.best_fit import best_fit
from ringsched.placement.random_fit import random_fit
from ringsched.placement.trial import Rule
from ringsched.policies.policy import Settings, Solve, run_trial
from ringsched.search.bisection import Candidate, bisect_theta


def bisecting(rule: Rule) -> Solve:
    """Return a policy that bisects θ for `rule`, as section 7 says of FF and LS."""

    def solve(problem: Problem, settings: Settings) -> Candidate | None:
        def attempt(theta: int, limit: float) -> Candidate | None:
            run = run_trial(problem, settings, rule, theta=theta, deadline=limit)
            return None if run is None else Candidate(run, {"theta": theta})

        return search_theta(problem, settings, attempt)

    return solve


def search_theta(
    problem: Problem, settings: Settings, attempt: Callable[[int, float], Candidate | None]
) -> Candidate | None:
    """Bisect θ, or try the one the caller fixed; the makespan must be below T either way."""
    if settings.theta is not None:
        return attempt(settings.theta, problem.horizon)
    return bisect_theta(problem.horizon, attempt)


def solve_random(problem: Problem, settings: Settings) -> Candidate | None:
    """Take random GPUs whose load stays within θ = T, as section 7 says of RAND."""
    theta = problem.horizon if settings.theta is None else settings.theta
    run = run_trial(problem, settings, random_fit(settings.seed), theta=theta)
    return None if run is None else Candidate(run, {})


def solve_best_fit(problem: Problem, settings: Settings) -> Candidate | None:
    """Take the tightest fit; nothing to search for, and always feasible."""
    run = run_trial(problem, settings, best_fit)
    return None if run is None else Candidate(run, {})
