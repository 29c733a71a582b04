"""SJF-BCO, Algorithm 1: smallest job first with balanced contention and overhead, and its bisection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ringsched.engine.problem import Problem
from ringsched.model import Certificate
from ringsched.policies.policy import Candidate, Settings, priorities
from ringsched.rules.runner import Runner
from ringsched.rules.shared import CHARGE_UNITS, charges, estimates_of, overestimate
from ringsched.rules.table import BALANCED

LARGEST = 1e300


def solve_sjf_bco(problem: Problem, settings: Settings) -> Candidate | None:
    """Search θ by bisection and κ in full (lines 5 to 7)."""
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


def kappas(problem: Problem) -> list[int]:
    """Return the values of κ that differ: 1 and the sizes of the jobs."""
    return sorted({1, *(problem.gpus[job] for job in problem.queued)})


# The best run with a makespan strictly below the limit for this θ, or None: attempt(theta, limit).
Attempt = Callable[[int, float], Candidate | None]


def search_theta(horizon: int, attempt: Attempt, *, theta: int | None) -> Candidate | None:
    """Bisect θ, or try the one that is given; the makespan must be below T either way."""
    return bisect_theta(horizon, attempt) if theta is None else attempt(theta, horizon)


def bisect_theta(horizon: int, attempt: Attempt) -> Candidate | None:
    """Return the best candidate met while bisecting θ in 1..T; None if no makespan is below T.

    Only a strict improvement moves to smaller θ. An infeasible trial never competes: the printed
    pseudo-code lets the makespan of a partial schedule win.
    """
    best: Candidate | None = None
    limit: float = horizon
    left, right = 1, horizon
    while left <= right:
        theta = (left + right) // 2
        candidate = attempt(theta, limit)
        if candidate is None:
            left = theta + 1
        else:
            best, limit = candidate, candidate.run.makespan
            right = theta - 1
    return best


def certify_sjf_bco(problem: Problem, candidate: Candidate, bound: float) -> Certificate:
    """Return the figures of the paper's theorem for a plan, with W_max out of its loads.

    `bound` is one on the makespan, in the clock's units.
    """
    load: Counter[int] = Counter()
    for charge, gpus in zip(charges(problem).tolist(), candidate.run.gpus, strict=True):
        load.update(dict.fromkeys(gpus, charge))
    estimates, best, worst = estimates_of(problem), problem.columns.best_case, problem.columns.worst_case
    phi = float((worst / best).max())
    low = float((estimates / worst).min(initial=1.0))
    # Estimates may be absurd, figures must be numbers.
    u, low = min(overestimate(problem, estimates), LARGEST), max(low, 1 / LARGEST)
    return Certificate(
        theta=int(candidate.params["theta"]),
        max_load=max(load.values()) / CHARGE_UNITS,
        largest_job=max(problem.gpus),
        worst_over_best=phi,
        overestimate=u,
        underestimate=low,
        claimed_ratio=min(max(problem.gpus) * phi * u / low, LARGEST),
        measured_ratio=max(1.0, candidate.run.makespan / bound),
    )
