"""One seed of one experiment: plan every point and measure."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from typing import Any

from ringsched import api
from ringsched.analysis.metrics import metrics_of
from ringsched.analysis.paper.experiments import EXPERIMENTS
from ringsched.analysis.paper.points import OK, OVER_HORIZON, UNREACHABLE, PaperRow, Point
from ringsched.errors import Infeasible, InputError
from ringsched.generate.paper import NUM_SERVERS, generate_paper
from ringsched.model import Plan, Scenario

LARGE = 8  # GPUs of what the paper calls a large job; it gives no number
DIGITS = 9  # of what is written: the last bits of a float are no result


def rows_of_seed(experiment: str, seed: int) -> list[PaperRow]:
    """Return a row for every point of an experiment."""
    return [_row(point, seed) for point in EXPERIMENTS[experiment]]


def _row(point: Point, seed: int) -> PaperRow:
    try:
        base = _workload(seed, point.servers, point.contention)
    except InputError as error:
        if error.field != "contention":
            raise
        return PaperRow(seed=seed, status=UNREACHABLE, **asdict(point))
    return _measured(base.replace(time=base.time.replace(horizon_s=float(point.horizon_s))), point, seed)


# The last few are those a seed comes back to: a workload costs as much as several plans.
@lru_cache(maxsize=64)
def _workload(seed: int, servers: int, contention: float) -> Scenario:
    return generate_paper(seed, servers, contention, share_servers=NUM_SERVERS)


def _measured(scenario: Scenario, point: Point, seed: int) -> PaperRow:
    trials: list[None] = []
    try:
        plan = api.plan(
            scenario,
            point.policy,
            order=point.order,
            kappa=point.kappa,
            slack=point.slack,
            seed=seed,
            on_trial=lambda: trials.append(None),
        )
    except Infeasible as error:
        bound_s = rounded(error.lower_bound_s)
        return PaperRow(seed=seed, status=OVER_HORIZON, lower_bound_s=bound_s, **asdict(point))
    return PaperRow(seed=seed, status=OK, **asdict(point), **_found(scenario, plan), trials=len(trials))


def _found(scenario: Scenario, plan: Plan) -> dict[str, Any]:
    metrics = metrics_of(scenario, plan)
    certificate = plan.certificate
    theta, kappa = (plan.params.get(name) for name in ("theta", "kappa"))
    return {
        "makespan_s": rounded(metrics.makespan_s),
        "mean_completion_s": rounded(metrics.mean_completion_s),
        "lower_bound_s": rounded(metrics.lower_bound_s),
        "gpu_utilisation": rounded(metrics.gpu_utilisation),
        "contention_loss": rounded(metrics.contention_loss),
        "spreading_loss": rounded(metrics.spreading_loss),
        "servers_per_job": _span(plan, 2),
        "servers_per_large_job": _span(plan, LARGE),
        "theta": None if theta is None else int(theta),
        "chosen_kappa": None if kappa is None else int(kappa),
        "largest_load": None if certificate is None else rounded(certificate.max_load),
        "claimed_ratio": None if certificate is None else rounded(certificate.claimed_ratio),
    }


def _span(plan: Plan, smallest: int) -> float:
    """Return how many servers a job of at least so many GPUs has, on average."""
    spans = [len(job.gpus) for job in plan.jobs if job.gpus.num_gpus >= smallest]
    return rounded(sum(spans) / len(spans))


def rounded(value: float) -> float:
    """Return `value` to the digits that are written."""
    return float(f"{value:.{DIGITS}g}")
