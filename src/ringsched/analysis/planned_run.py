"""What a plan really does, for those who explain or vary it."""

from __future__ import annotations

import math

from ringsched import api
from ringsched.engine.problem import Problem
from ringsched.engine.run import Run
from ringsched.errors import InputError
from ringsched.model import Plan, PlannedJob

SAME = 1e-9  # relative, for instants in continuous time; slots are exact


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


def _does_what_it_says(problem: Problem, run: Run, at: int, planned: PlannedJob) -> bool:
    clock = problem.clock
    stated = (clock.instant(planned.start_s), clock.instant(planned.finish_s))
    return (
        tuple(run.gpus[at]) == problem.numbered(planned.gpus)
        and stated[0] >= problem.release[at]
        and all(
            math.isclose(one, other, rel_tol=SAME, abs_tol=SAME)
            for one, other in zip(stated, (run.starts[at], run.finishes[at]), strict=True)
        )
    )
