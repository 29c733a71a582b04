"""Planning again while jobs run: the queue as a problem of its own, its plan put on the agenda."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ringsched.engine.problem import Problem
from ringsched.engine.state import NUM_RUNNING
from ringsched.jit import runnable
from ringsched.online.course import Stage
from ringsched.online.follow import NUM_ORDERED, NUM_PLANNED, Agenda, believe_left
from ringsched.online.settings import OnlineSettings
from ringsched.online.snapshot import Snapshots
from ringsched.online.waiting import NOBODY
from ringsched.policies.policy import Policy, Settings
from ringsched.search.bisection import Candidate


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
        runnable(believe_left, interpreted=stage.arrays.interpreted)(stage, agenda)
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
                job: (gpus_of[first[job] : first[job + 1]].tolist(), float(agenda.left[job]))
                for job in running
            }
            problem = self._snapshots.problem(waiting, held)
        return self._policy.solve(problem, settings)

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
                agenda.trigger[job] = ended_at.get(run.starts[at], NOBODY) if run.starts[at] > 0 else NOBODY
                order.append((run.starts[at], job))
        agenda.order[: len(order)] = np.array([job for _, job in sorted(order)], dtype=np.int64)
        agenda.counts[NUM_ORDERED] = agenda.counts[NUM_PLANNED] = len(order)
