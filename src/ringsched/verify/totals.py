"""The totals a plan states: its objectives, bounds and gap."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ringsched.model import Plan, Scenario
from ringsched.verify.bounds_stated import check_bounds
from ringsched.verify.clock import ROUNDED_ULPS, Clock
from ringsched.verify.iteration_time import Network
from ringsched.verify.objective import FIELDS, objective_s
from ringsched.verify.verdict import Violation, shown

MOST_SCALE = 1e15  # of a ratio; beyond, rounding would excuse anything


def check_totals(
    scenario: Scenario, plan: Plan, finishes: Sequence[float] | None, network: Network, clock: Clock
) -> Iterator[Violation]:
    """Check bounds, and, if the plan could be replayed, objectives and gap."""
    bounds_s, wrong = check_bounds(scenario, plan, network, clock)
    yield from wrong
    bound_s = max(bounds_s, default=0.0)
    expected: dict[str, float] = {}
    scale = bound_s
    if finishes is not None:
        finishes_s = _in_order(scenario, plan, [clock.length_s(finish) for finish in finishes])
        expected = {
            field: objective_s(scenario, finishes_s, name, clock.origin_s) for name, field in FIELDS.items()
        }
        last_s = max(map(clock.seconds, finishes), default=0.0)
        scale = max(bound_s, last_s) if math.isfinite(last_s) else bound_s
        expected["gap"] = _gap(expected[FIELDS[plan.objective]], bound_s, scale)
    for field, value in (expected | {"lower_bound_s": bound_s}).items():
        stated = getattr(plan, field)
        if stated is None:
            continue
        # What a value is rounded by counts, in a ratio, in units of the bound.
        largest = scale if field != "gap" or bound_s <= 0 else min(scale / bound_s, MOST_SCALE)
        if not clock.agree(stated, value, largest):
            message = f"{field} is {shown(stated)} in the plan, but {shown(value)} recomputed"
            yield Violation(constraint=field.removesuffix("_s").replace("_", "-"), message=message)


def _in_order(scenario: Scenario, plan: Plan, finishes_s: Sequence[float]) -> list[float]:
    """Return the finishes of planned jobs in the scenario's order, which the plan may not keep to."""
    by_name = {planned.name: finish_s for planned, finish_s in zip(plan.jobs, finishes_s, strict=True)}
    return [by_name[job.name] for job in scenario.jobs]


def _gap(value_s: float, bound_s: float, scale: float) -> float:
    if bound_s <= 0:
        return 1.0 if value_s <= 0 else math.inf
    # In continuous time a bound that is met can come out a rounding error above the value.
    ratio = value_s / bound_s
    below_s = max(1e-8 * bound_s, ROUNDED_ULPS * math.ulp(scale))
    return 1.0 if ratio < 1 and bound_s - value_s < below_s else ratio
