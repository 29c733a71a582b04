"""The policies on the plain engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.core_engine.rules import (
    best_fit,
    first_fit,
    fragment_aware,
    least_busy_servers,
    least_loaded,
    random_fit,
)
from tests.core_engine.simulate import simulate
from tests.core_engine.state import Cluster
from tests.core_engine.trial import Rule, Trial

from ringsched.engine.problem import Problem
from ringsched.engine.run import Run
from ringsched.policies.orders import priorities
from ringsched.policies.policy import Settings, Solve
from ringsched.search.bisection import Candidate, bisect_theta


def run_trial(
    problem: Problem,
    settings: Settings,
    rule: Rule,
    *,
    theta: int | None = None,
    deadline: float = float("inf"),
) -> Run | None:
    """Run the queue once with one rule and one θ."""
    trial = Trial(problem, rule, theta=theta, slack=settings.slack)
    run = simulate(problem, priorities(problem, settings.order), trial.place, deadline=deadline)
    settings.on_trial()
    return run


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
    params = {} if settings.theta is None else {"theta": settings.theta}
    return None if run is None else Candidate(run, params)


def solve_best_fit(problem: Problem, settings: Settings) -> Candidate | None:
    """Take the tightest fit; nothing to search for, and always feasible."""
    run = run_trial(problem, settings, best_fit)
    return None if run is None else Candidate(run, {})


def solve_sjf_bco(problem: Problem, settings: Settings) -> Candidate | None:
    """Search θ by bisection and κ in full (lines 5 to 7)."""
    values = kappas(problem) if settings.kappa is None else [settings.kappa]

    def attempt(theta: int, limit: float) -> Candidate | None:
        best: Candidate | None = None
        for kappa in values:
            run = run_trial(problem, settings, kappa_rule(kappa), theta=theta, deadline=limit)
            if run is not None:  # strictly better, so ties keep the smaller κ
                best, limit = Candidate(run, {"theta": theta, "kappa": kappa}), run.makespan
        return best

    return search_theta(problem, settings, attempt)


def kappas(problem: Problem) -> list[int]:
    """Return the values of κ that differ: 1 and the sizes of the jobs."""
    return sorted({1, *(problem.gpus[job] for job in problem.queued)})


def kappa_rule(kappa: int) -> Rule:
    """Return lines 10 to 13: FA-FFP for jobs of up to κ GPUs, LBSGF for larger ones."""

    def rule(trial: Trial, cluster: Cluster, job: int) -> Sequence[int] | None:
        if trial.problem.gpus[job] <= kappa:
            return fragment_aware(trial, cluster, job)
        return least_busy_servers(trial, cluster, job)

    return rule


SOLVE: dict[str, Solve] = {
    "sjf-bco": solve_sjf_bco,
    "first-fit": bisecting(first_fit),
    "list-scheduling": bisecting(least_loaded),
    "random": solve_random,
    "longest-first": solve_best_fit,
}
