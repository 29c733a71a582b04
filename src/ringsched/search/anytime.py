"""The anytime search: several chains from several starts, on all cores, with the best so far at hand.

For a number of schedules, how the work is divided depends on counts alone, never on the clock or on the
number of threads.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event

import numpy as np

from ringsched.engine.problem import Problem
from ringsched.engine.state import Arrays, Run, State, arrays_of, run_of
from ringsched.jit import is_compiling, is_settled, runnable
from ringsched.model.objective import Objective
from ringsched.model.plan import GOOD_ENOUGH, INTERRUPTED, SCHEDULES, STALLED, TIME
from ringsched.rules.runner import queue_of
from ringsched.rules.shared import Queue, Scratch, new_scratch
from ringsched.search.chain import BEST, Chain, copy_solution, descend, new_chain
from ringsched.search.checkpoints import new_checkpoints
from ringsched.search.modes import MOVED
from ringsched.search.solution import Solution, Task, new_trace, new_walk, task_of
from ringsched.search.starts import Start, starts

NUM_CHAINS = 8
_FEWEST_CHAINS = 4  # each gets further in the same time
_FEW_JOBS = 50  # with fewer, all chains usually stall before a time limit
_MANY_JOBS = 500
STALE_STEPS = 1000  # of every chain for every job, after which it ends: a small queue is done early
_ROUNDS_TO_EXCHANGE = 4
_SLICE_S = 0.02  # how long a thread works before it looks at the clock again
_LOOK_S = 0.1  # how often progress is reported
_PATIENCE_S = 2.0  # with plain Python, while the kernel is being compiled


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """When to end: whichever comes first."""

    time_limit_s: float | None = None
    iterations: int | None = None  # schedules tried, over all chains
    is_enough: Callable[[float], bool] = lambda _: False  # of a value of the objective
    asked: Callable[[], bool] = lambda: False  # someone presses Ctrl-C


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the search is."""

    value_s: float
    iterations: int


@dataclass(slots=True)
class _Worker:
    """A chain with all it needs to work on its own."""

    chain: Chain
    cost: int
    state: State
    scratch: Scratch
    done: int = 0
    slice: int = 1  # steps at a time
    allowed: int = 0


