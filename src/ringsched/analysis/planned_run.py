"""What a plan really does, for those who explain or vary it."""

from __future__ import annotations

import math

from ringsched import api
from ringsched.engine.objective import objective_value
from ringsched.engine.problem import Problem
from ringsched.engine.run import Run
from ringsched.errors import InputError
from ringsched.model import Plan, PlannedJob
from ringsched.model.objective import MAKESPAN, MEAN_COMPLETION

SAME = 1e-9  # relative, for instants and their means


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
    totals = {"makespan_s": (plan.makespan_s, MAKESPAN)}
    totals["mean_completion_s"] = (plan.mean_completion_s, MEAN_COMPLETION)
    for field, (stated, objective) in totals.items():
        if not _same(stated, objective_value(problem, run.finishes, objective)):
            raise InputError(
                "is not that of the plan's jobs; `ringsched verify` says more", field=field, place="plan"
            )


def _does_what_it_says(problem: Problem, run: Run, at: int, planned: PlannedJob) -> bool:
    clock = problem.clock
    return (
        tuple(run.gpus[at]) == problem.numbered(planned.gpus)
        and clock.instant(planned.start_s) >= problem.release[at]
        # In seconds: an instant within a slot is not that at which the slot begins.
        and _same(planned.start_s, clock.seconds(run.starts[at]))
        and _same(planned.finish_s, clock.seconds(run.finishes[at]))
    )


def _same(stated: float, actual: float) -> bool:
    return math.isclose(stated, actual, rel_tol=SAME, abs_tol=SAME)
