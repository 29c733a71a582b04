"""The four parts of a job's duration, and the attribution of its contention (docs/concepts/blame.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ringsched.contention.fabric import Extremes
from ringsched.contention.iteration_time import Work, hidden_in
from ringsched.contention.network import Shape
from ringsched.engine.problem import Problem
from ringsched.engine.state import Run

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
FEW = 64  # intervals, for which Python is quicker than arrays


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """The jobs on one uplink in the order of their starts, and how many there are from each instant on.

    Instants are in the clock's units.
    """

    jobs: Integers
    starts: Floats
    finishes: Floats
    instants: Floats  # at which a job enters or leaves, ascending
    num_jobs: Integers  # from each of them until the next; finally 0

    def num_jobs_from(self, instants: Floats) -> Integers:
        """Return the number of jobs on the link from each of `instants` on; none is before the first."""
        at: Integers = np.searchsorted(self.instants, instants, side="right") - 1
        return self.num_jobs[at]

    def changes_within(self, start: float, finish: float) -> Floats:
        """Return the instants of change from `start` up to `finish`."""
        first, last = np.searchsorted(self.instants, (start, finish))
        return self.instants[first:last]

    def present_within(self, start: float, finish: float) -> Integers:
        """Return the positions of the jobs on the link at some time between `start` and `finish`."""
        begun = int(np.searchsorted(self.starts, finish))
        return np.flatnonzero(self.finishes[:begun] > start)


def timelines_of(run: Run, shapes: Sequence[Shape], num_nodes: int) -> tuple[Timeline, ...]:
    """Return the timeline of every node's uplink."""
    on_link: list[list[int]] = [[] for _ in range(num_nodes)]
    for job in sorted(range(len(shapes)), key=lambda job: (run.starts[job], job)):
        for link in shapes[job].links:
            on_link[link].append(job)
    starts, finishes = np.array(run.starts, dtype=np.float64), np.array(run.finishes, dtype=np.float64)
    return tuple(_timeline(np.array(jobs, dtype=np.int64), starts, finishes) for jobs in on_link)


def _timeline(jobs: Integers, all_starts: Floats, all_finishes: Floats) -> Timeline:
    starts, finishes = all_starts[jobs], all_finishes[jobs]
    instants = np.unique(np.concatenate([starts, finishes]))
    come = np.searchsorted(starts, instants, side="right")
    gone = np.searchsorted(np.sort(finishes), instants, side="right")
    return Timeline(jobs, starts, finishes, instants, come - gone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of a duration, in seconds; `math.fsum` of the four is exactly the duration."""

    best_case_s: float
    spreading_s: float
    contention_s: float
    rounding_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """A job's run, divided whenever the jobs on its links change; on fair links, the jobs connected to it."""

    instants: Floats  # the ends of the intervals, from start to finish: one more than intervals
    bottleneck: Integers  # position among the job's links of the slowest one
    num_jobs: Integers  # on that link, of those that slow other jobs
    lost_s: Floats  # to contention
    hidden_s: Floats  # of communication, behind the backward pass


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """One job's contention by link and culprit."""

    links: Integers
    culprits: Integers
    seconds: Floats

    @staticmethod
    def none() -> Shares:
        """Return the shares of a job without contention."""
        return Shares(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))


