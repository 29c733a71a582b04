"""The four parts of a job's duration, and to whom its contention goes (docs/concepts/blame.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ringsched.analysis.blame.fair_paces import Pace, fair_paces
from ringsched.analysis.blame.timeline import Floats, Integers, Timeline, timelines_of
from ringsched.contention.extremes import Extremes, uncontended_tau
from ringsched.contention.fair_shares import NO_LINK
from ringsched.contention.iteration_time import iteration_time_s, sharing_factor
from ringsched.contention.network import Shape
from ringsched.engine.problem import Problem
from ringsched.engine.run import Run
from ringsched.model.contention import FAIR_MODELS


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Where a duration goes, in seconds; `math.fsum` of the four is the duration, to the last bit."""

    best_case_s: float
    spreading_s: float
    contention_s: float
    rounding_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """A job's run, cut wherever the jobs on one of its links change; on fair links, those connected to it."""

    instants: Floats  # the cuts, from its start to its finish: one more than intervals
    bottleneck: Integers  # position among the job's links of the slowest one
    num_jobs: Integers  # on that link, of those that slow others
    lost_s: Floats  # to contention


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """One job's contention, cut up by link and culprit."""

    links: Integers
    culprits: Integers
    seconds: Floats

    @staticmethod
    def none() -> Shares:
        """Return the shares of a job that nobody slows."""
        return Shares(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))


