"""The solutions that a search begins with: every rule that a solution can express, in many orders."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ringsched.engine.problem import Problem
from ringsched.engine.state import Integers
from ringsched.model.objective import Objective
from ringsched.search.modes import (
    ADAPTIVE,
    FIRST,
    FLEXIBLE,
    FREE,
    LEAST_LOAD,
    LEAST_WORK,
    PAIRED,
    PATIENT,
    QUIET,
    TIGHT,
    usable_modes,
)
from ringsched.search.schedule import Solution, new_solution

# Long jobs first, wide ones the sooner the larger the exponent of their GPUs.
_WIDTHS = (0.0, 0.1, 0.2, 0.35, 0.5, 1.0)
# For completions: short and narrow ones first; exponents of duration and GPUs.
_AREAS = ((1.0, 1.0), (1.0, 0.5), (1.0, 0.0), (0.5, 1.0), (1.0, 2.0))

# The rules of simple policies, whose queues block: these first ...
_USUAL = (TIGHT, FREE)
# ... then queues in which jobs overtake others, by the modes that are good most often ...
_OVERTAKING = (PATIENT, FLEXIBLE, FREE, QUIET)
# ... and then what is rarely the best.
_OTHERS = (FLEXIBLE, ADAPTIVE, LEAST_WORK, LEAST_LOAD, FIRST)
_OTHERS_OVERTAKING = (PAIRED, TIGHT, ADAPTIVE)


class Start(NamedTuple):
    """An order, and one mode for all jobs."""

    order: Integers
    mode: int
    blocks: bool

    def solution(self, num_jobs: int) -> Solution:
        """Return it as a solution."""
        mode = np.full(num_jobs, self.mode, dtype=np.int64)
        return new_solution(num_jobs, self.order, mode, np.full(num_jobs, int(self.blocks), dtype=np.int64))


def starts(
    problem: Problem, objective: Objective, priorities: Mapping[str, Sequence[float]]
) -> Iterator[Start]:
    """Yield starts, those that are often good first; `priorities` are the queue orders of policies."""
    named = [_sorted(problem, priority) for priority in priorities.values()]
    own = [_sorted(problem, key) for key in _keys(problem, objective)]
    usable = set(usable_modes(problem))
    for orders, modes, blocks in (
        (named, _USUAL, True),
        (own, _OVERTAKING, False),
        (named, _OTHERS, True),
        (named, _OVERTAKING, False),
        (own, _OTHERS_OVERTAKING, False),
        (own, _USUAL, True),
    ):
        for mode in modes:
            if mode in usable:
                for order in orders:
                    yield Start(order, mode, blocks)


def _keys(problem: Problem, objective: Objective) -> list[list[float]]:
    sizes = list(zip(problem.best_case, problem.gpus, strict=True))
    if objective.is_last_finish:
        return [[-best * gpus**width for best, gpus in sizes] for width in _WIDTHS]
    weights = objective.weights(problem.scenario.jobs)
    return [
        [
            best**length * gpus**width / weight if weight > 0 else math.inf  # beside others it vanishes
            for (best, gpus), weight in zip(sizes, weights, strict=True)
        ]
        for length, width in _AREAS
    ]


def _sorted(problem: Problem, key: Sequence[float]) -> Integers:
    return np.array(sorted(problem.queued, key=lambda job: (key[job], job)), dtype=np.int64)
