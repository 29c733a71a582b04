"""The verifier's own copy of the objectives."""

from __future__ import annotations

from collections.abc import Sequence

from ringsched.model import Scenario

# Where a plan states the value of an objective.
FIELDS = {
    "makespan": "makespan_s",
    "mean-completion": "mean_completion_s",
    "weighted-completion": "weighted_completion_s",
}


def is_makespan(objective: str) -> bool:
    """Whether only the last finish counts."""
    return objective == "makespan"


def is_weighted(objective: str) -> bool:
    """Whether jobs count by their weights."""
    return objective == "weighted-completion"


def objective_s(scenario: Scenario, finishes_s: Sequence[float], objective: str, origin_s: float) -> float:
    """Return the value of an objective for finishes in the scenario's order, counted from the origin."""
    if is_makespan(objective) or not finishes_s:
        return max(finishes_s, default=0.0)
    weights = weights_of(scenario, is_weighted(objective))
    total = sum(
        weight * (finish_s - (job.submit_s - origin_s))
        for weight, finish_s, job in zip(weights, finishes_s, scenario.jobs, strict=True)
    )
    return total / sum(weights)


def weights_of(scenario: Scenario, weighted: bool) -> list[float]:
    """Return what each job counts, the heaviest 1."""
    heaviest = max(job.weight for job in scenario.jobs)
    return [job.weight / heaviest if weighted else 1.0 for job in scenario.jobs]