@dataclass(slots=True)
class AnytimeSearch:
    """Looks for ever better schedules of one problem.

    Parameters
    ----------
    target
        A lower bound on the objective, which the slope of some chains leads to.
    priorities
        Sort keys of all jobs by the names of queue orders, in which the search begins among others.
    max_wait_s
        Jobs that have waited longer go first.
    most_starts, starts_s
        How many solutions it begins with at most, and how long that may take.
    enough_s
        A value of the objective that is good enough: no other start is tried then.
    """

    problem: Problem
    objective: Objective
    target: float
    seed: int
    num_threads: int
    priorities: Mapping[str, Sequence[float]] = field(default_factory=dict)
    most_starts: float = math.inf
    starts_s: float = math.inf
    enough_s: float = 0.0
    max_wait_s: float = math.inf
    num_schedules: float = math.inf  # that will be tried, roughly
    asked: Callable[[], bool] = lambda: False  # someone presses Ctrl-C
    untried: frozenset[int] = field(init=False, default=frozenset())  # modes of simple rules
    compiling_s: float = field(init=False, default=0.0)  # that its kernel took to be ready
    _arrays: Arrays = field(init=False)
    _queue: Queue = field(init=False)
    _task: Task = field(init=False)
    _workers: list[_Worker] = field(init=False)
    _ended: Event = field(init=False, default_factory=Event)
    _started_s: float = field(init=False)
    _descend_kernel: Callable[..., None] = field(init=False)

    def __post_init__(self) -> None:
        self._arrays = arrays_of(self.problem)
        self._queue = queue_of(self.problem, self._arrays, self.problem.release)
        self._task = task_of(
            self.problem,
            self._arrays,
            self.objective,
            target=self.target,
            usable=MOVED,
            max_wait_s=self.max_wait_s,
        )
        self._descend_kernel = runnable(
            descend,
            python=self._arrays.python_only,
            work_s=self.num_schedules * self.problem.pass_s,
            call_s=self.problem.pass_s,
        )
        self._started_s = time.monotonic()
        self._workers = self._best_starts()

    @property
    def value_s(self) -> float:
        """The objective of the best schedule so far: seconds, or a ratio."""
        return self._in_seconds(min(float(worker.chain.values[BEST]) for worker in self._workers))

    @property
    def iterations(self) -> int:
        """How many schedules were tried."""
        return sum(worker.done for worker in self._workers)

    def best(self) -> Run:
        """Return the best schedule so far."""
        worker = self._new_worker(self._leader().chain.best, 0, self._cost)
        self._enter(worker)
        return run_of(self._arrays, worker.state)

    def run(
        self,
        stop: Stop,
        on_progress: Callable[[Progress], None] = lambda _: None,
        on_better: Callable[[], None] = lambda: None,
    ) -> str:
        """Search until told to stop; return why it ended, as a plan says it.

        `on_progress` is called several times a second, `on_better` when the best has changed and all
        chains pause.
        """
        round_steps = max(10, min(500, 100_000 // len(self.problem.queued)))
        most_stale = STALE_STEPS * len(self.problem.queued)
        number, stale, value_s = 0, 0, self.value_s
        self._started_s = time.monotonic()
        with self._threads() as pool:
            while not (ended := self._ended_by(stop)) and stale < most_stale:
                self._round(pool, round_steps, stop, on_progress)
                number += 1
                if number % _ROUNDS_TO_EXCHANGE == 0:
                    self._exchange()
                stale += round_steps
                if self.value_s < value_s:
                    stale, value_s = 0, self.value_s
                    on_better()
        return ended or STALLED

    def _round(
        self, pool: ThreadPoolExecutor, steps: int, stop: Stop, on_progress: Callable[[Progress], None]
    ) -> None:
        left = None if stop.iterations is None else stop.iterations - self.iterations
        for at, worker in enumerate(self._workers):
            share = steps if left is None else (left + len(self._workers) - 1 - at) // len(self._workers)
            worker.allowed = min(steps, share)
        futures = [pool.submit(self._advance, worker, stop) for worker in self._workers]
        try:
            self._watch(futures, on_progress)
        except BaseException:
            self._ended.set()
            raise
        for future in futures:
            future.result()

    def _watch(self, futures: list[Future[None]], on_progress: Callable[[Progress], None]) -> None:
        while wait(futures, timeout=_LOOK_S).not_done:
            on_progress(self._progress())
        on_progress(self._progress())

    def _progress(self) -> Progress:
        return Progress(value_s=self.value_s, iterations=self.iterations)

    def _advance(self, worker: _Worker, stop: Stop) -> None:
        """Do a worker's part of a round, in slices, so that the clock can end it at any time."""
        while worker.allowed > 0 and not self._ended.is_set() and not self._ended_by(stop, clock_only=True):
            steps = min(worker.slice, worker.allowed)
            began_s = time.monotonic()
            self._descend(worker, steps)
            took_s = max(time.monotonic() - began_s, 1e-6)
            worker.done += steps
            worker.allowed -= steps
            worker.slice = max(1, min(int(steps * _SLICE_S / took_s), 10 * worker.slice))

    def _ended_by(self, stop: Stop, *, clock_only: bool = False) -> str | None:
        # The time of the compiler is not taken out of anybody's time limit.
        if not self._arrays.python_only and is_compiling(descend):
            self._started_s = time.monotonic()
        elif stop.time_limit_s is not None and time.monotonic() - self._started_s >= stop.time_limit_s:
            return TIME
        if stop.asked():
            return INTERRUPTED
        if clock_only:  # the rest is checked when all chains have made the same number of steps
            return None
        if stop.is_enough(self.value_s):
            return GOOD_ENOUGH
        return SCHEDULES if stop.iterations is not None and self.iterations >= stop.iterations else None

    def _exchange(self) -> None:
        """Let the worst chain go on from where the best is; of many jobs, all but the best."""
        leader = self._leader()
        ranked = sorted(self._workers, key=lambda worker: float(worker.chain.values[BEST]))
        for worker in ranked[1:] if self._has_many else ranked[-1:]:
            if worker.chain.values[BEST] > leader.chain.values[BEST]:
                copy_solution(leader.chain.best, worker.chain.new)
                self._enter(worker)

    def _leader(self) -> _Worker:
        return min(self._workers, key=lambda worker: float(worker.chain.values[BEST]))

    def _enter(self, worker: _Worker) -> None:
        self._descend(worker, 0, enters=True)

    def _descend(self, worker: _Worker, steps: int, *, enters: bool = False) -> None:
        self._descend_kernel(
            self._arrays,
            worker.state,
            worker.scratch,
            self._queue,
            self._task,
            worker.chain,
            worker.cost,
            self._cost,
            steps,
            enters,
        )

    def _best_starts(self) -> list[_Worker]:
        """Return chains at the best of the starts, with different slopes."""
        tried: list[tuple[float, int, Start]] = []
        probe: _Worker | None = None
        remaining = starts(self.problem, self.objective, self.priorities, self.target)
        for at, start in enumerate(remaining):
            if at > 0:
                self._give_way_to_the_compiler()
            elapsed_s = time.monotonic() - self._started_s
            if at > 0 and (at >= self.most_starts or elapsed_s >= self.starts_s or self.asked()):
                left = (each.manner for each in (start, *remaining))
                self.untried = frozenset(manner.small for manner in left if manner.is_simple)
                break
            solution = start.solution(self._task, self._arrays.gpus)
            if probe is None:
                probe = self._new_worker(solution, 0, self._cost)
            copy_solution(solution, probe.chain.new)
            probe.chain.values[:] = math.inf
            is_ready = is_settled(descend)
            self._enter(probe)
            if at == 0 and not is_ready:
                self.compiling_s = time.monotonic() - self._started_s
                self._started_s = time.monotonic()
            tried.append((float(probe.chain.values[BEST]), at, start))
            if self._in_seconds(tried[-1][0]) <= self.enough_s:
                break
        tried.sort(key=lambda each: each[:2])
        values = [value for value, _, _ in tried]
        ranked = [start for at, (value, _, start) in enumerate(tried) if value not in values[:at]]
        slopes = self.objective.slopes
        workers = []
        for number in range(self._num_chains):
            solution = ranked[number % len(ranked)].solution(self._task, self._arrays.gpus)
            workers.append(self._new_worker(solution, number, slopes[number % len(slopes)]))
        with self._threads() as pool:
            list(pool.map(self._enter, workers))
        return workers

    def _give_way_to_the_compiler(self) -> None:
        """Wait for the compiler where plain Python gets nowhere, and takes a core from it.

        The first seconds are for plain Python, which is done with a small queue before any compiler.
        """
        patience_s = min(_PATIENCE_S, self.starts_s)
        is_for_a_number = self.num_schedules < math.inf  # which may take less time than the compiler
        if is_for_a_number or self._arrays.python_only or time.monotonic() - self._started_s < patience_s:
            return
        if is_compiling(descend):
            while is_compiling(descend) and not self.asked():
                time.sleep(_LOOK_S)
            self.compiling_s += time.monotonic() - self._started_s
            self._started_s = time.monotonic()

    def _threads(self) -> ThreadPoolExecutor:
        # A user's own Python is asked by one thread at a time.
        return ThreadPoolExecutor(1 if self._arrays.python_only else self.num_threads)

    def _new_worker(self, solution: Solution, number: int, cost: int) -> _Worker:
        walk = new_walk(self._task, len(self.problem.queued))
        num_arrivals = len(set(self.problem.release))
        num_events = self.problem.num_jobs + num_arrivals + len(self._arrays.permits.reopenings)
        trace = new_trace(self.problem.num_jobs, num_events + 1)
        state, checkpoints = new_checkpoints(self._arrays, walk.values, walk.kept, num_events)
        chain = new_chain(solution, trace, checkpoints, walk, f"{self.seed}/{number}")
        return _Worker(chain, cost, state, new_scratch(self._arrays))

    @property
    def _num_chains(self) -> int:
        if self._has_many:
            return _FEWEST_CHAINS
        is_for_a_time = self.num_schedules == math.inf  # and may depend on the number of threads
        if is_for_a_time and len(self.problem.queued) > _FEW_JOBS:
            return min(max(self.num_threads, _FEWEST_CHAINS), NUM_CHAINS)
        return NUM_CHAINS

    @property
    def _has_many(self) -> bool:
        return len(self.problem.queued) > _MANY_JOBS

    @property
    def _cost(self) -> int:
        return self.objective.cost

    def _in_seconds(self, value: float) -> float:
        if self.objective.is_ratio:
            return value
        if self.objective.is_last_finish:
            return self.problem.clock.seconds(value)
        weight = self._task.weight
        submits = np.array([job.submit_s - self.problem.origin_s for job in self.problem.scenario.jobs])
        return float((self.problem.clock.seconds(value) - weight @ submits) / weight.sum())
