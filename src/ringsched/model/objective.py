"""What a plan is judged by."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ringsched.model.job import Job

MAKESPAN, MEAN_COMPLETION, WEIGHTED_COMPLETION = "makespan", "mean-completion", "weighted-completion"
OBJECTIVES = (MAKESPAN, MEAN_COMPLETION, WEIGHTED_COMPLETION)


def mean_completion_s(
    jobs: Sequence[Job], finishes_s: Sequence[float], *, weighted: bool, since_s: float = 0.0
) -> float:
    """Return the mean of finish - submit, each job counted by its weight if `weighted`; 0 without jobs.

    Finishes are counted from `since_s`.

    Examples
    --------
    >>> a = Job(name="a", gpus=1, iterations=1, gradient_mb=0, minibatch=1, forward_ms=0, backward_ms=1)
    >>> jobs = [a, a.replace(name="b", weight=3)]
    >>> mean_completion_s(jobs, [2.0, 4.0], weighted=True)
    3.5
    """
    weights = relative_weights(jobs) if weighted else [1.0] * len(jobs)
    completions = [
        weight * (finish - (job.submit_s - since_s))
        for weight, finish, job in zip(weights, finishes_s, jobs, strict=True)
    ]
    return math.fsum(completions) / math.fsum(weights) if weights else 0.0


def relative_weights(jobs: Sequence[Job]) -> list[float]:
    """Return the weights, the largest brought near 1 by a power of 2, so that no sum of them overflows."""
    _, exponent = math.frexp(max((job.weight for job in jobs), default=1.0))
    return [math.ldexp(job.weight, -exponent) for job in jobs]
