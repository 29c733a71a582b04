"""Policies with one placement rule: the paper's baselines, and those of its neighbours."""

from __future__ import annotations

from ringsched.engine.problem import Problem
from ringsched.policies.policy import Settings, priorities
from ringsched.search.bisection import Candidate, search_theta


def solve_first_fit(problem: Problem, settings: Settings) -> Candidate | None:
    """Bisect θ for the first GPUs that fit, as section 7 says of FF."""
    from ringsched.rules.trial import FIRST_FIT

    return _bisect(problem, settings, FIRST_FIT)


def solve_list_scheduling(problem: Problem, settings: Settings) -> Candidate | None:
    """Bisect θ for the least loaded GPUs, as section 7 says of LS."""
    from ringsched.rules.trial import LEAST_LOADED

    return _bisect(problem, settings, LEAST_LOADED)


def solve_random(problem: Problem, settings: Settings) -> Candidate | None:
    """Take random GPUs whose load stays within θ = T, as section 7 says of RAND."""
    from ringsched.rules.trial import RANDOM_FIT

    return _once(problem, settings, RANDOM_FIT, settings.theta or problem.horizon, seed=settings.seed)


def solve_best_fit(problem: Problem, settings: Settings) -> Candidate | None:
    """Take the tightest fit; nothing to search for, and always feasible."""
    from ringsched.rules.trial import BEST_FIT

    return _once(problem, settings, BEST_FIT, None)


def _bisect(problem: Problem, settings: Settings, rule: int) -> Candidate | None:
    from ringsched.rules.runner import Runner

    runner = Runner(problem, priorities(problem, settings.order))

    def attempt(theta: int, limit: float) -> Candidate | None:
        makespan = runner.run(rule, theta=theta, deadline=limit)
        settings.on_trial()
        return None if makespan is None else Candidate(runner.last(), {"theta": theta})

    return search_theta(problem.horizon, attempt, theta=settings.theta)


def _once(
    problem: Problem, settings: Settings, rule: int, theta: int | None, *, seed: int | None = None
) -> Candidate | None:
    from ringsched.rules.runner import Runner

    runner = Runner(problem, priorities(problem, settings.order), seed=seed)
    makespan = runner.run(rule, theta=theta)
    settings.on_trial()
    params = {} if settings.theta is None else {"theta": settings.theta}
    return None if makespan is None else Candidate(runner.last(), params)


def solve_lwf(problem: Problem, settings: Settings) -> Candidate | None:
    """Take the least loaded GPUs, or the least busy servers' if the job has more than κ."""
    from ringsched.rules.trial import LEAST_WORKLOAD

    params = {} if settings.kappa is None else {"kappa": settings.kappa}
    return _once_with_kappa(problem, settings, LEAST_WORKLOAD, settings.kappa or 1, params)


def solve_free_links(problem: Problem, settings: Settings) -> Candidate | None:
    """Let spread jobs wait for links with nobody on them, or with a lane to be reserved."""
    from ringsched.rules.trial import FREE_LINKS

    return _once_with_kappa(problem, settings, FREE_LINKS, problem.fabric.model.lanes, {})


def solve_adaptive_overlap(problem: Problem, settings: Settings) -> Candidate | None:
    """Let a second spread job onto a link if that lowers the sum of completions."""
    from ringsched.rules.trial import ADAPTIVE_OVERLAP

    return _once_with_kappa(problem, settings, ADAPTIVE_OVERLAP, 0, {})


def _once_with_kappa(
    problem: Problem, settings: Settings, rule: int, kappa: int, params: dict[str, int]
) -> Candidate | None:
    from ringsched.rules.runner import Runner

    runner = Runner(problem, priorities(problem, settings.order))
    makespan = runner.run(rule, kappa=kappa)
    settings.on_trial()
    return None if makespan is None else Candidate(runner.last(), params)
