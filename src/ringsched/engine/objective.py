"""The value of an objective, for whoever looks for a better one."""

from __future__ import annotations

from collections.abc import Sequence

from ringsched.engine.problem import Problem
from ringsched.model.objective import MAKESPAN, WEIGHTED_COMPLETION, mean_completion_s


def objective_value(problem: Problem, finishes: Sequence[float], objective: str) -> float:
    """Return in seconds what finishes in the clock's units are worth; less is better.

    Completions count from a job's submit time, not from the slot boundary at which it enters the queue.
    """
    finishes_s = [problem.clock.seconds(finish) for finish in finishes]
    if objective == MAKESPAN:
        return max(finishes_s, default=0.0)
    return mean_completion_s(problem.scenario.jobs, finishes_s, weighted=objective == WEIGHTED_COMPLETION)


def mean_of_ends(problem: Problem, ends: Sequence[float], objective: str) -> float:
    """Return in seconds the mean of completions, the ends counted from the problem's origin.

    Submits may be Unix seconds: of ends that are no more than computed, more digits are known like this.
    """
    seconds = problem.clock.seconds
    return mean_completion_s(
        problem.scenario.jobs,
        [seconds(end) for end in ends],
        weighted=objective == WEIGHTED_COMPLETION,
        since_s=seconds(problem.origin),
    )
