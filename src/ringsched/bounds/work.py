"""The work of all jobs as arrays, and how much of it is left at any instant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ringsched.bounds.fastest import Fastest, fastest_of
from ringsched.engine.problem import Problem
from ringsched.model.checks import settle
from ringsched.model.derived import derived_once

# Whole slots as int64 where all sums of them fit, else as Python's integers; seconds as floats.
Array = NDArray[Any]

MOST_CHOICES = 64  # of a threshold over the sizes of jobs: enough, and the work stays linear


class _Sorted(NamedTuple):
    """An instant of each job, in order, and how many of them are no later than each of other instants."""

    order: Array
    points: Array
    before: Array

    @classmethod
    def of(cls, points: Array, instants: Array) -> Self:
        order = np.argsort(points, kind="stable")
        return cls(order, points[order], np.searchsorted(points[order], instants, side="right"))

    def beyond(self, amount: Array, instants: Array) -> Array:
        """Return, for each instant, the sum of amount x (point - instant) over the points after it."""
        weights = amount[self.order]
        below = np.concatenate((weights[:1] * 0, np.cumsum(weights)))
        moments = np.concatenate((self.points[:1] * 0, np.cumsum(self.points * weights)))
        beyond: Array = (moments[-1] - moments[self.before]) - instants * (below[-1] - below[self.before])
        return beyond


@dataclass(frozen=True, slots=True)
class Work:
    """Sizes, earliest starts and shortest durations of all jobs, in the clock's units."""

    problem: Problem
    fastest: Fastest
    gpus: Array
    release: Array
    duration: Array
    # Releases and earliest ends, both sorted and beside all instants at which one of them is.
    _instants: Array = field(init=False, repr=False)
    _releases: _Sorted = field(init=False, repr=False)
    _ends: _Sorted = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ends = self.release + self.duration
        instants = np.unique(np.concatenate((self.release, ends)))
        settle(
            self,
            _instants=instants,
            _releases=_Sorted.of(self.release, instants),
            _ends=_Sorted.of(ends, instants),
        )

    def best_start(self, amount: Array, capacity: int) -> tuple[Any, Any, Any]:
        """Return when, counted from which instant and with how much left, work at a limited pace ends.

        `amount` is what each job takes of `capacity` while it runs. Of a job released at r that takes d, at
        least min(d, r + d - t) lies after t, whatever the plan: so all ends at t + what is left / capacity or
        later, and t is chosen to make the most of it. The worst t is a release or an earliest end.
        """
        instants = self._instants
        left = self._ends.beyond(amount, instants) - self._releases.beyond(amount, instants)
        reached = instants + self.quotient(left, capacity)
        worst = int(np.argmax(reached))
        end, instant, rest = (plain(each[worst]) for each in (reached, instants, left))
        return end, instant, rest

    def quotient(self, amount: Any, capacity: float) -> Any:
        """Return how long an amount takes at a pace: whole slots, rounded up, when slotted."""
        return -(-amount // capacity) if self.problem.clock.slotted else amount / capacity


@derived_once
def work_of(problem: Problem) -> Work:
    """Return the work of a problem's jobs."""
    fastest = fastest_of(problem)
    kind: Any = np.float64
    if problem.clock.slotted:
        last = max(map(sum, zip(fastest.start, fastest.best, strict=True)))
        kind = np.int64 if last * max(sum(problem.gpus), problem.num_gpus) < 2**62 else object
    return Work(
        problem=problem,
        fastest=fastest,
        gpus=np.array(problem.gpus, dtype=object if kind is object else np.int64),
        release=np.array(fastest.start, dtype=kind),
        duration=np.array(fastest.best, dtype=kind),
    )


def worst_releases(work: Work) -> list[Any]:
    """Return two releases from which on all is worth counting: the first, and the core area's worst."""
    order = np.argsort(-work.release, kind="stable")
    areas = np.cumsum((work.gpus * work.duration)[order])
    ends = work.release[order] + areas / work.problem.num_gpus
    return sorted({plain(work.release.min()), plain(work.release[order][int(np.argmax(ends))])})


def plain(value: Any) -> Any:
    """Return a number out of an array as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def choices(values: Array) -> list[int]:
    """Return the different values, in order; some of them, evenly, if there are very many."""
    distinct = sorted(set(values.tolist()))
    step = -(-len(distinct) // MOST_CHOICES)
    return distinct[:: max(1, step)]
