"""How variants of a scenario are planned: as its present plan was, unless told otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ringsched import api
from ringsched.errors import InputError
from ringsched.model import OBJECTIVES, Plan, Scenario
from ringsched.policies.registry import POLICIES, policy_named

DEFAULT_POLICY = "longest-first"  # in a moment, for any scenario

SEARCH_S = 2.0  # a plan, unless told otherwise: a question has several


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """A policy with its settings.

    What a search chose, such as theta and kappa, is chosen anew for every variant.
    """

    policy: str
    options: dict[str, Any]

    def plan(self, scenario: Scenario) -> Plan:
        """Return a plan for a scenario; may raise Infeasible."""
        return api.plan(scenario, self.policy, **self.options)


def planning_of(
    plan: Plan | None,
    *,
    policy: str | None,
    order: str | None,
    objective: str | None,
    seed: int | None,
    time_limit_s: float | None,
    iterations: int | None,
) -> Planning:
    """Return what was asked for, completed by what the present plan says if it is by that policy."""
    options: dict[str, Any] = {"order": order, "time_limit_s": time_limit_s, "iterations": iterations}
    if plan is not None:
        options |= {"objective": objective or plan.objective, "seed": plan.seed if seed is None else seed}
        if policy is None or policy == plan.policy:
            policy = _known(plan.policy)
            options |= _settings(plan) | ({} if order is None else {"order": order})
    else:
        options |= {"objective": objective or OBJECTIVES[0], "seed": seed or 0}
    chosen = policy_named(policy or DEFAULT_POLICY)
    if chosen.name == "search" and time_limit_s is None and iterations is None:
        options["time_limit_s"] = SEARCH_S
    return Planning(policy=chosen.name, options=options)


def _known(policy: str) -> str:
    names = [known.name for known in POLICIES]
    if policy not in names:
        made = f"the plan was made by {policy!r}, which cannot plan anew"
        raise InputError(f"must be given, such as {DEFAULT_POLICY}: {made}", field="policy")
    return policy


def _settings(plan: Plan) -> dict[str, Any]:
    policy = policy_named(plan.policy)
    settings: dict[str, Any] = {
        "order": None if plan.order == policy.order else plan.order,
        "slack": plan.slack,
    }
    if policy.search.startswith("none") and "kappa" in plan.params:  # given, not chosen
        settings["kappa"] = plan.params["kappa"]
    return settings
