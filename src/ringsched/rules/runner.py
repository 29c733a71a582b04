"""Trials from Python: the arrays of a problem, filled once, run many times."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringsched.engine.columns import job_columns
from ringsched.engine.problem import Problem
from ringsched.engine.state import Arrays, Floats, Integers, Run, arrays_of, new_state, run_of
from ringsched.jit import with_own
from ringsched.rules.shared import CHARGE_UNITS, MAX_LOAD, Queue, charges, new_scratch
from ringsched.rules.table import AS_PLANNED, Rule
from ringsched.rules.trial import DONE, run_trial


class Runner:
    """Runs a queue in one order repeatedly, with other rules and limits; see `queue_of`.

    `num_trials` is the approximate number of runs.
    """

    def __init__(
        self,
        problem: Problem,
        priority: Sequence[float] | NDArray[Any],
        *,
        slack: float | None = None,
        seed: int | None = None,
        release: Sequence[float] | None = None,
        gpus: Mapping[int, Sequence[int]] | None = None,
        origin: float = 0.0,
        num_trials: int = 1,
    ) -> None:
        self._arrays = arrays_of(problem)
        self._pass_s, self._num_trials = problem.pass_s, num_trials
        self._trials: dict[str, tuple[Rule, Callable[..., int], int]] = {}
        self._state = new_state(self._arrays)
        self._scratch = new_scratch(self._arrays)
        self._queue = queue_of(
            problem,
            self._arrays,
            priority,
            slack=slack,
            seed=seed,
            release=release,
            gpus=gpus,
            origin=origin,
        )

    def run(
        self, rule: Rule, *, theta: int | None = None, kappa: int = 0, deadline: float = math.inf
    ) -> float | None:
        """Return the makespan of a trial, or None if it is infeasible or not below the deadline."""
        # Always the same types, so that numba compiles the kernel only once.
        limit = MAX_LOAD if theta is None else min(theta * CHARGE_UNITS, MAX_LOAD)
        known = self._trials.get(rule.name)
        if known is None or known[0] is not rule:  # another may have the same name
            known = self._trials[rule.name] = rule, self._trial(rule), rule.number
        _, run, number = known
        status = run(number, limit, kappa, float(deadline))
        return float(self._state.finished.max(initial=0.0)) if status == DONE else None

    def _trial(self, rule: Rule) -> Callable[..., int]:
        return with_own(
            run_trial,
            self._arrays,
            self._state,
            self._scratch,
            self._queue,
            own=rule.own,
            swaps=rule.swaps,
            python=self._arrays.python_only,
            work_s=self._num_trials * self._pass_s,
            call_s=self._pass_s,
        )

    def last(self) -> Run:
        """Return the last trial, if it came to its end."""
        return run_of(self._arrays, self._state)


def queue_of(
    problem: Problem,
    arrays: Arrays,
    priority: Sequence[float] | NDArray[Any],
    *,
    slack: float | None = None,
    seed: int | None = None,
    release: Sequence[float] | None = None,
    gpus: Mapping[int, Sequence[int]] | None = None,
    origin: float = 0.0,
) -> Queue:
    """Return the queue of a problem.

    Parameters
    ----------
    priority
        A sort key for each job; ties go to the lower index.
    slack
        Replaces every job's λ_j if given.
    seed
        Of the random numbers, if the rule draws any; every trial draws the same.
    release, gpus
        For the rule AS_PLANNED: when each job starts, and where.
    origin
        Where starts count from that are known only as closely as a plan states them.
    """
    slacks = job_columns(problem.scenario).slack if slack is None else np.float64(slack)
    with np.errstate(over="ignore"):  # a slack beyond all servers is infinite
        needed = slacks * problem.columns.gpus - 1e-9
    return Queue(
        origin=float(origin),
        **_order(
            problem,
            priority,
            problem.columns.release if release is None else np.array(release, dtype=np.float64),
        ),
        charge=charges(problem),
        needed=needed,
        running=np.array(list(problem.running), dtype=np.int64),
        planned=_planned(arrays, problem.running | dict(gpus or {})),
        uniforms=_uniforms(0 if seed is None else sum(problem.gpus), seed or 0),
    )


def replay(
    problem: Problem, starts: Sequence[float], gpus: Sequence[Sequence[int]], *, origin: float = 0.0
) -> Run:
    """Run every job on given GPUs from a given instant, or as soon as they are free.

    A plan states seconds since 0, which at Unix times have few digits: two instants in it that are the
    same may be a little apart when counted from the origin. With the `origin` they are one again.
    """
    planned = {job: gpus[job] for job in problem.queued}
    runner = Runner(problem, starts, release=starts, gpus=planned, origin=origin)
    makespan = runner.run(AS_PLANNED)
    assert makespan is not None  # every placement is possible once all other jobs have ended
    return runner.last()


def _order(problem: Problem, priority: Sequence[float] | NDArray[Any], release: Floats) -> dict[str, Any]:
    num_jobs = problem.num_jobs
    job_at = np.argsort(np.asarray(priority), kind="stable")  # of one priority, as they are numbered
    rank = np.zeros(num_jobs, dtype=np.int64)
    rank[job_at] = np.arange(num_jobs)
    queued = np.array(problem.queued, dtype=np.int64) if problem.running else np.arange(num_jobs)
    return {
        "release": release,
        "arrivals": queued[np.argsort(release[queued], kind="stable")],
        "rank": rank,
        "job_at": job_at,
        "waiting": np.zeros(num_jobs, dtype=np.int64),
    }


def _planned(arrays: Arrays, gpus: Mapping[int, Sequence[int]]) -> Integers:
    planned = np.zeros(arrays.gpu_first[-1], dtype=np.int64)
    for job, held in gpus.items():
        planned[arrays.gpu_first[job] : arrays.gpu_first[job + 1]] = sorted(held)
    return planned


def _uniforms(number: int, seed: int) -> Floats:
    generator = Random(seed)  # its `random()` is the one stream that Python keeps stable
    return np.array([generator.random() for _ in range(number)], dtype=np.float64)