class Split:
    """Splits the durations of a run's jobs."""

    def __init__(self, problem: Problem, run: Run) -> None:
        self.problem, self.run = problem, run
        self.shapes: tuple[Shape, ...] = tuple(problem.shape(gpus) for gpus in run.gpus)
        fabric = problem.fabric
        self._alone_taus = [problem.alone_tau(job, shape) for job, shape in enumerate(self.shapes)]
        self._extremes = [Extremes(fabric, 0, may_use) for may_use in problem.eligibility.classes]
        self._best_taus: dict[tuple[int, int, int, Work], float] = {}  # jobs are of few kinds
        rings = [fabric.ring(work, shape) for work, shape in zip(problem.works, self.shapes, strict=True)]
        self._paces = fabric.paces(rings, run.starts, run.finishes)
        self._firsts = self._paces.first.tolist()
        self._rates: dict[float, float] = {}  # few iteration times occur

    @cached_property
    def timelines(self) -> tuple[Timeline, ...]:
        """The timeline of every node's uplink."""
        return timelines_of(self.run, self.shapes, len(self.problem.network.uplink_gbps))

    @cached_property
    def factors(self) -> Floats:
        """The factors by number of jobs on a link; that of 0 has no meaning."""
        most_jobs = max((int(line.num_jobs.max(initial=0)) for line in self.timelines), default=0)
        factor = self.problem.fabric.model.factor
        return np.array([1.0, *(factor(number) for number in range(1, most_jobs + 1))])

    @cached_property
    def _slows(self) -> NDArray[np.bool_]:
        always = self.problem.fabric.model.silent_jobs_contend
        return np.array([always or work.exchange_gbit > 0 for work in self.problem.works], dtype=np.bool_)

    def parts_of(self, job: int) -> Parts:
        """Return the parts of a job's duration."""
        if not self.shapes[job].links:
            return self.parts(job, ())
        is_short = self._firsts[job + 1] - self._firsts[job] <= FEW
        return self.parts(job, self._lost_s(job) if is_short else self.intervals(job).lost_s.tolist())

    def _lost_s(self, job: int) -> list[float]:
        """Return what a job loses in each interval, as `intervals` does; quicker if there are few."""
        clock, iterations, alone_tau = self.problem.clock, self.problem.iterations[job], self._alone_taus[job]
        own = slice(self._firsts[job], self._firsts[job + 1])
        taus = self._paces.tau[own].tolist()
        if all(tau == alone_tau for tau in taus):
            return []
        instants = [*self._paces.instant[own].tolist(), float(self.run.finishes[job])]
        lost_s, total, before = [], 0.0, 0.0
        for tau, (begin, end) in zip(taus, pairwise(instants), strict=True):
            rate = self._rates.get(tau) or self._rates.setdefault(tau, clock.rate(tau))
            total += clock.done(end - begin, rate)
            done = min(total, iterations)
            lost_s.append((done - before) * (tau - alone_tau))
            before = done
        return lost_s

    def parts(self, job: int, lost_s: Sequence[float]) -> Parts:
        """Return the parts of a job's duration, given what it loses in each interval."""
        problem, clock = self.problem, self.problem.clock
        iterations, alone_tau = self._completed(job), self._alone_taus[job]
        best_tau = alone_tau  # a running job cannot choose its placement
        if job not in problem.running:
            best_tau = self._best_tau(job)
        duration_s = clock.seconds(self.run.finishes[job] - self.run.starts[job])
        # Rounding may put the best case slightly above an equal placement.
        spreading_s = max(0.0, iterations * (alone_tau - best_tau))
        parts_s = (iterations * best_tau, spreading_s, math.fsum(lost_s))
        # In multiples of the duration's last bit, so that sums of floats are exact.
        bit = math.ulp(max(duration_s, *parts_s))
        best_case_s, spreading_s, contention_s = (round(part_s / bit) * bit for part_s in parts_s)
        return Parts(
            best_case_s=best_case_s,
            spreading_s=spreading_s,
            contention_s=contention_s,
            rounding_s=math.fsum([duration_s, -best_case_s, -spreading_s, -contention_s]),
        )

    def intervals(self, job: int) -> Intervals:
        """Return the intervals of a job that crosses links."""
        paces = self._paces
        own = slice(paces.first[job], paces.first[job + 1])
        instants = np.append(paces.instant[own], float(self.run.finishes[job]))
        links = np.array(self.shapes[job].links)
        # Without contention the link does not matter.
        bottleneck = np.searchsorted(links, np.maximum(paces.link[own], links[0]))
        taus = paces.tau[own]
        done = self._iterations_in(job, taus, np.diff(instants))
        lost_s = done * (taus - self._alone_taus[job])
        work, hidden_s = self.problem.works[job], np.zeros(len(taus))
        if work.overlap > 0:
            hidden_s = done * np.array([hidden_in(work, tau) for tau in taus.tolist()])
        return Intervals(instants, bottleneck, paces.num_jobs[own], lost_s, hidden_s)

    def hidden_s(self, job: int, intervals: Intervals | None) -> float:
        """Return the communication that a job's backward passes hide; without intervals it is alone."""
        if intervals is not None:
            return math.fsum(intervals.hidden_s.tolist())
        return self._completed(job) * hidden_in(self.problem.works[job], self._alone_taus[job])

    def shares(self, job: int, intervals: Intervals) -> Shares:
        """Return the shares of the jobs that slow a job: equal parts for those on the bottleneck."""
        each_s = intervals.lost_s / np.maximum(intervals.num_jobs - 1, 1)
        start, finish = intervals.instants[0], intervals.instants[-1]
        links, culprits, seconds = [], [], []
        for at in np.unique(intervals.bottleneck[each_s > 0]).tolist():
            link = self.shapes[job].links[at]
            line = self.timelines[link]
            # The cumulative share of a job that is on the link all the time.
            owed = np.concatenate([[0.0], np.cumsum(np.where(intervals.bottleneck == at, each_s, 0.0))])
            present = line.present_within(start, finish)
            come = np.searchsorted(intervals.instants, np.clip(line.starts[present], start, finish))
            gone = np.searchsorted(intervals.instants, np.clip(line.finishes[present], start, finish))
            due = owed[gone] - owed[come]
            due[(line.jobs[present] == job) | ~self._slows[line.jobs[present]]] = 0.0
            culprit_at = np.flatnonzero(due)
            links.append(np.full(len(culprit_at), link))
            culprits.append(line.jobs[present[culprit_at]])
            seconds.append(due[culprit_at])
        if not links:
            return Shares.none()
        return Shares(np.concatenate(links), np.concatenate(culprits), np.concatenate(seconds))

    def _completed(self, job: int) -> float:
        """Return how many iterations a job completes: all, unless its time limit ends it."""
        problem, run = self.problem, self.run
        if problem.limit[job] == math.inf:
            return problem.iterations[job]
        paces = self._paces
        own = slice(paces.first[job], paces.first[job + 1])
        lengths = np.diff(np.append(paces.instant[own], float(run.finishes[job])))
        return math.fsum(self._iterations_in(job, paces.tau[own], lengths).tolist())

    def _iterations_in(self, job: int, taus: Floats, lengths: Floats) -> Floats:
        """Return how many iterations a job completes in each interval."""
        clock, iterations = self.problem.clock, self.problem.iterations[job]
        different, which = np.unique(taus, return_inverse=True)
        rates = np.array([clock.rate(tau) for tau in different.tolist()], dtype=np.float64)
        done = np.cumsum(clock.done(lengths, rates[which]))
        # In its last slot, a job completes only its remaining iterations.
        in_each: Floats = np.diff(np.minimum(done, iterations), prepend=0.0)
        return in_each

    def _best_tau(self, job: int) -> float:
        problem = self.problem
        gpus, parts, group = problem.gpus[job], problem.parts[job], problem.eligibility.class_of[job]
        key = (gpus, parts, group, problem.works[job])
        if key not in self._best_taus:
            extremes = self._extremes[group]
            self._best_taus[key] = extremes.best_case_tau(problem.works[job], gpus, parts)
        return self._best_taus[key]
