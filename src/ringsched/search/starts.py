"""Where chains begin: queues that are good already, each in its own way."""

from __future__ import annotations

import math

import numpy as np

from ringsched.engine.arrays import Integers
from ringsched.engine.problem import Problem
from ringsched.model.objective import Objective
from ringsched.search.decode import FLEXIBLE, PATIENT

# Long jobs first, wide ones the sooner the larger the exponent of their GPUs.
_WIDTHS = (0.0, 0.1, 0.2, 0.35, 0.5, 1.0)
# For completions: short and narrow ones first; exponents of duration and GPUs.
_AREAS = ((1.0, 1.0), (1.0, 0.5), (1.0, 0.0), (0.5, 1.0), (1.0, 2.0))


def starting_orders(problem: Problem, objective: Objective, weight: list[float]) -> list[Integers]:
    """Return orders of the jobs to be placed."""
    if objective.is_last_finish:
        keys = [[-best * g**width for best, g in _sizes(problem)] for width in _WIDTHS]
    else:
        keys = [
            [
                best**length * g**width / w if w > 0 else math.inf  # a weight beside which others vanish
                for (best, g), w in zip(_sizes(problem), weight, strict=True)
            ]
            for length, width in _AREAS
        ]
    return [_sorted(problem, key) for key in keys]


def starting_habits(problem: Problem) -> list[Integers]:
    """Return habits for all jobs alike."""
    return [np.full(problem.num_jobs, habit, dtype=np.int64) for habit in (PATIENT, FLEXIBLE)]


def _sizes(problem: Problem) -> list[tuple[float, int]]:
    return list(zip(problem.best_case, problem.gpus, strict=True))


def _sorted(problem: Problem, key: list[float]) -> Integers:
    return np.array(sorted(problem.queued, key=lambda job: (key[job], job)), dtype=np.int64)
