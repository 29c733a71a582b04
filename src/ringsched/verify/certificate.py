"""The verifier's own copy of the figures of a certificate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ringsched.model import Job, Plan, Scenario
from ringsched.verify.bound import best_case
from ringsched.verify.clock import Clock
from ringsched.verify.iteration_time import Network
from ringsched.verify.objective import is_makespan
from ringsched.verify.verdict import Violation, shown

SAME = 1e-8  # relative
CHARGES_PER_UNIT = 10**6
LARGEST = 1e300  # where absurd estimates would lead beyond numbers


def check_certificate(scenario: Scenario, plan: Plan, network: Network, clock: Clock) -> Iterator[Violation]:
    """Check every figure of a certificate against its definition; the plan's jobs are the scenario's."""
    stated = plan.certificate
    if stated is None or not scenario.jobs:
        return
    for figure, expected in _expected(scenario, plan, network, clock).items():
        found = getattr(stated, figure)
        if abs(found - expected) > SAME * abs(expected):
            message = f"{figure} of the certificate is {shown(found)}, but {shown(expected)} recomputed"
            yield Violation(constraint="certificate", message=message)


def _expected(scenario: Scenario, plan: Plan, network: Network, clock: Clock) -> dict[str, float]:
    best = {job.name: best_case(job, network, clock) for job in scenario.jobs}
    worst = {
        job.name: clock.duration(job.remaining_iterations, clock.pace(network.worst_tau_s(job)))
        for job in scenario.jobs
    }
    estimate = {job.name: _estimate(job, best[job.name], scenario.time.unit_s) for job in scenario.jobs}
    phi = max(worst[name] / best[name] for name in best)
    over = min(LARGEST, max(1.0, *(estimate[name] / best[name] for name in best)))
    under = max(1 / LARGEST, min(1.0, *(estimate[name] / worst[name] for name in best)))
    largest = max(job.gpus for job in scenario.jobs)
    load: Counter[tuple[str, int]] = Counter()
    for planned in plan.jobs:
        charge = round(CHARGES_PER_UNIT * estimate[planned.name] / over)
        for server, gpus in planned.gpus.items():
            load.update({(server, gpu): charge for gpu in gpus})
    figures = {
        "max_load": max(load.values()) / CHARGES_PER_UNIT,
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


def _estimate(job: Job, best: float, unit_s: float) -> float:
    if job.estimate_s is None:
        return best
    return job.estimate_s / unit_s * (job.remaining_iterations / job.iterations)
