"""Metrics of one plan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ringsched.analysis.explain.losses import Losses, losses_of
from ringsched.analysis.explain.parts import Split
from ringsched.analysis.planned_run import planned_run
from ringsched.engine.problem import Problem, problem_of
from ringsched.engine.state import Run
from ringsched.model import Plan, Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Completion times of a plan, and how it uses the GPUs.

    The two losses are shares of the GPU time that jobs hold, as defined by `Losses`. Older plans have no
    `max_slowdown`.
    """

    makespan_s: float
    mean_completion_s: float
    p95_completion_s: float
    gpu_utilisation: float  # GPU-seconds held / (available GPUs x makespan)
    contention_loss: float
    spreading_loss: float
    lower_bound_s: float
    gap: float
    max_slowdown: float | None = None


def metrics_of(scenario: Scenario, plan: Plan) -> Metrics:
    """Return the metrics of a valid plan.

    Raises
    ------
    InputError
        The plan was made for another scenario, or its jobs would start or finish at other times.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> metrics = metrics_of(scenario, ringsched.plan(scenario, "list-scheduling"))
    >>> metrics.contention_loss > 0 and metrics.spreading_loss > 0
    True
    """
    problem = problem_of(scenario)
    return metrics_in(problem, plan, planned_run(problem, plan))


def metrics_in(problem: Problem, plan: Plan, run: Run) -> Metrics:
    """Return the metrics of a plan for a problem, given its run."""
    split = Split(problem, run)
    losses = losses_of(problem.gpus, [split.parts_of(at) for at in range(problem.num_jobs)])
    return metrics_with(losses, problem.scenario, plan)


def metrics_with(losses: Losses, scenario: Scenario, plan: Plan) -> Metrics:
    """Return the metrics of a valid plan whose losses are known."""
    completions_s = [
        planned.finish_s - job.submit_s for planned, job in zip(plan.jobs, scenario.jobs, strict=True)
    ]
    held_gpu_s = math.fsum(
        job.gpus * (planned.finish_s - planned.start_s)
        for planned, job in zip(plan.jobs, scenario.jobs, strict=True)
    )
    return Metrics(
        makespan_s=plan.makespan_s,
        mean_completion_s=plan.mean_completion_s,
        p95_completion_s=percentile(completions_s, 0.95),
        gpu_utilisation=_share(held_gpu_s, scenario.cluster.capacity * plan.makespan_s),
        contention_loss=losses.contention,
        spreading_loss=losses.spreading,
        lower_bound_s=plan.lower_bound_s,
        gap=plan.gap,
        max_slowdown=plan.max_slowdown,
    )


def deadlines_met(scenario: Scenario, finishes_s: Sequence[float]) -> tuple[int, int]:
    """Return how many jobs end by their deadline, and how many have one.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml", ["jobs.*.deadline_s=4000"])
    >>> plan = ringsched.plan(scenario, "longest-first")
    >>> deadlines_met(scenario, [job.finish_s for job in plan.jobs])
    (5, 11)
    """
    late = [
        finish_s > job.deadline_s * (1 + 1e-9)
        for job, finish_s in zip(scenario.jobs, finishes_s, strict=True)
        if job.deadline_s is not None
    ]
    return late.count(False), len(late)


def ended_by_limits(scenario: Scenario, runs_s: Sequence[tuple[float, float]]) -> tuple[str, ...]:
    """Return the names of jobs that run, from start to finish, as long as their time limits."""
    return tuple(
        job.name
        for job, (start_s, finish_s) in zip(scenario.jobs, runs_s, strict=True)
        if job.limit_s is not None and finish_s - start_s >= job.limit_s * (1 - 1e-9)
    )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values do not exceed; 0 if there are none.

    Examples
    --------
    >>> percentile([5.0, 1.0, 3.0], 0.5)
    3.0
    """
    return sorted(values)[max(0, math.ceil(share * len(values) - 1e-9) - 1)] if values else 0.0


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
