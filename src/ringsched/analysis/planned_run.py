"""What a plan really does, for those who explain or vary it."""

from __future__ import annotations

import math

from ringsched import api
from ringsched.engine.problem import Problem, objective_value
from ringsched.engine.state import Run
from ringsched.errors import InputError
from ringsched.model import Plan, PlannedJob
from ringsched.model.objective import MAKESPAN, MEAN_COMPLETION

SHARE = 1e-9
ULPS = 8  # by which an instant may be off that was computed in several steps


def same_time(one_s: float, other_s: float, *, since_s: float, share: float = SHARE) -> bool:
    """Whether two instants are one, but for so small a share of the time since the first submit, or a start.

    At Unix times a share of the instants themselves would be seconds.

    Examples
    --------
    >>> same_time(1e9 + 60, 1e9 + 61, since_s=0.0), same_time(1e9 + 60, 1e9 + 61, since_s=1e9)
    (True, False)
    """
    rounded = ULPS * math.ulp(max(abs(one_s), abs(other_s)))
    return math.isclose(one_s - since_s, other_s - since_s, rel_tol=share, abs_tol=max(share, rounded))


def same_duration(one_s: float, other_s: float, *, last_s: float) -> bool:
    """Whether two durations are one; the instants behind them are rounded, up to `last_s`."""
    return math.isclose(one_s, other_s, rel_tol=SHARE, abs_tol=max(SHARE, ULPS * math.ulp(last_s)))


def planned_run(problem: Problem, plan: Plan) -> Run:
    """Return the run of a plan, or say in one sentence why it is none of this scenario's.

    Starts, finishes and the GPUs of running jobs are compared with what would happen; `verify` says the rest.
    """
    if plan.scenario_sha256 != problem.scenario.sha256():
        raise InputError("the plan was made for another scenario, or the scenario was changed since")
    run = api.replayed(problem, plan)
    planned = {job.name: job for job in plan.jobs}
    for at, job in enumerate(problem.scenario.jobs):
        if not _does_what_it_says(problem, run, at, planned[job.name]):
            raise InputError(
                "does not do what the plan says; `ringsched verify` says why", field=f"job {job.name!r}"
            )
    return run


def check_totals(problem: Problem, run: Run, plan: Plan) -> None:
    """Raise if the totals of a plan, which others are compared with, are not those of its jobs."""
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
                "is not that of the plan's jobs; `ringsched verify` says more", field=field, place="plan"
            )


def _does_what_it_says(problem: Problem, run: Run, at: int, planned: PlannedJob) -> bool:
    since_s = problem.origin_s
    return (
        tuple(run.gpus[at]) == problem.numbered(planned.gpus)
        and problem.instant_at(planned.start_s) >= problem.release[at]
        # In seconds: an instant within a slot is not that at which the slot begins.
        and same_time(planned.start_s, problem.seconds_at(run.starts[at]), since_s=since_s)
        and same_time(planned.finish_s, problem.seconds_at(run.finishes[at]), since_s=since_s)
    )
