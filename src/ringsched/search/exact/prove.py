"""Rounds of ever shorter pieces of time until the proof is complete, or the time is up."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ringsched.engine.clock import SLACK
from ringsched.engine.problem import Problem
from ringsched.engine.simulate import LiveCluster, run_events
from ringsched.engine.state import Run
from ringsched.jit import is_compiling, is_settled, runnable
from ringsched.search.exact.explore import explore
from ringsched.search.exact.instance import Counts, instance_of
from ringsched.search.exact.measure import Measure
from ringsched.search.exact.node_bound import node_bound
from ringsched.search.exact.tree import (
    FOUND,
    FOUND_LOOSE,
    NODES,
    SKIPPED,
    Stack,
    begin,
    begin_running,
    new_stack,
)


def realise(problem: Problem, starts: Sequence[float], counts: Sequence[Counts]) -> Run:
    """Start every job at its instant, or when its GPUs are free, on so many GPUs of each server."""
    waiting = sorted(problem.queued, key=lambda job: (starts[job], job))

    def start_due(cluster: LiveCluster) -> float:
        while waiting and starts[waiting[0]] <= problem.clock.same_instant_until(cluster.now):
            gpus = _idle_gpus(problem, cluster, counts[waiting[0]])
            if gpus is None or problem.release[waiting[0]] > cluster.now:
                break
            cluster.start(waiting.pop(0), gpus)
        next_start = starts[waiting[0]] if waiting else math.inf
        return next_start if next_start > cluster.now else math.inf

    return run_events(problem, start_due)


def _idle_gpus(problem: Problem, cluster: LiveCluster, counts: Counts) -> list[int] | None:
    chosen: list[int] = []
    for server, number in enumerate(counts):
        gpus = range(problem.first_gpu[server], problem.first_gpu[server + 1])
        idle = [gpu for gpu in gpus if cluster.is_idle(gpu)]
        if len(idle) < number:
            return None
        chosen += idle[:number]
    return chosen


def polished(
    problem: Problem, run: Run, counts: Sequence[Counts], value_of: Callable[[Run], float], step: float
) -> Run:
    """Return the run with one start after another moved by a step, as long as that helps; then by half."""
    while step > SLACK * max(1.0, run.makespan):
        moved = _moved(problem, run, counts, value_of, step)
        if moved is run:
            step /= 2
        run = moved
    return run


def _moved(
    problem: Problem, run: Run, counts: Sequence[Counts], value_of: Callable[[Run], float], step: float
) -> Run:
    for job in problem.queued:
        for shift in (-step, step):
            starts = list(run.starts)
            starts[job] = max(problem.release[job], starts[job] + shift)
            moved = realise(problem, starts, counts)
            if value_of(moved) < value_of(run) * (1 - SLACK):
                run = moved
    return run


NODES_AT_ONCE = 20_000  # between two looks at the clock, and at Ctrl-C ...
NODES_AT_FIRST = 200  # ... as plain Python ...
FEW_JOBS = 8  # ... up to so many jobs, running ones included; a node of more takes longer
MOST_STATES = 200_000_000  # of a job at a level of the tree: more do not fit into memory
LEVELS_PER_JOB = 8  # its start, its release, its end, and the pieces that begin there
SPARE_LEVELS = 16


class Rounds:
    """The best plan so far and what is known of all others; values are in the clock's units.

    Parameters
    ----------
    measure
        The objective.
    incumbent
        A plan to be beaten.
    bound
        What is known of all plans before.
    python
        Run as plain Python, without a compiler.
    work_s
        How long it will take at most, if it will not wait for a compiler.
    """

    def __init__(
        self,
        problem: Problem,
        measure: Measure,
        incumbent: Run,
        *,
        bound: float = 0.0,
        python: bool = False,
        work_s: float = 0.0,
    ) -> None:
        self._problem = problem
        self._measure = measure
        self._instance, self._choices = instance_of(problem, measure)
        self._python = python
        self._explore = runnable(explore, python=python, work_s=work_s)
        self.best = incumbent
        self.value = self._value_of(incumbent)
        self.num_nodes = 0
        self.bound = max(bound, self._root_bound())

    @property
    def proved(self) -> bool:
        """Whether no plan can be better."""
        return self.bound > self._limit

    def explore(self, piece: float, go_on: Callable[[], bool]) -> bool:
        """Explore everything with pieces of this length; return False if `go_on` said no."""
        stack = self._new_stack(piece)
        done = False
        while not done and go_on():
            before = int(stack.counters[NODES])
            # An integer would compile the kernel again.
            done = self._explore(self._instance, stack, float(piece), self._nodes_at_once())
            self.num_nodes += int(stack.counters[NODES]) - before
        if stack.counters[FOUND]:
            self._improve(stack, 0, 0.0)
        if done:
            self._conclude(stack, piece)
        return done

    def _conclude(self, stack: Stack, piece: float) -> None:
        if stack.counters[FOUND_LOOSE]:
            # A plan that was found later may be better than the best loose path.
            self.bound = max(self.bound, min(self.value, float(stack.limit[2])))
            self._improve(stack, 1, piece)
        elif piece or not stack.counters[SKIPPED]:
            self.bound = self.value

    def _improve(self, stack: Stack, row: int, piece: float) -> None:
        """Take a plan that was found if, carried out by the engine, it is better."""
        starts = [0.0] * self._problem.num_jobs
        counts: list[tuple[int, ...]] = [()] * self._problem.num_jobs
        for place, job in enumerate(self._choices.jobs):
            starts[job] = float(stack.best_start[row, place])
            counts[job] = self._choices.counts[stack.best_option[row, place]]
        run = realise(self._problem, starts, counts)
        assert row or abs(self._value_of(run) - stack.limit[1]) <= 1e-6 * self.value  # the engine agrees
        if row and not self._problem.clock.slotted:
            run = polished(self._problem, run, counts, self._value_of, piece)
        value = self._value_of(run)
        if value < self.value and self._is_open(run):
            self.best, self.value = run, value

    def _is_open(self, run: Run) -> bool:
        """Return whether no job holds a GPU of an unavailable server."""
        problem = self._problem
        return all(
            problem.eligibility.is_open(
                (problem.server_of[gpu] for gpu in run.gpus[job]), run.starts[job], run.finishes[job]
            )
            for job in problem.queued
        )

    @property
    def _limit(self) -> float:
        return _limit(self._problem, self._measure, self.value)

    def _value_of(self, run: Run) -> float:
        return self._measure.value(run.finishes)

    def _root_bound(self) -> float:
        stack = self._new_stack(0.0)
        stack.limit[0] = math.inf  # all of the bound, not only whether it is above the limit
        return float(node_bound(self._instance, stack, 0))

    def _nodes_at_once(self) -> int:
        is_compiled = self._explore is not explore and is_settled(explore)
        nodes = NODES_AT_ONCE if is_compiled else NODES_AT_FIRST
        return max(1, nodes * FEW_JOBS // max(FEW_JOBS, self._problem.num_jobs))

    def _new_stack(self, piece: float) -> Stack:
        stack = new_stack(self._instance, self.num_levels(piece))
        begin(self._instance, stack)
        for place, job in enumerate(self._choices.jobs):
            if job in self._problem.running:
                begin_running(self._instance, stack, place)
        stack.limit[0] = self._limit
        return stack

    def num_levels(self, piece: float) -> int:
        """Return how deep a path can be: from time 0 to the end something runs or is about to come."""
        problem = self._problem
        span = max(problem.release) + math.fsum(problem.worst_case)
        longest = min(span, self.value) if self._measure.is_last_finish else span
        num_pieces = math.ceil(longest / piece) if piece else 0
        num_windows = len(self._instance.window_end)
        return LEVELS_PER_JOB * problem.num_jobs + 2 * num_windows + SPARE_LEVELS + num_pieces


def _limit(problem: Problem, measure: Measure, value: float) -> float:
    """Return what a plan that is better than `value` has to stay below."""
    return value - 0.5 if problem.clock.slotted and measure.is_whole else value * (1 - SLACK)


FINER = 4  # each round looks at pieces of time so much shorter
MOST_PIECES = FINER**7
CLOSE = 1e-3  # finer pieces are not worth their time once the bound is as close as this


@dataclass(frozen=True, slots=True)
class Proof:
    """The best plan, and what is known of all others; values are in the clock's units."""

    run: Run
    value: float
    bound: float  # no plan is below
    complete: bool  # whether no plan is better
    num_nodes: int


