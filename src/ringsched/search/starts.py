"""The solutions that a search begins with: every rule that a solution can express, in many orders."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ringsched.engine.problem import Problem
from ringsched.engine.state import Integers
from ringsched.model.objective import Objective
from ringsched.search.modes import (
    ADAPTIVE,
    FILLING,
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
from ringsched.search.solution import Solution, Task, new_solution

# Long jobs first, wide ones the sooner the larger the exponent of their GPUs.
_WIDTHS = (0.0, 0.1, 0.2, 0.35, 0.5, 1.0)
# For completions: short and narrow ones first; exponents of duration and GPUs.
_AREAS = ((1.0, 1.0), (1.0, 0.5), (1.0, 0.0), (0.5, 1.0), (1.0, 1.5))
# For slowdowns: how much larger than the bound they may be.
_STRETCHES = (1.2, 1.0, 1.5, 2.0, 4.0)


class Manner(NamedTuple):
    """How jobs are placed that fit into one server, and how those that do not; and who blocks."""

    small: int
    large: int
    small_block: bool = False
    large_block: bool = False

    @property
    def is_simple(self) -> bool:
        """Whether it is one rule for all jobs, and the head of the queue blocks."""
        return self.small == self.large and self.small_block and self.large_block


def _all(mode: int, *, block: bool) -> Manner:
    return Manner(mode, mode, block, block)


# Queues in which jobs overtake others, by the modes that are good most often: these first ...
OVERTAKING = (
    Manner(PATIENT, QUIET),
    Manner(PATIENT, FLEXIBLE),
    Manner(PATIENT, QUIET, large_block=True),
    Manner(PATIENT, FREE),
    Manner(PATIENT, FILLING),
    _all(QUIET, block=False),
    _all(FREE, block=False),
)
# ... then the rules of simple policies, whose queues block ...
_SIMPLE = tuple(
    _all(mode, block=True) for mode in (TIGHT, FREE, FLEXIBLE, ADAPTIVE, LEAST_WORK, LEAST_LOAD, FIRST)
)
# ... and then what is rarely the best.
_OTHERS = (
    Manner(PATIENT, FLEXIBLE, small_block=True, large_block=True),
    Manner(PATIENT, QUIET, small_block=True, large_block=True),
    Manner(PATIENT, FREE, large_block=True),
    Manner(PATIENT, PAIRED),
    Manner(QUIET, PAIRED),
    *(_all(mode, block=False) for mode in (FLEXIBLE, PAIRED, TIGHT, ADAPTIVE)),
)


class Start(NamedTuple):
    """An order and a manner."""

    order: Integers
    manner: Manner

    def solution(self, task: Task, gpus: Integers) -> Solution:
        """Return it as a solution."""
        is_small = gpus <= task.largest
        mode = np.where(is_small, self.manner.small, self.manner.large)
        blocks = np.where(is_small, self.manner.small_block, self.manner.large_block)
        return new_solution(len(gpus), self.order, mode.astype(np.int64), blocks.astype(np.int64))


def starts(
    problem: Problem, objective: Objective, priorities: Mapping[str, Sequence[float]], target: float
) -> Iterator[Start]:
    """Yield starts, those that are often good first; `priorities` are the queue orders of policies.

    `target` is a lower bound on the objective.
    """
    named = _orders(problem, priorities.values())
    own = _orders(problem, keys_of(problem, objective, target))
    usable = set(usable_modes(problem))
    for orders, manners in (
        (own[:1], OVERTAKING[:4]),
        (named, _SIMPLE[:2]),
        (own[1:], OVERTAKING),
        (own[:1], OVERTAKING[4:]),
        (named, _SIMPLE[2:]),
        (own, _OTHERS),
        (named, OVERTAKING),
    ):
        for manner in manners:
            if {manner.small, manner.large} <= usable:
                for order in orders:
                    yield Start(order, manner)


def keys_of(problem: Problem, objective: Objective, target: float) -> list[list[float]]:
    """Return sort keys of all jobs that suit the objective, the one that is good most often first.

    `target` is a lower bound on the objective.
    """
    sizes = list(zip(problem.best_case, problem.gpus, strict=True))
    if objective.is_last_finish:
        return [[-best * gpus**width for best, gpus in sizes] for width in _WIDTHS]
    if objective.is_ratio:  # by the deadline that a slowdown would mean
        return [
            [
                problem.clock.units(job.submit_s) + stretch * target * best
                for job, best in zip(problem.scenario.jobs, problem.best_case, strict=True)
            ]
            for stretch in _STRETCHES
        ]
    weights = objective.weights(problem.scenario.jobs)
    return [
        [
            best**length * gpus**width / weight if weight > 0 else math.inf  # beside others it vanishes
            for (best, gpus), weight in zip(sizes, weights, strict=True)
        ]
        for length, width in _AREAS
    ]


def _orders(problem: Problem, keys: Iterable[Sequence[float]]) -> list[Integers]:
    """Return the orders by these keys, each once."""
    orders = (tuple(sorted(problem.queued, key=lambda job: (key[job], job))) for key in keys)
    return [np.array(order, dtype=np.int64) for order in dict.fromkeys(orders)]
