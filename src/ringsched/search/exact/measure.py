"""The objective of a proof, in the clock's units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ringsched.engine.problem import Problem
from ringsched.model.objective import SHORTEST_S, Objective


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A sum of finishes with weights or, without weights, the largest pace x (finish - since).

    With paces of 1 since time 0 that is the last finish, and with 1 / best case since the submit the largest
    slowdown.

    Parameters
    ----------
    weights, since, paces
        Of each job; there are no weights if the largest counts.
    is_last_finish
        Whether the last finish counts.
    """

    weights: Sequence[float]
    since: Sequence[float]
    paces: Sequence[float]
    is_last_finish: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole number if finishes are."""
        return self.is_last_finish or (len(self.weights) > 0 and all(weight == 1 for weight in self.weights))

    def value(self, finishes: Sequence[float]) -> float:
        """Return what finishes are worth."""
        if self.weights:
            return math.fsum(weight * end for weight, end in zip(self.weights, finishes, strict=True))
        return max(
            (pace * (end - since) for pace, end, since in zip(self.paces, finishes, self.since, strict=True)),
            default=0,
        )


def measure_of(problem: Problem, objective: Objective) -> Measure:
    """Return the measure of an objective."""
    jobs, units = problem.scenario.jobs, problem.clock.units
    if objective.is_ratio:
        return Measure(
            weights=(),
            since=[units(job.submit_s - problem.origin_s) for job in jobs],
            paces=[1 / max(best, units(SHORTEST_S)) for best in problem.best_case],
        )
    return Measure(
        weights=() if objective.is_last_finish else objective.weights(jobs),
        since=[0.0] * len(jobs),
        paces=[1.0] * len(jobs),
        is_last_finish=objective.is_last_finish,
    )


def in_seconds(problem: Problem, objective: Objective, value: float) -> float:
    """Return a value of the measure as plans state it: in seconds, or as a ratio."""
    if objective.is_ratio:
        return value
    if objective.is_last_finish:
        return problem.clock.seconds(value)
    weights = objective.weights(problem.scenario.jobs)
    return (problem.clock.seconds(value) - _submits_s(problem, weights)) / math.fsum(weights)


def from_seconds(problem: Problem, objective: Objective, value_s: float) -> float:
    """Return what a plan states as a value of the measure."""
    if objective.is_ratio:
        return value_s
    if objective.is_last_finish:
        return problem.clock.units(value_s)
    weights = objective.weights(problem.scenario.jobs)
    return problem.clock.units(value_s * math.fsum(weights) + _submits_s(problem, weights))


def _submits_s(problem: Problem, weights: Sequence[float]) -> float:
    jobs, origin_s = problem.scenario.jobs, problem.origin_s
    return math.fsum(weight * (job.submit_s - origin_s) for weight, job in zip(weights, jobs, strict=True))
