"""One problem, explored again and again with shorter pieces of time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ringsched.engine.clock import SLACK
from ringsched.engine.problem import Problem
from ringsched.engine.run import Run
from ringsched.jit import compiled
from ringsched.search.exact.instance import instance_of
from ringsched.search.exact.kernels import explore
from ringsched.search.exact.levels import begin, begin_running
from ringsched.search.exact.node_bound import node_bound
from ringsched.search.exact.polish import polished
from ringsched.search.exact.realise import realise
from ringsched.search.exact.stack import FOUND, FOUND_LOOSE, NODES, SKIPPED, Stack, new_stack

NODES_AT_ONCE = 20_000  # between two looks at the clock, and at Ctrl-C
LEVELS_PER_JOB = 8  # its start, its release, its end, and the pieces that begin there
SPARE_LEVELS = 16


class Rounds:
    """The best plan so far and what is known of all others; values are in the clock's units.

    Parameters
    ----------
    weights
        Of the finishes in the objective, or none if only the last finish counts.
    incumbent
        A plan to be beaten.
    """

    def __init__(self, problem: Problem, weights: Sequence[float], incumbent: Run) -> None:
        self._problem = problem
        self._weights = weights
        self._instance, self._choices = instance_of(problem, weights)
        self.best = incumbent
        self.value = self._value_of(incumbent)
        self.num_nodes = 0
        self.bound = self._root_bound()

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
            done = compiled(explore)(self._instance, stack, piece, NODES_AT_ONCE)
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
        if value < self.value:
            self.best, self.value = run, value

    @property
    def _limit(self) -> float:
        """What a better plan has to stay below."""
        return self.value - 0.5 if self._instance.whole else self.value * (1 - SLACK)

    def _value_of(self, run: Run) -> float:
        if not self._weights:
            return run.makespan
        return math.fsum(weight * end for weight, end in zip(self._weights, run.finishes, strict=True))

    def _root_bound(self) -> float:
        stack = self._new_stack(0.0)
        stack.limit[0] = math.inf  # all of the bound, not only whether it is above the limit
        compiled(explore)(self._instance, stack, 0.0, 0)  # compiled now, not when the clock runs
        return float(compiled(node_bound)(self._instance, stack, 0))

    def _new_stack(self, piece: float) -> Stack:
        stack = new_stack(self._instance, self.num_levels(piece))
        compiled(begin)(self._instance, stack)
        for place, job in enumerate(self._choices.jobs):
            if job in self._problem.running:
                compiled(begin_running)(self._instance, stack, place)
        stack.limit[0] = self._limit
        return stack

    def num_levels(self, piece: float) -> int:
        """Return how deep a path can be: from time 0 to the end something runs or is about to come."""
        problem = self._problem
        span = max(problem.release) + math.fsum(problem.worst_case)
        num_pieces = math.ceil(min(span, span if self._weights else self.value) / piece) if piece else 0
        return LEVELS_PER_JOB * problem.num_jobs + SPARE_LEVELS + num_pieces
