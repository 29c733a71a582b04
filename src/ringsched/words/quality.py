"""How good a plan is, in a few words."""

from __future__ import annotations

from ringsched.model import Plan

ROUNDING = 1e-7  # in percent; continuous time leaves a value a hair above its bound


def quality(plan: Plan) -> str:
    """Return what the gap of a plan means.

    Examples
    --------
    >>> plan = Plan(
    ...     scenario_sha256="0",
    ...     policy="fifo",
    ...     makespan_s=12,
    ...     mean_completion_s=9,
    ...     lower_bound_s=10,
    ...     gap=1.2,
    ...     jobs=(),
    ... )
    >>> quality(plan), quality(plan.replace(gap=1.0))
    ('at most 20.0 % above the best possible', 'optimal')
    """
    proof = plan.params.get("proof")  # of a policy that knows more than the bounds do
    if proof:
        return f"{proof}, as policy {plan.policy} proved"
    excess = (plan.gap - 1) * 100
    if excess <= ROUNDING:
        return "optimal"
    return f"at most {excess:.1f} % above the best possible" if excess >= 0.1 else "optimal within 0.1 %"