class Split:
    """Splits the durations of a run's jobs."""

    def __init__(self, problem: Problem, run: Run) -> None:
        self._problem = problem
        self._run = run
        self.shapes: tuple[Shape, ...] = tuple(problem.shape(gpus) for gpus in run.gpus)
        self.timelines: tuple[Timeline, ...] = timelines_of(
            run, self.shapes, len(problem.network.uplink_gbps)
        )
        most_jobs = max((int(line.num_jobs.max(initial=0)) for line in self.timelines), default=0)
        contention = problem.scenario.contention
        # By number of jobs; nobody asks for f at 0.
        self.factors = np.array([1.0, *(sharing_factor(contention, n) for n in range(1, most_jobs + 1))])
        num_spreadable = sum(gpus >= 2 for gpus in problem.gpus)
        self._extremes = Extremes(problem.network, contention, num_spreadable)
        is_fair = contention.model in FAIR_MODELS
        self._fair = fair_paces(problem, run, self.shapes) if is_fair else None
        # f counts heads, also of jobs that send nothing; on fair links these slow nobody.
        self._slows = np.array(
            [not is_fair or work.exchange_gbit > 0 for work in problem.works], dtype=np.bool_
        )

    def parts(self, job: int, lost_s: Floats) -> Parts:
        """Return the parts of a job's duration, given what it loses in each interval."""
        problem, clock = self._problem, self._problem.clock
        iterations, alone_tau = problem.iterations[job], self._alone_tau(job)
        best_tau = alone_tau  # of a job that runs already: it has no choice
        if job not in problem.running:
            best_tau = self._extremes.best_case_tau(problem.works[job], problem.gpus[job])
        duration_s = clock.seconds(self._run.finishes[job] - self._run.starts[job])
        # The best case may come out a rounding error above a placement that meets it.
        spreading_s = max(0.0, iterations * (alone_tau - best_tau))
        parts_s = (iterations * best_tau, spreading_s, math.fsum(lost_s.tolist()))
        # In whole numbers of the duration's last bit, so that sums of floats are exact.
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
        if self._fair is not None:
            return self._fair_intervals(job, self._fair[job])
        problem, links = self._problem, self.shapes[job].links
        start, finish = float(self._run.starts[job]), float(self._run.finishes[job])
        changes = [self.timelines[link].changes_within(start, finish) for link in links]
        instants = np.unique(np.concatenate([*changes, [start, finish]]))
        begins = instants[:-1]
        slowest = np.full(len(begins), math.inf)
        bottleneck, num_jobs = np.zeros(len(begins), dtype=np.int64), np.ones(len(begins), dtype=np.int64)
        for at, link in enumerate(links):  # ascending, so that ties stay with the lowest node
            present = self.timelines[link].num_jobs_from(begins)
            gbps = problem.network.uplink_gbps[link] / self.factors[present]
            slower = gbps < slowest
            slowest[slower], bottleneck[slower], num_jobs[slower] = gbps[slower], at, present[slower]
        different, which = np.unique(np.minimum(slowest, self.shapes[job].free_gbps), return_inverse=True)
        taus = np.array([self._tau(job, gbps) for gbps in different.tolist()])[which]
        return Intervals(instants, bottleneck, num_jobs, self._lost_s(job, taus, np.diff(instants)))

    def _fair_intervals(self, job: int, paces: list[Pace]) -> Intervals:
        links = self.shapes[job].links
        instants = np.array([*(pace.instant for pace in paces), self._run.finishes[job]], dtype=np.float64)
        taus = np.array([pace.tau for pace in paces])
        return Intervals(
            instants,
            # With nothing lost it does not matter which.
            np.array([0 if pace.link == NO_LINK else links.index(pace.link) for pace in paces]),
            np.array([pace.num_jobs for pace in paces]),
            self._lost_s(job, taus, np.diff(instants)),
        )

    def shares(self, job: int, intervals: Intervals) -> Shares:
        """Return who slows a job: in each interval the others on the bottleneck that can, in equal parts."""
        each_s = intervals.lost_s / np.maximum(intervals.num_jobs - 1, 1)
        start, finish = intervals.instants[0], intervals.instants[-1]
        links, culprits, seconds = [], [], []
        for at in np.unique(intervals.bottleneck[each_s > 0]).tolist():
            link = self.shapes[job].links[at]
            line = self.timelines[link]
            # What a job that were there all the time would owe by the end of each interval.
            owed = np.concatenate([[0.0], np.cumsum(np.where(intervals.bottleneck == at, each_s, 0.0))])
            present = line.present_within(start, finish)
            come = np.searchsorted(intervals.instants, np.clip(line.starts[present], start, finish))
            gone = np.searchsorted(intervals.instants, np.clip(line.finishes[present], start, finish))
            due = owed[gone] - owed[come]
            due[(line.jobs[present] == job) | ~self._slows[line.jobs[present]]] = 0.0
            guilty = np.flatnonzero(due)
            links.append(np.full(len(guilty), link))
            culprits.append(line.jobs[present[guilty]])
            seconds.append(due[guilty])
        if not links:
            return Shares.none()
        return Shares(np.concatenate(links), np.concatenate(culprits), np.concatenate(seconds))

    def _lost_s(self, job: int, taus: Floats, lengths: Floats) -> Floats:
        """Return by how much the iterations of each interval took longer than alone on the same GPUs."""
        clock, iterations = self._problem.clock, self._problem.iterations[job]
        different, which = np.unique(taus, return_inverse=True)
        rates = np.array([clock.rate(tau) for tau in different.tolist()], dtype=np.float64)
        done = np.cumsum(clock.done(lengths, rates[which]))  # type: ignore[arg-type]
        # In its last slot a job does only what is left.
        in_each: Floats = np.diff(np.minimum(done, iterations), prepend=0.0)
        return in_each * (taus - self._alone_tau(job))

    def _alone_tau(self, job: int) -> float:
        problem = self._problem
        return uncontended_tau(
            problem.works[job], self.shapes[job], problem.network, problem.scenario.contention
        )

    def _tau(self, job: int, bandwidth_gbps: float) -> float:
        return iteration_time_s(
            self._problem.works[job],
            bandwidth_gbps=bandwidth_gbps,
            num_servers=self.shapes[job].num_servers,
            server_latency_s=self._problem.scenario.contention.server_latency_ms * 1e-3,
        )
