"""From what happened to a plan, with its bound and gap."""

from __future__ import annotations

from collections.abc import Mapping

from ringsched.bounds.lower_bound import lower_bounds
from ringsched.engine.objective import objective_value
from ringsched.engine.problem import Problem
from ringsched.engine.run import Run, outcome_of
from ringsched.model import Certificate, Plan, PlannedJob, Scenario
from ringsched.model.objective import MAKESPAN, Objective


def plan_of(
    problem: Problem,
    run: Run,
    *,
    policy: str,
    order: str | None = None,
    params: Mapping[str, float | int | str] | None = None,
    slack: float | None = None,
    seed: int = 0,
    objective: Objective = MAKESPAN,
    certificate: Certificate | None = None,
) -> Plan:
    """Return the plan of a run; bound and gap are those of the objective."""
    scenario, outcome = problem.scenario, outcome_of(problem, run)
    bounds = lower_bounds(problem, objective)
    bound_s = bounds[0].value_s if bounds else 0.0
    value_s = objective_value(problem, run.finishes, objective)
    return Plan(
        scenario_sha256=scenario.sha256(),
        policy=policy,
        order=order,
        params=params or {},
        slack=slack,
        seed=seed,
        objective=objective.name,
        makespan_s=outcome.makespan_s,
        mean_completion_s=outcome.mean_completion_s,
        weighted_completion_s=outcome.weighted_completion_s if _shows_weights(scenario, objective) else None,
        lower_bound_s=bound_s,
        # In continuous time rounding may leave a value a hair below its bound.
        gap=max(1.0, value_s / bound_s) if bound_s else 1.0,
        bounds=bounds,
        certificate=certificate,
        jobs=tuple(
            PlannedJob(
                name=job.name,
                start_s=outcome.starts_s[at],
                finish_s=outcome.finishes_s[at],
                gpus=problem.placement(run.gpus[at]),
                ring=problem.ring(run.gpus[at]),
            )
            for at, job in enumerate(scenario.jobs)
        ),
    )


def _shows_weights(scenario: Scenario, objective: Objective) -> bool:
    """Whether the weighted mean says something that the plain one does not."""
    weights = {job.weight for job in scenario.jobs}
    return objective.weighted or len(weights) > 1
