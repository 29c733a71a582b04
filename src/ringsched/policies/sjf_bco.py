"""SJF-BCO, Algorithm 1: smallest job first with balanced contention and overhead."""

from __future__ import annotations

from collections import Counter

from ringsched.bounds.lower_bound import certificate_of
from ringsched.engine.problem import Problem
from ringsched.model import Certificate
from ringsched.policies.policy import Settings, priorities
from ringsched.rules.shared import CHARGE_UNITS, charges, estimate
from ringsched.search.bisection import Candidate, search_theta


def solve_sjf_bco(problem: Problem, settings: Settings) -> Candidate | None:
    """Search θ by bisection and κ in full (lines 5 to 7)."""
    from ringsched.rules.runner import Runner
    from ringsched.rules.table import BALANCED

    values = kappas(problem) if settings.kappa is None else [settings.kappa]
    num_trials = problem.horizon.bit_length() * len(values)
    runner = Runner(problem, priorities(problem, settings.order), slack=settings.slack, num_trials=num_trials)

    def attempt(theta: int, limit: float) -> Candidate | None:
        best: Candidate | None = None
        for kappa in values:
            makespan = runner.run(BALANCED, theta=theta, kappa=kappa, deadline=limit)
            settings.on_trial()
            if makespan is not None:  # strictly better, so ties keep the smaller κ
                best, limit = Candidate(runner.last(), {"theta": theta, "kappa": kappa}), makespan
        return best

    return search_theta(problem.horizon, attempt, theta=settings.theta)


def certify_sjf_bco(problem: Problem, candidate: Candidate, bound: float) -> Certificate:
    """Return the figures of the paper's theorem for a plan, with W_max out of its loads."""
    load: Counter[int] = Counter()
    for charge, gpus in zip(charges(problem), candidate.run.gpus, strict=True):
        load.update(dict.fromkeys(gpus, charge))
    return certificate_of(
        problem,
        theta=int(candidate.params["theta"]),
        max_load=max(load.values()) / CHARGE_UNITS,
        estimates=[estimate(problem, job) for job in range(problem.num_jobs)],
        makespan=candidate.run.makespan,
        bound=bound,
    )


def kappas(problem: Problem) -> list[int]:
    """Return the values of κ that differ: 1 and the sizes of the jobs."""
    return sorted({1, *(problem.gpus[job] for job in problem.queued)})
