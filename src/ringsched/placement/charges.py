"""What a job charges to the GPUs it is given: whole numbers, so that sums and comparisons are exact."""

from __future__ import annotations

from ringsched.engine.problem import Problem
from ringsched.errors import InputError

CHARGE_UNITS = 10**6  # millionths of a slot, or microseconds
MAX_LOAD = 2**62  # what int64 holds with room to spare


def estimate(problem: Problem, job: int) -> float:
    """Return ρ̂_j in the clock's units: as stated, or the best case; of a running job what remains."""
    stated = problem.scenario.jobs[job].estimate_s
    if stated is None:
        return problem.best_case[job]
    return problem.clock.units(stated) * (problem.iterations[job] / problem.scenario.jobs[job].iterations)


def charges(problem: Problem) -> list[int]:
    """Return ρ̂_j / u for each job, rounded half to even.

    u = max(1, max of estimate over best case), the same for every policy (section 5, part 3).
    """
    estimates = [estimate(problem, job) for job in range(problem.num_jobs)]
    u = problem.overestimate(estimates)
    result = [round(CHARGE_UNITS * value / u) for value in estimates]
    if sum(charge * gpus for charge, gpus in zip(result, problem.gpus, strict=True)) > MAX_LOAD:
        raise InputError(
            "take too long in all for loads to be counted exactly", field="the jobs", place="jobs"
        )
    return result
