"""The policies of a comparison, each under every queue order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ringsched.errors import InputError
from ringsched.policies.custom import CustomPolicy, policy_of
from ringsched.policies.orders import order_named
from ringsched.policies.policy import Limits, Policy
from ringsched.policies.registry import policy_named

OWN = "own"


@dataclass(frozen=True, slots=True)
class Contender:
    """One policy under one order; of one that searches, its limits, and what a row says of them."""

    policy: str | CustomPolicy
    entry: Policy
    order: str | None
    order_name: str
    limits: dict[str, Any]
    limit: str

    @property
    def name(self) -> str:
        """The policy's."""
        return self.entry.name

    @property
    def seeded(self) -> bool:
        """Whether it draws random numbers."""
        return "seed" in self.entry.options


def contenders_of(
    policies: Sequence[str | CustomPolicy], orders: Sequence[str], limits: Limits
) -> list[Contender]:
    """Return every policy under every order, each once."""
    if not policies or not orders:
        raise InputError("must name at least one", field="orders" if policies else "policies")
    contenders: dict[tuple[str, str], Contender] = {}
    for policy in policies:
        for order in orders:
            contender = _contender(policy, order, limits)
            known = contenders.setdefault((contender.name, contender.order_name), contender)
            if known.policy is not policy and known.policy != policy:
                raise InputError(f"has two policies named {contender.name!r}", field="policies")
    return list(contenders.values())


def _contender(policy: str | CustomPolicy, order: str, limits: Limits) -> Contender:
    entry = policy_named(policy) if isinstance(policy, str) else policy_of(policy)
    chosen = None if order == OWN else order_named(order)
    given, limit = _limits(entry, limits)
    return Contender(policy, entry, chosen, chosen or entry.order, given, limit)


def _limits(policy: Policy, limits: Limits) -> tuple[dict[str, Any], str]:
    """Return what a policy that searches is given, and how a row says it."""
    given: dict[str, Any] = {}
    if limits.iterations is not None and "iterations" in policy.options:
        given["iterations"] = limits.iterations
    elif limits.time_limit_s is not None and "time-limit" in policy.options:
        given["time_limit_s"] = limits.time_limit_s
    limit = ", ".join(f"{name} {value:g}" for name, value in given.items())
    if "threads" in policy.options:  # one core a run: the others have runs of their own
        given["threads"] = 1
    return given, limit
