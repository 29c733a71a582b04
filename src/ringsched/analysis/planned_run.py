"""The simulated run of a plan, checked against the plan."""

from __future__ import annotations

import math

from ringsched import api
from ringsched.engine.problem import Problem, objective_value
from ringsched.engine.state import Run
from ringsched.errors import InputError
from ringsched.model import Plan, PlannedJob
from ringsched.model.objective import MAKESPAN, MEAN_COMPLETION

SHARE = 1e-9
ULPS = 8  # possible rounding error of a computed instant


def same_time(one_s: float, other_s: float, *, since_s: float, share: float = SHARE) -> bool:
    """Whether two instants are equal, up to a small share of the time since the first submit.

    A share of a Unix time itself would be seconds.

    Examples
    --------
    >>> same_time(1e9 + 60, 1e9 + 61, since_s=0.0), same_time(1e9 + 60, 1e9 + 61, since_s=1e9)
    (True, False)
    """
    rounded = ULPS * math.ulp(max(abs(one_s), abs(other_s)))
    return math.isclose(one_s - since_s, other_s - since_s, rel_tol=share, abs_tol=max(share, rounded))


def same_duration(one_s: float, other_s: float, *, last_s: float) -> bool:
    """Whether two durations are equal; their instants are rounded, up to `last_s`."""
    return math.isclose(one_s, other_s, rel_tol=SHARE, abs_tol=max(SHARE, ULPS * math.ulp(last_s)))


def planned_run(problem: Problem, plan: Plan) -> Run:
    """Return the run of a plan, or raise if it does not fit the scenario.

    Starts, finishes and the GPUs of running jobs are compared with the simulation; `verify` checks the rest.
    """
    if plan.scenario_sha256 != problem.scenario.sha256():
        raise InputError("the plan was made for another scenario, or the scenario was changed since")
    run = api.replayed(problem, plan)
    planned = {job.name: job for job in plan.jobs}
    for at, job in enumerate(problem.scenario.jobs):
        if not _runs_as_planned(problem, run, at, planned[job.name]):
            raise InputError(
                "does not run as the plan states; `ringsched verify` lists the violations",
                field=f"job {job.name!r}",
            )
    return run


def check_totals(problem: Problem, run: Run, plan: Plan) -> None:
    """Raise if the totals of a plan do not follow from its jobs."""
    last_s = problem.seconds_at(run.makespan)
    makespan_s, mean_s = (
        objective_value(problem, run.finishes, objective) for objective in (MAKESPAN, MEAN_COMPLETION)
    )
    agreed = {
        "makespan_s": same_duration(plan.makespan_s, makespan_s, last_s=last_s),
        "mean_completion_s": same_duration(plan.mean_completion_s, mean_s, last_s=last_s),
    }
    for field, agrees in agreed.items():
        if not agrees:
            raise InputError(
                "does not follow from the plan's jobs; `ringsched verify` lists the violations",
                field=field,
                place="plan",
            )


def _runs_as_planned(problem: Problem, run: Run, at: int, planned: PlannedJob) -> bool:
    since_s = problem.origin_s
    return (
        tuple(run.gpus[at]) == problem.numbered(planned.gpus)
        and problem.instant_at(planned.start_s) >= problem.release[at]
        # Compare seconds, because an instant within a slot differs from the beginning of the slot.
        and same_time(planned.start_s, problem.seconds_at(run.starts[at]), since_s=since_s)
        and same_time(planned.finish_s, problem.seconds_at(run.finishes[at]), since_s=since_s)
    )
