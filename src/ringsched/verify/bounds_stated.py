"""The bounds a plan lists: the core's have one value, the others that of their argument at their terms."""

from __future__ import annotations

from collections.abc import Mapping

from ringsched.model import Bound, Plan, Scenario
from ringsched.verify.arguments import MAKESPAN, BadTerms
from ringsched.verify.bound import core_bounds
from ringsched.verify.clock import Clock
from ringsched.verify.fastest import Facts
from ringsched.verify.iteration_time import Network
from ringsched.verify.means import earliest_ends, priced_s, squashed_ends
from ringsched.verify.objective import is_makespan, is_weighted, objective_s
from ringsched.verify.verdict import Violation, shown


def check_bounds(
    scenario: Scenario, plan: Plan, network: Network, clock: Clock
) -> tuple[list[float], list[Violation]]:
    """Return the bounds that hold, in seconds, and what is wrong with those that the plan lists.

    A plan need not list any, but what it lists must be right. Its own bound is the largest of those it
    lists and of those that every plan must know: the core's, or of a mean the best cases.
    """
    if not scenario.jobs:
        return [], [_unknown(bound, []) for bound in plan.bounds]
    facts = Facts(scenario, network, clock)
    known_s = _known_s(facts, plan.objective)
    # Submits may be Unix seconds, and what is counted from the first of them is rounded as they are.
    latest_submit_s = max(job.submit_s for job in scenario.jobs)
    values, wrong = list(known_s.values()), []
    for bound in plan.bounds:
        try:
            expected = _value_s(facts, plan.objective, bound, known_s)
        except BadTerms as error:
            wrong.append(_violation(f"bound {bound.name!r} {error}"))
            continue
        if expected is None:
            wrong.append(_unknown(bound, [*known_s, *_further(plan.objective)]))
            continue
        values.append(expected)
        if not clock.agree(bound.value_s, expected, latest_submit_s):
            stated = f"{shown(bound.value_s)} in the plan, but {shown(expected)} recomputed"
            wrong.append(_violation(f"bound {bound.name!r} is {stated}"))
    return values, wrong


def _known_s(facts: Facts, objective: str) -> dict[str, float]:
    if is_makespan(objective):
        core = core_bounds(facts.scenario, facts.network, facts.clock)
        return {name: facts.clock.length_s(bound) for name, bound in core.items()}
    return {"best-cases": _mean_s(facts, earliest_ends(facts), objective)}


def _further(objective: str) -> list[str]:
    return [*MAKESPAN] if is_makespan(objective) else ["squashed-area", "priced-gpus"]


def _value_s(facts: Facts, objective: str, bound: Bound, known_s: Mapping[str, float]) -> float | None:
    """Return what a listed bound should be; None if there is none of that name."""
    if bound.name in known_s:
        return known_s[bound.name]
    if bound.name not in _further(objective):
        return None
    if is_makespan(objective):
        return facts.clock.length_s(MAKESPAN[bound.name](facts, bound.terms))
    weighted = is_weighted(objective)
    if bound.name == "priced-gpus":
        return priced_s(facts, bound.terms, weighted)
    return _mean_s(facts, squashed_ends(facts, weighted), objective)


def _mean_s(facts: Facts, ends: list[float], objective: str) -> float:
    """Return the mean of completions."""
    clock = facts.clock
    return objective_s(facts.scenario, [clock.length_s(end) for end in ends], objective, clock.origin_s)


def _unknown(bound: Bound, names: list[str]) -> Violation:
    return _violation(f"there is no bound {bound.name!r} here, only {', '.join(names) or 'none at all'}")


def _violation(message: str) -> Violation:
    return Violation(constraint="bounds", message=message)
