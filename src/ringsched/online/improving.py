"""The search that improves the list of `rolling`, from where it is when jobs have come."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from ringsched.contention.fabric import offsets
from ringsched.engine.eligibility import Permits
from ringsched.engine.problem import Problem
from ringsched.engine.state import NUM_RUNNING, Arrays, Floats, Integers, State
from ringsched.jit import runnable
from ringsched.model.objective import Objective
from ringsched.online.queue import Stage
from ringsched.online.rolling import IS_USUAL, NUM_LISTED, NUM_NEW, RollingList, new_list
from ringsched.online.settings import OnlineSettings
from ringsched.rules.shared import Queue, Scratch, new_scratch
from ringsched.search.chain import BEST, Chain, descend, new_chain
from ringsched.search.checkpoints import new_checkpoints
from ringsched.search.modes import FREE, MOVED_ONLINE, NUM_MODES
from ringsched.search.solution import Solution, Task, new_solution, new_trace, new_walk, task_of
from ringsched.search.starts import OVERTAKING, Manner, Start, keys_of

MOST_PLANNED = 100  # jobs at the front of the list that a search may move
MOST_STARTS = 12  # of a search, besides the list as it is
_SCHEDULES_PER_START = 4
# By which share of the objective another list must be better than the usual one for the jobs there are now:
# as long as all estimates have been exact, and afterwards.
MARGINS = {True: 0.01, False: 0.1}
USUAL = Manner(FREE, FREE, small_block=True, large_block=True)  # how jobs are placed in the usual list
_SLICE = 10  # schedules between two looks at the clock


def list_keys(problem: Problem, objective: Objective) -> list[Floats]:
    """Return keys by which lists are sorted; the usual list is by the first of them."""
    return [np.array(key, dtype=np.float64) for key in keys_of(problem, objective, 1.0)]


class Roller:
    """Improves the list by a search that begins with it."""

    def __init__(
        self,
        problem: Problem,
        stage: Stage,
        settings: OnlineSettings,
        keys: list[Floats],
    ) -> None:
        self._settings, self.exact = settings, True
        self._wrong = np.flatnonzero(stage.arrays.iterations != stage.believed.iterations)
        self._every = problem.clock.release(settings.every_s)
        self._job_s = problem.pass_s / max(1, problem.num_jobs)
        self._work_s = problem.pass_s * max(1, settings.limits.iterations or 0)
        self._keys = keys
        self._scratch = new_scratch(stage.arrays)
        self.task = task_of(problem, stage.believed, settings.objective, target=0.0, usable=MOVED_ONLINE)
        self.listed = new_list(problem, self.task, self._keys[0])
        self.num_plans = 0

    def plan(self, stage: Stage) -> None:
        """Search for a better list of the jobs that are first by their keys; the other jobs stay behind them.

        What is good for jobs that wait now is not always good for jobs that will come. So the list is the
        usual one, in which each job blocks those behind it, unless another is better by a margin.
        """
        listed, now = self.listed, float(stage.state.now[0])
        # That an estimate is wrong is known once its job has ended.
        self.exact = self.exact and not stage.state.finished[self._wrong].any()
        in_force = listed.order[: listed.counts[NUM_LISTED]].copy()
        jobs = np.sort(in_force)
        jobs = jobs[np.argsort(listed.key[jobs], kind="stable")]
        front = jobs[:MOST_PLANNED]
        found, is_usual = self._search(stage, front, in_force[np.isin(in_force, front)])
        listed.order[: len(jobs)] = np.concatenate((front[found.order], jobs[MOST_PLANNED:]))
        listed.mode[jobs], listed.blocks[jobs] = FREE, 1
        listed.mode[front], listed.blocks[front] = found.mode[: len(front)], found.blocks[: len(front)]
        numbers = self.task.kind[jobs] * NUM_MODES + listed.mode[jobs]
        listed.alike[:] = np.bincount(numbers, minlength=len(listed.alike))
        listed.counts[NUM_NEW], listed.counts[IS_USUAL] = 0, int(is_usual)
        listed.next_plan[0] = now + self._every if self._every > 0 else -math.inf
        self.num_plans += 1

    def _search(self, stage: Stage, front: Integers, in_force: Integers) -> tuple[Solution, bool]:
        """Return the best solution of the jobs at the front, numbered as they are there, and if it is usual.

        It begins with the usual list, the one in force, and some of the starts of any search.
        """
        listed, num_queued, limits = self.listed, len(front), self._settings.limits
        running = np.sort(stage.state.heap[: stage.state.counts[NUM_RUNNING]])
        jobs = np.concatenate((front, running))
        arrays = _part_of_arrays(stage, listed, jobs, num_queued)
        task = _part_of_task(self.task, stage, listed, jobs, num_queued)
        usual = Start(np.arange(num_queued), USUAL).solution(task, arrays.gpus)
        state, chain = _chain(usual, arrays, task, f"{self._settings.seed}/{self.num_plans}")
        search = _Descent(
            runnable(descend, python=arrays.python_only, work_s=self._work_s, call_s=self._job_s * len(jobs)),
            (arrays, state, self._scratch, _queue(stage, arrays, jobs, num_queued), task, chain),
            self._settings.objective.cost,
        )
        search.enter(usual)
        usual_value = float(chain.values[BEST])
        others = self._starts(task, arrays, front, in_force)
        for start in others:
            search.enter(start)
        search.enter(chain.best)
        search.descend(
            limits.time_limit_s, None if limits.iterations is None else limits.iterations - len(others)
        )
        is_usual = bool(chain.values[BEST] > usual_value * (1 - MARGINS[self.exact]))
        return usual if is_usual else chain.best, is_usual

    def _starts(self, task: Task, arrays: Arrays, front: Integers, in_force: Integers) -> list[Solution]:
        """Return the list in force, and some of the starts of a search, others each time.

        The list in force is of no use where it was made for estimates that have turned out to be wrong.
        """
        schedules = self._settings.limits.iterations
        most = MOST_STARTS if schedules is None else min(MOST_STARTS, schedules // _SCHEDULES_PER_START)
        if most == 0:
            return []
        solutions = []
        if self.exact:
            place = {job: at for at, job in enumerate(front.tolist())}
            order = np.array([place[job] for job in in_force.tolist()], dtype=np.int64)
            mode, blocks = np.zeros((2, len(arrays.gpus)), dtype=np.int64)
            mode[: len(front)], blocks[: len(front)] = self.listed.mode[front], self.listed.blocks[front]
            solutions.append(new_solution(len(arrays.gpus), order, mode, blocks))
        num_others = most - len(solutions)
        manners = [manner for manner in OVERTAKING if manner.large in MOVED_ONLINE]
        pairs = [(key, manner) for manner in manners for key in self._keys]
        for at in range(num_others):
            key, manner = pairs[(self.num_plans * num_others + at) % len(pairs)]
            start = Start(np.argsort(key[front], kind="stable"), manner)
            solutions.append(start.solution(task, arrays.gpus))
        return solutions


class _Descent:
    """One chain of a search, as Python steers it."""

    def __init__(
        self,
        run: Callable[..., None],
        given: tuple[Arrays, State, Scratch, Queue, Task, Chain],
        cost: int,
    ) -> None:
        self._run, self._given, self._cost = run, given, cost

    def enter(self, solution: Solution) -> None:
        """Go on from a solution."""
        for given, new in zip(solution, self._given[-1].new, strict=True):
            new[:] = given
        self._run(*self._given, self._cost, self._cost, 0, True)

    def descend(self, time_limit_s: float | None, schedules: int | None) -> None:
        """Try so many schedules, or as many as there is time for."""
        if time_limit_s is None:
            self._run(*self._given, self._cost, self._cost, max(0, schedules or 0), False)
            return
        end_s, done = time.monotonic() + time_limit_s, 0
        while time.monotonic() < end_s and (schedules is None or done < schedules):
            self._run(*self._given, self._cost, self._cost, _SLICE, False)
            done += _SLICE


def _chain(start: Solution, arrays: Arrays, task: Task, seed: str) -> tuple[State, Chain]:
    num_jobs, num_queued = len(arrays.gpus), len(start.order)
    num_events, walk = num_jobs + 1 + len(arrays.permits.reopenings), new_walk(task, num_queued)
    state, checkpoints = new_checkpoints(arrays, walk.values, walk.kept, num_events)
    return state, new_chain(start, new_trace(num_jobs, num_events + 1), checkpoints, walk, seed)


def _part_of_arrays(stage: Stage, listed: RollingList, jobs: Integers, num_queued: int) -> Arrays:
    """Return the arrays of some of the jobs from now on, of which those behind the first few run."""
    whole, now = stage.believed, stage.state.now[0]
    gpus, iterations, running = whole.gpus[jobs], whole.iterations[jobs], jobs[num_queued:]
    iterations[num_queued:] = listed.left[running]
    limit = whole.permits.limit[jobs]
    limit[num_queued:] -= now - stage.state.start[running]
    most_links = np.diff(whole.links.entry_first)[jobs]
    return whole._replace(
        gpus=gpus,
        gpu_first=offsets(gpus),
        iterations=iterations,
        permits=_permits(whole.permits, now)._replace(
            restricted=whole.permits.restricted[jobs],
            class_of=whole.permits.class_of[jobs],
            parts=whole.permits.parts[jobs],
            limit=limit,
            longest=whole.permits.longest[jobs],
        ),
        links=whole.links._replace(
            gpus=gpus,
            entry_first=offsets(most_links),
            exchange_gbit=whole.links.exchange_gbit[jobs],
            reduce_s=whole.links.reduce_s[jobs],
            compute_s=whole.links.compute_s[jobs],
            backward_s=whole.links.backward_s[jobs],
            overlap=whole.links.overlap[jobs],
            entry_job=np.repeat(np.arange(len(jobs), dtype=np.int32), most_links),
        ),
    )


def _permits(permits: Permits, now: float) -> Permits:
    """Return the windows from now on."""
    if len(permits.window_end) == 0:
        return permits
    is_ahead = permits.window_end > now
    num_before = offsets(is_ahead.astype(np.int64))
    return permits._replace(
        window_first=num_before[permits.window_first],
        window_begin=np.maximum(0.0, permits.window_begin[is_ahead] - now),
        window_end=permits.window_end[is_ahead] - now,
        reopenings=permits.reopenings[permits.reopenings > now] - now,
    )


def _part_of_task(task: Task, stage: Stage, listed: RollingList, jobs: Integers, num_queued: int) -> Task:
    best_case = task.best_case[jobs]
    best_case[num_queued:] = listed.least[jobs[num_queued:]]
    gpus = stage.arrays.gpus[jobs]
    peers = np.argsort(gpus[:num_queued], kind="stable")
    return task._replace(
        best_case=best_case,
        weight=task.weight[jobs],
        submit=task.submit[jobs] - stage.state.now[0],
        kind=task.kind[jobs],
        largest=task.largest[jobs],
        peers=peers,
        peer_first=np.searchsorted(gpus[peers], gpus, side="left"),
        peer_end=np.searchsorted(gpus[peers], gpus, side="right"),
        patience=max(200, 10 * num_queued),
    )


def _queue(stage: Stage, arrays: Arrays, jobs: Integers, num_queued: int) -> Queue:
    whole, numbers = stage.queue, np.arange(len(jobs))
    first = np.repeat(stage.arrays.gpu_first[jobs] - arrays.gpu_first[:-1], arrays.gpus)
    return whole._replace(
        release=np.zeros(len(jobs)),
        arrivals=numbers[:num_queued],
        rank=numbers,
        job_at=numbers,
        charge=whole.charge[jobs],
        needed=whole.needed[jobs],
        running=numbers[num_queued:],
        planned=stage.state.gpus_of[first + np.arange(len(first))],
        waiting=np.zeros(len(jobs), dtype=np.int64),
    )
