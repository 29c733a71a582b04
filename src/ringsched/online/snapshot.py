"""The queue as it stands, as a problem of its own: time 0 is now, running jobs are where they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ringsched.contention.fabric import Extremes
from ringsched.engine.problem import Problem
from ringsched.model import Job


class Snapshots:
    """Makes problems out of a part of the jobs of one, as `problem_of` would out of a part of its scenario.

    What of a job does not change from one to the next is computed once: a trace has many arrivals.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._jobs: dict[int, Job] = {}
        self._extremes: dict[int, Extremes] = {}
        self._taus: dict[int, float] = {}  # of running jobs, alone on their GPUs

    def problem(self, waiting: Sequence[int], running: dict[int, tuple[Sequence[int], float]]) -> Problem:
        """Return the problem of these jobs; of a running one GPUs and remaining iterations are given.

        A horizon means nothing any more, and a job is as good as submitted now.
        """
        whole, clock = self._problem, self._problem.clock
        jobs = sorted([*waiting, *running])
        # A part of an iteration that is left is one that is left.
        left = {job: max(1, math.ceil(rest)) for job, (_, rest) in running.items()}
        iterations = tuple(left.get(job, whole.iterations[job]) for job in jobs)
        gpus = tuple(whole.gpus[job] for job in jobs)
        extremes = self._extremes_among(sum(size >= 2 for size in gpus))
        worst_case = tuple(
            clock.duration(number, clock.rate(extremes.worst_case_tau(whole.works[job], whole.gpus[job])))
            for job, number in zip(jobs, iterations, strict=True)
        )
        time = whole.scenario.time.replace(horizon_s=None)
        return replace(
            whole,
            scenario=whole.scenario.replace(jobs=tuple(self._job(job) for job in jobs), time=time),
            gpus=gpus,
            iterations=iterations,
            works=tuple(whole.works[job] for job in jobs),
            origin=0,
            release=(clock.release(0.0),) * len(jobs),
            best_case=tuple(
                clock.duration(left[job], clock.rate(self._tau(job, running[job][0])))
                if job in running
                else whole.best_case[job]
                for job in jobs
            ),
            worst_case=worst_case,
            running={at: tuple(running[job][0]) for at, job in enumerate(jobs) if job in running},
            horizon=clock.horizon(time, math.fsum(worst_case)),
        )

    def _job(self, job: int) -> Job:
        if job not in self._jobs:
            known = self._problem.scenario.jobs[job]
            self._jobs[job] = known.replace(submit_s=0.0, estimate_s=None, running_on=None, done_iterations=0)
        return self._jobs[job]

    def _extremes_among(self, num_spreadable_jobs: int) -> Extremes:
        if num_spreadable_jobs not in self._extremes:
            self._extremes[num_spreadable_jobs] = Extremes(self._problem.fabric, num_spreadable_jobs)
        return self._extremes[num_spreadable_jobs]

    def _tau(self, job: int, gpus: Sequence[int]) -> float:
        if job not in self._taus:
            self._taus[job] = self._problem.alone_tau(job, self._problem.shape(gpus))
        return self._taus[job]
