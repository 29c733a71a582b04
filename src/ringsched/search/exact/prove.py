"""Rounds until the proof is complete, or the time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ringsched.engine.problem import Problem
from ringsched.engine.run import Run
from ringsched.search.exact.rounds import Rounds

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
    *,
    weights: Sequence[float] = (),
    time_limit_s: float,
    on_step: Callable[[], None] = lambda: None,
) -> Proof:
    """Return the best plan there is, or the best that was found within the time limit.

    Parameters
    ----------
    incumbent
        A plan to be beaten.
    weights
        Of the finishes in the objective, all 1 for their mean; none if only the last finish counts.
    on_step
        Called every few thousand nodes.
    """
    rounds = Rounds(problem, weights, incumbent)
    deadline = time.monotonic() + time_limit_s  # the compiler has done its work by now

    def go_on() -> bool:
        on_step()
        return time.monotonic() < deadline

    for piece in _pieces(problem.clock.slotted, incumbent.makespan):
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
