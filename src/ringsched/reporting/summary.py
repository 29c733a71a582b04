"""What a plan is worth: the figures at the top of the report."""

from __future__ import annotations

from typing import Any

from ringsched.analysis.metrics import Metrics
from ringsched.model import Plan
from ringsched.model.objective import objective_named
from ringsched.verify import Verdict
from ringsched.words.choices import choices
from ringsched.words.figures import seconds
from ringsched.words.quality import quality
from ringsched.words.reasons import reason

MOST_VIOLATIONS = 20  # shown; the rest is counted
LOW = "low"  # such values are better


def summary_data(plan: Plan, verdict: Verdict, metrics: Metrics | None) -> dict[str, Any]:
    """Return how a plan was made, whether it is valid, and its figures.

    `metrics` are None for a plan that does not do what it says: where its GPU-seconds go means nothing.
    """
    return {
        "policy": plan.policy,
        "choices": ", ".join(choices(plan)),
        "quality": quality(plan),
        "reason": reason(plan.bounds[0]) if plan.bounds else "",
        "valid": verdict.valid,
        "numViolations": len(verdict.violations),
        "violations": [str(violation) for violation in verdict.violations[:MOST_VIOLATIONS]],
        "figures": _figures(plan, metrics),
    }


def _figures(plan: Plan, metrics: Metrics | None) -> list[dict[str, Any]]:
    objective = objective_named(plan.objective)
    of_objective = "" if objective.is_default else f" on {objective.words}"
    figures = [
        _figure("makespan", seconds(plan.makespan_s), plan.makespan_s, LOW),
        _figure("mean completion", seconds(plan.mean_completion_s), plan.mean_completion_s, LOW),
    ]
    if plan.weighted_completion_s is not None:
        value = plan.weighted_completion_s
        figures.append(_figure("weighted completion", seconds(value), value, LOW))
    figures += [
        _figure(f"lower bound{of_objective}", seconds(plan.lower_bound_s), plan.lower_bound_s, None),
        _figure("gap", f"{plan.gap:.3f}", plan.gap, LOW),
    ]
    if metrics is not None:
        shares = {
            "GPU utilisation": (metrics.gpu_utilisation, None),  # jobs that are slowed hold GPUs too
            "lost to contention": (metrics.contention_loss, LOW),
            "lost to spreading": (metrics.spreading_loss, LOW),
        }
        figures += [_figure(name, f"{share:.1%}", share, better) for name, (share, better) in shares.items()]
    return figures


def _figure(name: str, text: str, value: float, better: str | None) -> dict[str, Any]:
    return {"name": name, "text": text.replace("%", " %"), "value": value, "better": better}
