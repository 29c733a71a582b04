"""One chain of the local search: change the solution a little, keep it if not worse, perturb it if stuck.

A solution is an order of the jobs and a placement mode for each of them.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import numpy as np

from ringsched.engine.state import Arrays, Floats, Integers, State
from ringsched.jit import by_pointer, kernel, part
from ringsched.model.objective import COMPLETION
from ringsched.rules.shared import Scratch
from ringsched.search.schedule import NUM_MODES, PRUNED, Task, decode, total_cost

# L'Ecuyer (CACM 31, 1988): two small generators whose difference has a period of 2.3e18; all fits int64.
_FIRST = 2147483563
_SECOND = 2147483399


def new_chance(seed: str) -> Integers:
    """Return the state of a generator; strings that differ give streams that differ."""
    generator = Random(seed)
    return np.array([generator.randrange(1, _FIRST), generator.randrange(1, _SECOND)], dtype=np.int64)


@kernel
def below(chance: Integers, limit: int) -> int:
    """Return a whole number from 0 to `limit` - 1."""
    chance[0] = chance[0] * 40014 % _FIRST
    chance[1] = chance[1] * 40692 % _SECOND
    return int((chance[0] - chance[1]) % _FIRST % limit)


# In percent.
_LATE = 60  # moves of one of the jobs that end last
_EARLIER = 80  # of those, how many go to an earlier place for certain
_MODE = 20  # changes of a placement mode
_PEERS = 40  # exchanges with a job of the same size, which leave all other jobs where they are


@kernel
def move(
    task: Task, order: Integers, mode: Integers, rank: Integers, late: Integers, chance: Integers
) -> None:
    """Change one thing; `rank` is kept the inverse of `order`."""
    is_late = below(chance, 100) < _LATE
    job = late[below(chance, len(late))] if is_late else order[below(chance, len(order))]
    kind = below(chance, 100)
    if kind < _MODE:
        mode[job] = below(chance, NUM_MODES)
        return
    place = rank[job]
    if kind < _MODE + _PEERS:
        first = task.peer_first[job]
        other = task.peers[first + below(chance, task.peer_end[job] - first)]
        to = rank[other]
        _put(order, rank, other, place)
        _put(order, rank, job, to)
        return
    if is_late and place > 0 and below(chance, 100) < _EARLIER:
        to = below(chance, place)
    else:
        to = below(chance, len(order))
    if kind % 2 == 0:
        _put(order, rank, order[to], place)
        _put(order, rank, job, to)
    else:
        _insert(order, rank, job, to)


@part
def _insert(order: Integers, rank: Integers, job: int, to: int) -> None:
    place = rank[job]
    step = 1 if to > place else -1
    while place != to:
        _put(order, rank, order[place + step], place)
        place += step
    _put(order, rank, job, to)


@part
def _put(order: Integers, rank: Integers, job: int, place: int) -> None:
    order[place] = job
    rank[job] = place


_NUM_LATE = 10  # the jobs that end last, which moves aim at and the tie-breaker counts
_NUM_PERTURBING = 8  # moves of one perturbation

# Places in `values`.
COST = 0  # of the current solution
TIE = 1
BEST = 2  # the objective of the best solution

# Places in `counts`.
STALE = 0


@by_pointer
class Chain(NamedTuple):
    """The current, the new and the best solution; queued jobs only."""

    order: Integers  # job at each rank
    mode: Integers  # placement mode of each job
    rank: Integers  # of each job
    late: Integers  # jobs that end last
    new_order: Integers  # the same for the solution that is tried
    new_mode: Integers
    new_rank: Integers
    new_late: Integers
    best_order: Integers
    best_mode: Integers
    next_rank: Integers  # scratch
    values: Floats
    counts: Integers
    chance: Integers


def new_chain(num_jobs: int, order: Integers, mode: Integers, seed: str) -> Chain:
    """Return a chain that begins with this solution; `descend` evaluates it."""

    def integers(size: int) -> Integers:
        return np.zeros(size, dtype=np.int64)

    num_late = min(len(order), _NUM_LATE)
    return Chain(
        order=order.copy(),
        mode=mode.copy(),
        rank=integers(num_jobs),
        late=integers(num_late),
        new_order=order.copy(),
        new_mode=mode.copy(),
        new_rank=integers(num_jobs),
        new_late=integers(num_late),
        best_order=order.copy(),
        best_mode=mode.copy(),
        next_rank=integers(len(order) + 1),
        values=np.full(3, np.inf),
        counts=integers(1),
        chance=new_chance(seed),
    )


@part
def _enter(
    arrays: Arrays, state: State, scratch: Scratch, task: Task, chain: Chain, cost: int, objective: int
) -> None:
    """Make the solution in `new_order` and `new_mode` the current one, whatever it costs."""
    for rank in range(len(chain.new_order)):
        chain.new_rank[chain.new_order[rank]] = rank
    value = decode(
        arrays, state, scratch, task, chain.new_order, chain.new_mode, chain.next_rank, cost, PRUNED
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
    enters: bool,
) -> None:
    """Make steps that do not increase the cost; after too many without progress, perturb the best solution.

    With `enters`, begin with the solution in `new_order` and `new_mode`, whatever it costs.
    """
    is_new, left = enters, num_steps
    while is_new or left > 0:
        if not is_new:
            left -= 1
            if chain.counts[STALE] >= task.patience:
                _perturb(task, chain)
                is_new = True
        if is_new:
            is_new = False
            _enter(arrays, state, scratch, task, chain, cost, objective)
            continue
        chain.counts[STALE] += 1
        _copy(chain.order, chain.new_order)
        _copy(chain.mode, chain.new_mode)
        _copy(chain.rank, chain.new_rank)
        for _ in range(1 + below(chain.chance, 2)):
            _change(task, chain)
        value = decode(
            arrays,
            state,
            scratch,
            task,
            chain.new_order,
            chain.new_mode,
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
    _copy(chain.new_mode, chain.mode)
    _copy(chain.new_rank, chain.rank)
    _copy(chain.new_late, chain.late)
    reached = total_cost(arrays, state, task, objective)
    if reached < chain.values[BEST]:
        chain.values[BEST] = reached
        _copy(chain.order, chain.best_order)
        _copy(chain.mode, chain.best_mode)


@part
def _perturb(task: Task, chain: Chain) -> None:
    """Go back to the best solution and change it more than a step would."""
    _copy(chain.best_order, chain.new_order)
    _copy(chain.best_mode, chain.new_mode)
    for rank in range(len(chain.new_order)):
        chain.new_rank[chain.new_order[rank]] = rank
    for _ in range(_NUM_PERTURBING):
        _change(task, chain)


@part
def _change(task: Task, chain: Chain) -> None:
    move(task, chain.new_order, chain.new_mode, chain.new_rank, chain.late, chain.chance)


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
