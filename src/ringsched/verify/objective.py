"""The verifier's own copy of the objectives."""

from __future__ import annotations

from collections.abc import Sequence

from ringsched.model import Scenario


def objective_s(scenario: Scenario, finishes_s: Sequence[float], objective: str) -> float:
    """Return the value of an objective for finishes in the scenario's order."""
    if objective == "makespan" or not finishes_s:
        return max(finishes_s, default=0.0)
    weighted = objective == "weighted-completion"
    heaviest = max(job.weight for job in scenario.jobs)
    weights = [job.weight / heaviest if weighted else 1.0 for job in scenario.jobs]
    total = sum(
        weight * (finish_s - job.submit_s)
        for weight, finish_s, job in zip(weights, finishes_s, scenario.jobs, strict=True)
    )
    return total / sum(weights)
