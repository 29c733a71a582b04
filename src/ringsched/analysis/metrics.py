"""What one plan is worth, in numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ringsched.engine.problem import Problem, problem_of
from ringsched.errors import InputError
from ringsched.model import Plan, PlannedJob, Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """How soon the jobs of a plan end, and where its GPU-seconds go.

    The two losses are shares of the GPU-seconds for which jobs hold GPUs.
    """

    makespan_s: float
    mean_completion_s: float
    p95_completion_s: float
    gpu_utilisation: float  # GPU-seconds held / (available GPUs x makespan)
    contention_loss: float  # for what the jobs take longer than alone on the same GPUs
    spreading_loss: float  # for what they take longer alone there than in their best case
    lower_bound_s: float
    gap: float


def metrics_of(scenario: Scenario, plan: Plan) -> Metrics:
    """Return the metrics of a valid plan.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> metrics = metrics_of(scenario, ringsched.plan(scenario, "list-scheduling"))
    >>> metrics.contention_loss > 0 and metrics.spreading_loss > 0
    True
    """
    if [job.name for job in plan.jobs] != [job.name for job in scenario.jobs]:
        raise InputError("the plan's jobs are not those of the scenario")
    held, contended, spread = _gpu_seconds(problem_of(scenario), plan)
    completions_s = [
        planned.finish_s - job.submit_s for planned, job in zip(plan.jobs, scenario.jobs, strict=True)
    ]
    return Metrics(
        makespan_s=plan.makespan_s,
        mean_completion_s=plan.mean_completion_s,
        p95_completion_s=percentile(completions_s, 0.95),
        gpu_utilisation=_share(held, scenario.cluster.capacity * plan.makespan_s),
        contention_loss=_share(contended, held),
        spreading_loss=_share(spread, held),
        lower_bound_s=plan.lower_bound_s,
        gap=plan.gap,
    )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` of all do not exceed; 0 if there is none.

    Examples
    --------
    >>> percentile([5.0, 1.0, 3.0], 0.5)
    3.0
    """
    return sorted(values)[max(0, math.ceil(share * len(values) - 1e-9) - 1)] if values else 0.0


def _gpu_seconds(problem: Problem, plan: Plan) -> tuple[float, float, float]:
    """Return GPU-seconds held, and those lost to contention and to spreading."""
    index = {server.name: at for at, server in enumerate(problem.scenario.cluster.servers)}
    held, contended, spread = [], [], []
    for at, job in enumerate(plan.jobs):
        num_gpus, duration_s = problem.gpus[at], job.finish_s - job.start_s
        alone_s, best_s = _alone_s(problem, at, job, index), problem.clock.seconds(problem.best_case[at])
        held.append(num_gpus * duration_s)
        # Never negative but for rounding.
        contended.append(num_gpus * max(0.0, duration_s - alone_s))
        spread.append(num_gpus * max(0.0, alone_s - best_s))
    return math.fsum(held), math.fsum(contended), math.fsum(spread)


def _alone_s(problem: Problem, at: int, job: PlannedJob, index: dict[str, int]) -> float:
    """Return how long a job takes on its GPUs with nobody else around."""
    shape = problem.fabric.shape({index[name]: len(gpus) for name, gpus in job.gpus.items()})
    tau = problem.alone_tau(at, shape)
    clock = problem.clock
    return clock.seconds(clock.duration(problem.iterations[at], clock.rate(tau)))


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
