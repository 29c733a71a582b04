"""The totals a plan states: its objectives, bounds, gap and certificate."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ringsched.model import Certificate, Job, Plan
from ringsched.verify.arguments import check_bounds
from ringsched.verify.bounds import (
    FIELDS,
    Facts,
    is_makespan,
    is_slowdown,
    max_slowdown,
    objective_s,
)
from ringsched.verify.clock import ROUNDED_ULPS, time_limit
from ringsched.verify.verdict import Violation, shown

SAME = 1e-8  # relative
CHARGES_PER_UNIT = 10**6
LARGEST = 1e300  # where absurd estimates would lead beyond numbers


def check_certificate(facts: Facts, plan: Plan) -> Iterator[Violation]:
    """Check every figure of a certificate against its definition; the plan's jobs are the scenario's."""
    stated = plan.certificate
    if stated is None or not facts.scenario.jobs:
        return
    for figure, expected in _expected(facts, plan, stated).items():
        found = getattr(stated, figure)
        if abs(found - expected) > SAME * abs(expected):
            message = f"{figure} of the certificate is {shown(found)}, but {shown(expected)} recomputed"
            yield Violation(constraint="certificate", message=message)


def _expected(facts: Facts, plan: Plan, stated: Certificate) -> dict[str, float]:
    scenario, network, clock = facts.scenario, facts.network, facts.clock
    best = {job.name: best for job, best in zip(scenario.jobs, facts.best_cases, strict=True)}
    limit = {job.name: time_limit(job, clock) for job in scenario.jobs}
    worst = {
        job.name: min(
            clock.duration(job.remaining_iterations, clock.pace(network.worst_tau_s(job))), limit[job.name]
        )
        for job in scenario.jobs
    }
    estimate = {
        job.name: min(_estimate(job, best[job.name], scenario.time.unit_s), limit[job.name])
        for job in scenario.jobs
    }
    phi = max(worst[name] / best[name] for name in best)
    over = min(LARGEST, max(1.0, *(estimate[name] / best[name] for name in best)))
    under = max(1 / LARGEST, min(1.0, *(estimate[name] / worst[name] for name in best)))
    largest = max(job.gpus for job in scenario.jobs)
    charges = {name: CHARGES_PER_UNIT * each / over for name, each in estimate.items()}
    # Between two whole numbers, a charge is rounded up or down.
    least, most = (_largest_load(plan, charges, 1 + change) for change in (-SAME, SAME))
    figures = {
        "max_load": min(max(stated.max_load, least), most),
        "largest_job": largest,
        "worst_over_best": phi,
        "overestimate": over,
        "underestimate": under,
        "claimed_ratio": min(LARGEST, largest * phi * over / under),
    }
    if "theta" in plan.params and not isinstance(plan.params["theta"], str):
        figures["theta"] = plan.params["theta"]
    # Of another objective the plan does not state the bound on the makespan.
    return figures | ({"measured_ratio": plan.gap} if is_makespan(plan.objective) else {})


def _largest_load(plan: Plan, charges: Mapping[str, float], factor: float) -> float:
    """Return the largest sum of rounded charges on a GPU, if they are larger by this factor."""
    load: Counter[tuple[str, int]] = Counter()
    for planned in plan.jobs:
        charge = round(charges[planned.name] * factor)
        for server, gpus in planned.gpus.items():
            load.update({(server, gpu): charge for gpu in gpus})
    return max(load.values()) / CHARGES_PER_UNIT


def _estimate(job: Job, best: float, unit_s: float) -> float:
    if job.estimate_s is None:
        return best
    return job.estimate_s / unit_s * (job.remaining_iterations / job.iterations)


MOST_SCALE = 1e15  # of a ratio; beyond, rounding would excuse anything


def check_totals(facts: Facts, plan: Plan, finishes: Sequence[float] | None) -> Iterator[Violation]:
    """Check bounds, and, if the plan could be replayed, objectives and gap."""
    scenario, clock = facts.scenario, facts.clock
    bounds, wrong = check_bounds(facts, plan)
    yield from wrong
    bound = max(bounds, default=0.0)
    # What a value is rounded by: the largest number that went into it, of slowdowns in units of a job.
    rounded = dict.fromkeys(FIELDS.values(), 0.0)
    expected: dict[str, float] = {}
    own = FIELDS[plan.objective]
    if finishes is not None:
        finishes_s = _in_order(facts, plan, [clock.length_s(finish) for finish in finishes])
        expected = {
            field: max_slowdown(facts, finishes_s)
            if is_slowdown(name)
            else objective_s(scenario, finishes_s, name, clock.origin_s)
            for name, field in FIELDS.items()
            if getattr(plan, field) is not None
        }
        last_s = max(map(clock.seconds, finishes), default=0.0)
        if math.isfinite(last_s):
            shortest_s = 1.0 if plan.max_slowdown is None else min(facts.best_cases_s, default=1.0)
            rounded = {
                field: min(last_s / shortest_s, MOST_SCALE) if is_slowdown(name) else last_s
                for name, field in FIELDS.items()
            }
    rounded[own] = rounded["lower_bound_s"] = rounded["gap"] = max(bound, rounded[own])
    if expected:
        expected["gap"] = _gap(expected[own], bound, rounded[own])
    if bound > 0:  # in units of the bound
        rounded["gap"] = min(rounded["gap"] / bound, MOST_SCALE)
    for field, value in (expected | {"lower_bound_s": bound}).items():
        stated = getattr(plan, field)
        if not clock.agree(stated, value, rounded[field]):
            message = f"{field} is {shown(stated)} in the plan, but {shown(value)} recomputed"
            yield Violation(constraint=field.removesuffix("_s").replace("_", "-"), message=message)


def _in_order(facts: Facts, plan: Plan, finishes_s: Sequence[float]) -> list[float]:
    """Return the finishes of planned jobs in the scenario's order, which the plan may not keep to."""
    by_name = {planned.name: finish_s for planned, finish_s in zip(plan.jobs, finishes_s, strict=True)}
    return [by_name[job.name] for job in facts.scenario.jobs]


def _gap(value_s: float, bound_s: float, scale: float) -> float:
    if bound_s <= 0:
        return 1.0 if value_s <= 0 else math.inf
    # In continuous time a bound that is met can come out a rounding error above the value.
    ratio = value_s / bound_s
    below_s = max(1e-8 * bound_s, ROUNDED_ULPS * math.ulp(scale))
    return 1.0 if ratio < 1 and bound_s - value_s < below_s else ratio
