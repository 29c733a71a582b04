"""One chain of the search: change the genes a little, keep what is not worse, leave what leads nowhere."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ringsched.engine.arrays import Arrays, Floats, Integers
from ringsched.engine.state import State
from ringsched.jit import kernel, part
from ringsched.model.objective import COMPLETION
from ringsched.placement.scratch import Scratch
from ringsched.search.chance import below, new_chance
from ringsched.search.decode import PRUNED, decode, total_cost
from ringsched.search.moves import move
from ringsched.search.task import Task

_NUM_LATE = 10  # the jobs that end last, which moves aim at and the tie-breaker counts
_KICK = 8  # moves

# Places in `values`.
COST = 0  # of the present genes
TIE = 1
BEST = 2  # the objective of the best genes

# Places in `counts`.
STALE = 0


class Chain(NamedTuple):
    """Genes, and what is known of them; jobs to be placed only."""

    order: Integers  # job at each rank
    habit: Integers  # of each job
    rank: Integers  # of each job
    late: Integers  # jobs that end last
    new_order: Integers  # the same for a change that is tried
    new_habit: Integers
    new_rank: Integers
    new_late: Integers
    best_order: Integers
    best_habit: Integers
    next_rank: Integers  # scratch
    values: Floats
    counts: Integers
    chance: Integers


def new_chain(num_jobs: int, order: Integers, habit: Integers, seed: str) -> Chain:
    """Return a chain that begins with these genes; `enter` tells what they are worth."""

    def integers(size: int) -> Integers:
        return np.zeros(size, dtype=np.int64)

    num_late = min(len(order), _NUM_LATE)
    return Chain(
        order=order.copy(),
        habit=habit.copy(),
        rank=integers(num_jobs),
        late=integers(num_late),
        new_order=order.copy(),
        new_habit=habit.copy(),
        new_rank=integers(num_jobs),
        new_late=integers(num_late),
        best_order=order.copy(),
        best_habit=habit.copy(),
        next_rank=integers(len(order) + 1),
        values=np.full(3, np.inf),
        counts=integers(1),
        chance=new_chance(seed),
    )


@kernel
def enter(
    arrays: Arrays, state: State, scratch: Scratch, task: Task, chain: Chain, cost: int, objective: int
) -> None:
    """Take the genes in `new_order` and `new_habit` as the present ones, whatever they cost."""
    for rank in range(len(chain.new_order)):
        chain.new_rank[chain.new_order[rank]] = rank
    value = decode(
        arrays, state, scratch, task, chain.new_order, chain.new_habit, chain.next_rank, cost, PRUNED
    )
    _accept(arrays, state, task, chain, value, _tie(state, chain, cost), objective)
    chain.counts[STALE] = 0


@kernel
def descend(
    arrays: Arrays,
    state: State,
    scratch: Scratch,
    task: Task,
    chain: Chain,
    cost: int,
    objective: int,
    num_steps: int,
) -> None:
    """Make steps that do not make it worse; after too many in vain, go on from the best with a kick."""
    for _ in range(num_steps):
        if chain.counts[STALE] >= task.patience:
            _kick(task, chain)
            enter(arrays, state, scratch, task, chain, cost, objective)
            continue
        chain.counts[STALE] += 1
        _copy(chain.order, chain.new_order)
        _copy(chain.habit, chain.new_habit)
        _copy(chain.rank, chain.new_rank)
        for _ in range(1 + below(chain.chance, 2)):
            _change(task, chain)
        value = decode(
            arrays,
            state,
            scratch,
            task,
            chain.new_order,
            chain.new_habit,
            chain.next_rank,
            cost,
            chain.values[COST],
        )
        if value > chain.values[COST]:
            continue
        tie = _tie(state, chain, cost)
        if value < chain.values[COST] or tie <= chain.values[TIE]:
            if value < chain.values[COST] or tie < chain.values[TIE]:
                chain.counts[STALE] = 0
            _accept(arrays, state, task, chain, value, tie, objective)


@part
def _accept(
    arrays: Arrays, state: State, task: Task, chain: Chain, value: float, tie: float, objective: int
) -> None:
    chain.values[COST] = value
    chain.values[TIE] = tie
    _copy(chain.new_order, chain.order)
    _copy(chain.new_habit, chain.habit)
    _copy(chain.new_rank, chain.rank)
    _copy(chain.new_late, chain.late)
    reached = total_cost(arrays, state, task, objective)
    if reached < chain.values[BEST]:
        chain.values[BEST] = reached
        _copy(chain.order, chain.best_order)
        _copy(chain.habit, chain.best_habit)


@part
def _kick(task: Task, chain: Chain) -> None:
    """Go back to the best genes and change them more than a step would."""
    _copy(chain.best_order, chain.new_order)
    _copy(chain.best_habit, chain.new_habit)
    for rank in range(len(chain.new_order)):
        chain.new_rank[chain.new_order[rank]] = rank
    for _ in range(_KICK):
        _change(task, chain)


@part
def _change(task: Task, chain: Chain) -> None:
    move(task, chain.new_order, chain.new_habit, chain.new_rank, chain.late, chain.chance)


@part
def _tie(state: State, chain: Chain, cost: int) -> float:
    """Return the sum of the latest finishes, which tells schedules of one makespan apart."""
    late, size = chain.new_late, 0
    for job in chain.new_order:
        finish = state.finished[job]
        if size == len(late) and finish <= state.finished[late[size - 1]]:
            continue
        place = min(size, len(late) - 1)
        while place > 0 and state.finished[late[place - 1]] < finish:
            late[place] = late[place - 1]
            place -= 1
        late[place] = job
        size = min(size + 1, len(late))
    if cost == COMPLETION:
        return 0.0
    total = 0.0
    for job in late:
        total += state.finished[job]
    return total


@part
def _copy(source: Integers, target: Integers) -> None:
    for at in range(len(source)):
        target[at] = source[at]
