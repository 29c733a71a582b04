"""Lower bounds on the largest slowdown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ringsched.bounds.fastest import Fastest
from ringsched.bounds.ways import Ways
from ringsched.engine.problem import Problem
from ringsched.model import Bound
from ringsched.model.objective import SHORTEST_S

Floats = NDArray[np.float64]

EFFORT = 400_000  # instants x jobs that are looked at
LEAST_INSTANTS = 8
MOST_ROUNDS = 30  # until no window is better, for one instant
NEAR = 1e-9  # relative: no better window is looked for that gains no more
# Relative: work is a contradiction only if it is above what fits by more than rounding, ...
MARGIN = 2e-11
# ... which it is in a window that ends so much earlier than the worst one.
EARLIER = 2e-10


@dataclass(frozen=True, slots=True)
class _Jobs:
    """What there is of each job, in the clock's units from the origin on."""

    gpus: Floats
    submit: Floats
    release: Floats  # from when on its last d can run
    best_case: Floats  # what slowdowns count in
    duration: Floats  # the shortest
    is_running: NDArray[np.bool_]  # from the origin on

    def last_starts(self, begin: float, slowdown: float) -> Floats:
        """Return how long after an instant each job must have started if no slowdown may be larger."""
        latest = self.submit + slowdown * self.best_case - self.duration - begin
        starts: Floats = np.where(self.is_running, 0.0, latest)
        return starts

    def after(self, begin: float) -> Floats:
        """Return how much of the shortest run of each job must lie after an instant."""
        left: Floats = np.clip(self.release + self.duration - begin, 0.0, self.duration)
        return left


def earliest_ends(problem: Problem, ways: Ways) -> Bound:
    """No queued job starts before running jobs leave it enough GPUs."""
    clock, ends = problem.clock, ways.earliest_ends(problem.num_jobs)
    slowdowns = [
        (clock.seconds(end) - (job.submit_s - problem.origin_s)) / max(SHORTEST_S, clock.seconds(best))
        for end, job, best in zip(ends, problem.scenario.jobs, problem.best_case, strict=True)
    ]
    worst = slowdowns.index(max(slowdowns))
    return Bound(
        name="earliest-ends",
        value_s=slowdowns[worst],
        terms={"job": problem.scenario.jobs[worst].name, "end_s": clock.seconds(ends[worst])},
    )


def due_work(problem: Problem, fastest: Fastest, ways: Ways, *, least: float) -> Bound | None:
    """If no slowdown is above S, every job has a deadline, and its work must be done between release and it.

    Take the last d of its run, which end no earlier than its earliest end. Between the instants t and u lies
    at least the part that lies there if they end then, or, if less, if they end at the deadline; a running
    job runs from 0. N GPUs have no more than N (u - t) for all of them. The bound is the largest S at which
    that is a contradiction; None if it is not above `least`.
    """
    clock = problem.clock
    duration = np.array([ways.running.get(job, best) for job, best in enumerate(fastest.best)], dtype=float)
    jobs = _Jobs(
        gpus=np.array(problem.gpus, dtype=np.float64),
        submit=np.array([clock.units(job.submit_s - problem.origin_s) for job in problem.scenario.jobs]),
        release=np.array(ways.earliest_ends(problem.num_jobs), dtype=np.float64) - duration,
        best_case=np.maximum(np.array(problem.best_case, dtype=np.float64), clock.units(SHORTEST_S)),
        duration=duration,
        is_running=np.array([job in problem.running for job in range(problem.num_jobs)]),
    )
    slowdown, window = least, None
    for begin in _instants(np.append(jobs.release, 0.0)):
        for _ in range(MOST_ROUNDS):
            end = _worst_end(jobs, problem.num_gpus, begin, slowdown)
            if end is None:
                break
            end = begin + (end - begin) * (1 - EARLIER)
            reached = largest_contradiction(jobs, problem.num_gpus, begin, end)
            if reached <= slowdown * (1 + NEAR):
                break
            slowdown, window = reached, (begin, end)
    if window is None:
        return None
    from_s, until_s = (clock.seconds(instant) for instant in window)
    return Bound(
        name="due-work",
        value_s=slowdown,
        terms={"from_s": from_s, "until_s": until_s, "gpus": problem.num_gpus},
    )


def _instants(releases: Floats) -> list[float]:
    """Return instants at which windows begin; of many jobs only some."""
    distinct: Floats = np.unique(releases)
    most = max(LEAST_INSTANTS, EFFORT // len(releases))
    if len(distinct) > most:
        distinct = distinct[np.linspace(0, len(distinct) - 1, most).astype(np.int64)]
    return [float(instant) for instant in distinct]


def _worst_end(jobs: _Jobs, num_gpus: int, begin: float, slowdown: float) -> float | None:
    """Return the end of the window whose work exceeds what fits the most; None if all work fits.

    As a function of the end, the work has bends where jobs have to start, and where all their work counts.
    """
    work = jobs.after(begin)
    chosen = work > 0
    gpus, first = jobs.gpus[chosen], jobs.last_starts(begin, slowdown)[chosen]
    last = first + work[chosen]
    ends = last[last > 0]
    if not len(ends):
        return None
    total = _ramps(ends, first, gpus) - _ramps(ends, last, gpus)
    excess = total / (num_gpus * ends)
    worst = int(np.argmax(excess))
    return begin + float(ends[worst]) if excess[worst] > 1 + NEAR else None


def _ramps(at: Floats, begins: Floats, slopes: Floats) -> Floats:
    """Return the sum of slope x (instant - begin) over those that have begun, for every instant."""
    order = np.argsort(begins, kind="stable")
    slope = np.concatenate(([0.0], np.cumsum(slopes[order])))
    moment = np.concatenate(([0.0], np.cumsum(slopes[order] * begins[order])))
    number = np.searchsorted(begins[order], at, side="left")
    total: Floats = slope[number] * at - moment[number]
    return total


def largest_contradiction(jobs: _Jobs, num_gpus: int, begin: float, end: float) -> float:
    """Return the largest slowdown at which the work in a window is more than fits; 0 if there is none.

    The work falls as the slowdown grows: that of a job from all that must lie after the begin, at the
    slowdown `full`, to nothing, at the slowdown `none`.
    """
    work = np.minimum(jobs.after(begin), end - begin)
    taken = float(jobs.gpus[jobs.is_running] @ work[jobs.is_running])
    chosen = (work > 0) & ~jobs.is_running
    fits = num_gpus * (end - begin) * (1 + MARGIN) - taken
    if not chosen.any():
        return 0.0
    best_case, slack = jobs.best_case[chosen], (end + jobs.duration - jobs.submit)[chosen]
    none, full = slack / best_case, (slack - work[chosen]) / best_case
    slopes = (jobs.gpus[chosen] * best_case).repeat(2) * np.tile([1.0, -1.0], len(none))
    bends = np.column_stack((none, full)).ravel()
    order = np.argsort(-bends, kind="stable")
    bends, slope = bends[order], np.cumsum(slopes[order])
    total = np.concatenate(([0.0], np.cumsum(slope[:-1] * -np.diff(bends))))
    above = np.flatnonzero(total > fits)
    if not len(above):
        return 0.0
    before = int(above[0]) - 1
    return float(bends[before] - (fits - total[before]) / slope[before])
