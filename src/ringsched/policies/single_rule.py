"""Policies with one placement rule whose load limit θ is fixed or found by bisection, as in section 7."""

from __future__ import annotations

from ringsched.engine.problem import Problem
from ringsched.policies.policy import Candidate, Settings, priorities, solve_once
from ringsched.policies.sjf_bco import search_theta
from ringsched.rules.runner import Runner
from ringsched.rules.table import FIRST_FIT, LEAST_LOADED, LEAST_WORKLOAD, RANDOM_FIT, Rule


def solve_first_fit(problem: Problem, settings: Settings) -> Candidate | None:
    """Bisect θ for the first GPUs that fit, as section 7 says of FF."""
    return _bisect(problem, settings, FIRST_FIT)


def solve_list_scheduling(problem: Problem, settings: Settings) -> Candidate | None:
    """Bisect θ for the least loaded GPUs, as section 7 says of LS."""
    return _bisect(problem, settings, LEAST_LOADED)


def solve_random(problem: Problem, settings: Settings) -> Candidate | None:
    """Take random GPUs whose load stays within θ = T, as section 7 says of RAND."""
    params = {} if settings.theta is None else {"theta": settings.theta}
    theta = settings.theta or problem.horizon
    return solve_once(problem, settings, RANDOM_FIT, theta=theta, seed=settings.seed, params=params)


def solve_lwf(problem: Problem, settings: Settings) -> Candidate | None:
    """Take the least loaded GPUs, or the least busy servers' if the job has more than κ."""
    params = {} if settings.kappa is None else {"kappa": settings.kappa}
    return solve_once(problem, settings, LEAST_WORKLOAD, kappa=settings.kappa or 1, params=params)


def _bisect(problem: Problem, settings: Settings, rule: Rule) -> Candidate | None:
    runner = Runner(problem, priorities(problem, settings.order), num_trials=problem.horizon.bit_length())

    def attempt(theta: int, limit: float) -> Candidate | None:
        makespan = runner.run(rule, theta=theta, deadline=limit)
        settings.on_trial()
        return None if makespan is None else Candidate(runner.last(), {"theta": theta})

    return search_theta(problem.horizon, attempt, theta=settings.theta)
