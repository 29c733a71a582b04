"""The value of an objective, for whoever looks for a better one."""

from __future__ import annotations

from collections.abc import Sequence

from ringsched.engine.problem import Problem
from ringsched.model.objective import MAKESPAN, WEIGHTED_COMPLETION, mean_completion_s


def objective_value(problem: Problem, finishes: Sequence[float], objective: str) -> float:
    """Return in seconds what finishes, counted from the origin, are worth; less is better.

    Completions count from a job's submit time, not from the slot boundary at which it enters the queue.
    """
    finishes_s = [problem.clock.seconds(finish) for finish in finishes]
    if objective == MAKESPAN:
        return max(finishes_s, default=0.0)
    return mean_completion_s(
        problem.scenario.jobs,
        finishes_s,
        weighted=objective == WEIGHTED_COMPLETION,
        since_s=problem.origin_s,
    )
