"""SJF-BCO, Algorithm 1: smallest job first with balanced contention and overhead."""

from __future__ import annotations

from collections.abc import Sequence

from ringsched.engine.problem import Problem
from ringsched.engine.state import Cluster
from ringsched.placement.fragment_aware import fragment_aware
from ringsched.placement.least_busy_servers import least_busy_servers
from ringsched.placement.trial import Rule, Trial
from ringsched.policies.policy import Settings, run_trial
from ringsched.policies.single_rule import search_theta
from ringsched.search.bisection import Candidate


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
