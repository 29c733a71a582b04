"""How a plan was made, in a few words."""

from __future__ import annotations

from ringsched.model import Plan


def choices(plan: Plan) -> list[str]:
    """Return order, what a search chose, slack and seed, as far as the plan has them."""
    chosen = [] if plan.order is None else [f"order {plan.order}"]
    chosen += [f"{name} {value}" for name, value in plan.params.items()]
    chosen += [] if plan.slack is None else [f"slack {plan.slack:g}"]
    return [*chosen, f"seed {plan.seed}"] if plan.seed else chosen
