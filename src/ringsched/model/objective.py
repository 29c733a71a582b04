"""What a plan is judged by: one object for each objective, and the table of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ringsched.formatting import duration, figure
from ringsched.model.checks import choice
from ringsched.model.job import Job

# What a schedule costs, as the kernels of a search count it.
LAST_FINISH = 0
TARDINESS = 1  # GPU-time of all jobs beyond a target: a slope that leads to an early last finish
COMPLETION = 2  # sum of weight * finish
SLOWDOWN = 3  # the largest slowdown: completion over best case
EXCESS = 4  # slowdowns beyond a target, summed: a slope that leads to a small largest one

SHORTEST_S = 1e-9  # a shorter best case counts as this one in a slowdown
LARGEST = 1e300  # of a slowdown


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """Weights, value and cost; bounds/lower_bound.py has the bounds. Less is better.

    Examples
    --------
    >>> a = Job(name="a", gpus=1, iterations=1, gradient_mb=0, minibatch=1, forward_ms=0, backward_ms=1)
    >>> jobs = [a, a.replace(name="b", weight=3)]
    >>> [objective.value(jobs, [2.0, 4.0], best_cases_s=[2.0, 1.0], origin_s=0.0) for objective in ALL]
    [4.0, 3.0, 3.5, 4.0]
    >>> [objective.text(90.0) for objective in (MAKESPAN, MAX_SLOWDOWN)]
    ['1 min 30 s', '90']
    """

    name: str  # in files and on the command line
    field: str  # of a plan: where its value is stated
    weighted: bool = False  # whether jobs count by their weights
    cost: int = COMPLETION  # what a search makes small ...
    slopes: tuple[int, ...] = (COMPLETION,)  # ... and the costs whose descent leads there

    @property
    def words(self) -> str:
        """Its name in a sentence."""
        return self.name.replace("-", " ")

    @property
    def is_default(self) -> bool:
        """Whether it is meant where none is named."""
        return self.name == OBJECTIVES[0]

    @property
    def is_last_finish(self) -> bool:
        """Whether only the last finish counts, so that its bounds are instants."""
        return self.cost == LAST_FINISH

    @property
    def is_ratio(self) -> bool:
        """Whether its values and bounds are ratios, not seconds."""
        return self.cost == SLOWDOWN

    def text(self, value: float) -> str:
        """Return a value or a bound for people."""
        return figure(value) if self.is_ratio else duration(value)

    def weight(self, job: Job) -> float:
        """Return what a job counts beside others."""
        return job.weight if self.weighted else 1.0

    def weights(self, jobs: Sequence[Job]) -> list[float]:
        """Return all weights, the largest brought near 1 by a power of 2, so that no sum overflows."""
        if not self.weighted:
            return [1.0] * len(jobs)
        _, exponent = math.frexp(max((job.weight for job in jobs), default=1.0))
        return [math.ldexp(job.weight, -exponent) for job in jobs]

    def value(
        self,
        jobs: Sequence[Job],
        finishes_s: Sequence[float],
        *,
        best_cases_s: Sequence[float],
        origin_s: float,
    ) -> float:
        """Return the value of finishes that count from the origin; 0 without jobs.

        Submits are absolute. A completion counts from the submit, not from the slot of the release.
        """
        if self.is_last_finish:
            return max(finishes_s, default=0.0)
        if self.is_ratio:
            slowdowns = (
                min(LARGEST, (finish - (job.submit_s - origin_s)) / max(SHORTEST_S, best))
                for finish, job, best in zip(finishes_s, jobs, best_cases_s, strict=True)
            )
            return max(slowdowns, default=0.0)
        weights = self.weights(jobs)
        completions = [
            weight * (finish - (job.submit_s - origin_s))
            for weight, finish, job in zip(weights, finishes_s, jobs, strict=True)
        ]
        return math.fsum(completions) / math.fsum(weights) if weights else 0.0


MAKESPAN = Objective(name="makespan", field="makespan_s", cost=LAST_FINISH, slopes=(LAST_FINISH, TARDINESS))
MEAN_COMPLETION = Objective(name="mean-completion", field="mean_completion_s")
WEIGHTED_COMPLETION = Objective(name="weighted-completion", field="weighted_completion_s", weighted=True)
MAX_SLOWDOWN = Objective(name="max-slowdown", field="max_slowdown", cost=SLOWDOWN, slopes=(SLOWDOWN, EXCESS))

ALL = (MAKESPAN, MEAN_COMPLETION, WEIGHTED_COMPLETION, MAX_SLOWDOWN)
OBJECTIVES = tuple(objective.name for objective in ALL)  # the default first


def objective_named(name: object) -> Objective:
    """Return the objective of that name, or say which there are."""
    return ALL[OBJECTIVES.index(choice(name, "objective", OBJECTIVES))]