def prove(
    problem: Problem,
    incumbent: Run,
    measure: Measure,
    *,
    bound: float = 0.0,
    time_limit_s: float,
    on_step: Callable[[], None] = lambda: None,
    asked: Callable[[], bool] = lambda: False,
    most_nodes: int | None = None,
    waits: bool = True,
) -> Proof:
    """Return the best plan there is, or the best that was found within the time limit.

    Parameters
    ----------
    incumbent
        A plan to be beaten.
    measure
        The objective.
    bound
        No plan is known to be below.
    on_step
        Called every few thousand nodes.
    asked
        Whether to end with what there is.
    most_nodes
        End after about so many nodes, which are explored as plain Python; none for no such limit.
    waits
        Whether the time limit begins when the compiler has finished.
    """
    value = measure.value(incumbent.finishes)
    if bound > _limit(problem, measure, value):
        return Proof(run=incumbent, value=value, bound=bound, complete=True, num_nodes=0)
    is_short = most_nodes is not None
    rounds = Rounds(
        problem, measure, incumbent, bound=bound, python=is_short, work_s=0.0 if waits else time_limit_s
    )
    deadline = time.monotonic() + time_limit_s

    def go_on() -> bool:
        nonlocal deadline
        on_step()
        if most_nodes is not None and rounds.num_nodes >= most_nodes:
            return False
        if waits and not is_short and is_compiling(explore):
            deadline = time.monotonic() + time_limit_s
        return time.monotonic() < deadline and not asked()

    for piece in _pieces(problem.clock.slotted, incumbent.makespan):
        if rounds.num_levels(piece) * problem.num_jobs > MOST_STATES:
            break
        if rounds.proved or _is_close(problem, rounds) or not rounds.explore(piece, go_on):
            break
    return Proof(
        run=rounds.best,
        value=rounds.value,
        bound=rounds.bound,
        complete=rounds.proved,
        num_nodes=rounds.num_nodes,
    )


def _is_close(problem: Problem, rounds: Rounds) -> bool:
    """Slots come to an end; continuous time does not."""
    return not problem.clock.slotted and rounds.value <= rounds.bound * (1 + CLOSE)


def _pieces(slotted: bool, span: float) -> Iterator[float]:
    """Yield lengths of pieces: starts at events only, then everywhere, ever more closely."""
    yield 0.0
    num_pieces = 1
    while num_pieces <= MOST_PIECES and (not slotted or span / num_pieces >= 2):
        yield float(int(span / num_pieces)) if slotted else span / num_pieces
        num_pieces *= FINER
    if slotted:
        yield 1.0
