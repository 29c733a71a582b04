"""Re-planning while jobs run: the queue becomes a separate problem, and its plan becomes the agenda."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ringsched.contention.fabric import Extremes
from ringsched.engine.problem import Columns, Problem
from ringsched.engine.state import NUM_RUNNING
from ringsched.jit import runnable
from ringsched.model import Job
from ringsched.online.follow import NUM_ORDERED, NUM_PLANNED, Agenda, believe_left
from ringsched.online.queue import NO_JOB, Stage
from ringsched.online.settings import OnlineSettings
from ringsched.policies.policy import Candidate, Policy, Settings


class Held(NamedTuple):
    """What a running job has: its GPUs, the iterations it is believed to have left, and its start."""

    gpus: Sequence[int]
    iterations: float
    start: float


class Snapshots:
    """Makes problems out of a part of the jobs of one, as `problem_of` would out of a part of its scenario.

    What of a job does not change from one to the next is computed once: a trace has many arrivals.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._time = problem.scenario.time.replace(horizon_s=None)
        self._jobs: dict[int, Job] = {}
        self._extremes: dict[int, Extremes] = {}
        self._taus: dict[int, float] = {}  # of running jobs, alone on their GPUs

    def problem(self, waiting: Sequence[int], running: Mapping[int, Held], now: float) -> Problem:
        """Return the problem of these jobs from `now` on, of which some run already.

        A horizon means nothing any more, and a job is as good as submitted now.
        """
        whole, clock = self._problem, self._problem.clock
        jobs = sorted([*waiting, *running])
        # A part of an iteration that is left is one that is left.
        left = {job: max(1, math.ceil(held.iterations)) for job, held in running.items()}
        started = {job: held.start for job, held in running.items()}
        eligibility = whole.eligibility.part(jobs, now=now, started=started)
        limit = dict(zip(jobs, eligibility.limit, strict=True))
        iterations = tuple(left.get(job, whole.iterations[job]) for job in jobs)
        gpus = tuple(whole.gpus[job] for job in jobs)
        extremes = self._extremes_among(sum(size >= 2 for size in gpus))
        worst_case = tuple(
            min(
                clock.duration(
                    number, clock.rate(extremes.worst_case_tau(whole.works[job], whole.gpus[job]))
                ),
                limit[job],
            )
            for job, number in zip(jobs, iterations, strict=True)
        )
        release = (clock.release(0.0),) * len(jobs)
        best_case = tuple(
            min(clock.duration(left[job], clock.rate(self._tau(job, running[job].gpus))), limit[job])
            if job in running
            else whole.best_case[job]
            for job in jobs
        )
        return replace(
            whole,
            scenario=whole.scenario.part(tuple(self._job(job) for job in jobs), self._time),
            gpus=gpus,
            iterations=iterations,
            works=tuple(whole.works[job] for job in jobs),
            origin=0,
            release=release,
            best_case=best_case,
            worst_case=worst_case,
            running={at: tuple(running[job].gpus) for at, job in enumerate(jobs) if job in running},
            horizon=clock.horizon(self._time, eligibility.last_reopening + math.fsum(worst_case)),
            eligibility=eligibility,
            columns=Columns(
                kind_of=whole.columns.kind_of[jobs],
                gpus=np.array(gpus, dtype=np.int64),
                iterations=np.array(iterations, dtype=np.int64),
                release=np.array(release, dtype=np.float64),
                best_case=np.array(best_case, dtype=np.float64),
                worst_case=np.array(worst_case, dtype=np.float64),
            ),
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


class Planner:
    """Makes plans with a policy of `ringsched plan`, of what is believed."""

    def __init__(self, problem: Problem, policy: Policy, settings: OnlineSettings) -> None:
        self._problem = problem
        self._snapshots = Snapshots(problem)
        self._policy = policy
        self._settings = Settings(
            order=policy.order,
            seed=settings.seed,
            objective=settings.objective,
            limits=settings.limits,
        )
        self._every = problem.clock.release(settings.every_s)
        self.num_plans = 0

    def plan(self, stage: Stage, agenda: Agenda) -> bool:
        """Plan all who wait, and say whether there is a plan; there is none only within a horizon."""
        now = float(stage.state.now[0])
        waiting = sorted(agenda.order[: agenda.counts[NUM_ORDERED]].tolist())
        running = sorted(stage.state.heap[: stage.state.counts[NUM_RUNNING]].tolist())
        believe = runnable(believe_left, python=stage.arrays.python_only, work_s=self._problem.pass_s)
        believe(stage, agenda)
        candidate = self._solve(stage, agenda, waiting, running)
        if candidate is None:
            return False
        self._put_down(stage, agenda, candidate, sorted([*waiting, *running]), set(waiting))
        agenda.next_plan[0] = now + self._every if self._every > 0 else -math.inf
        self.num_plans += 1
        return True

    def _solve(
        self, stage: Stage, agenda: Agenda, waiting: list[int], running: list[int]
    ) -> Candidate | None:
        problem, settings = self._problem, self._settings
        everybody = len(waiting) + len(problem.running) == problem.num_jobs
        if not (everybody and float(stage.state.now[0]) == 0.0):
            settings = replace(settings, limits=replace(settings.limits, quick_bounds=True))
            first, gpus_of = stage.arrays.gpu_first, stage.state.gpus_of
            held = {
                job: Held(
                    gpus=gpus_of[first[job] : first[job + 1]].tolist(),
                    iterations=float(agenda.left[job]),
                    start=float(stage.state.start[job]),
                )
                for job in running
            }
            problem = self._snapshots.problem(waiting, held, float(stage.state.now[0]))
        return self._policy.candidate(problem, settings)

    def _put_down(
        self, stage: Stage, agenda: Agenda, candidate: Candidate, jobs: list[int], waiting: set[int]
    ) -> None:
        """Put the plan on the agenda, the jobs by start and, of one start, as they are numbered."""
        run, now = candidate.run, float(stage.state.now[0])
        ended_at: dict[float, int] = {}
        for at, job in enumerate(jobs):
            ended_at.setdefault(run.finishes[at], job)
        first, planned = stage.arrays.gpu_first, stage.queue.planned
        order = []
        for at, job in enumerate(jobs):
            if job in waiting:
                planned[first[job] : first[job + 1]] = sorted(run.gpus[at])
                agenda.start[job] = now + run.starts[at]
                agenda.trigger[job] = ended_at.get(run.starts[at], NO_JOB) if run.starts[at] > 0 else NO_JOB
                order.append((run.starts[at], job))
        agenda.order[: len(order)] = np.array([job for _, job in sorted(order)], dtype=np.int64)
        agenda.counts[NUM_ORDERED] = agenda.counts[NUM_PLANNED] = len(order)
