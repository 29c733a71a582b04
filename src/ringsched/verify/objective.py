"""The verifier's own copy of the objectives."""

from __future__ import annotations

from collections.abc import Sequence

from ringsched.model import Scenario


def objective_s(scenario: Scenario, finishes_s: Sequence[float], objective: str, origin_s: float) -> float:
    """Return the value of an objective for finishes in the scenario's order, counted from the origin."""
    if objective == "makespan" or not finishes_s:
        return max(finishes_s, default=0.0)
    weights = weights_of(scenario, objective == "weighted-completion")
    total = sum(
        weight * (finish_s - (job.submit_s - origin_s))
        for weight, finish_s, job in zip(weights, finishes_s, scenario.jobs, strict=True)
    )
    return total / sum(weights)


def weights_of(scenario: Scenario, weighted: bool) -> list[float]:
    """Return what each job counts, the heaviest 1."""
    heaviest = max(job.weight for job in scenario.jobs)
    return [job.weight / heaviest if weighted else 1.0 for job in scenario.jobs]
