"""One chain of the local search: change the solution a little, keep it if not worse, perturb it if stuck."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ringsched.engine.state import Arrays, Floats, Integers, State
from ringsched.jit import by_pointer, kernel, part
from ringsched.model.objective import COMPLETION, EXCESS, SLOWDOWN
from ringsched.rules.shared import Queue, Scratch
from ringsched.search.chance import below, new_chance
from ringsched.search.checkpoints import Checkpoints, copy
from ringsched.search.moves import Wheel, change, learn, new_wheel
from ringsched.search.schedule import FROM_START, PRUNED, decode, slowdown, total_cost
from ringsched.search.solution import NEVER, NUM_EVENTS, Solution, Task, Trace, Walk, new_solution

_NUM_LATE = 10  # the jobs that end last, which moves aim at and the tie-breaker counts
_NUM_PERTURBING = 2  # moves of one perturbation
_GAIN = 100  # of a better solution, for the choice of moves

# Places in `values`.
COST = 0  # of the current solution
TIE = 1
BEST = 2  # the objective of the best solution
_NUM_VALUES = 3

# Places in `counts`.
STALE = 0


@by_pointer
class Chain(NamedTuple):
    """The current, the new and the best solution; queued jobs only."""

    current: Solution
    new: Solution
    best: Solution
    trace: Trace  # of the current solution
    checkpoints: Checkpoints  # of the current solution
    walk: Walk
    wheel: Wheel
    late: Integers  # jobs that end last
    new_late: Integers
    values: Floats
    counts: Integers
    chance: Integers


def new_chain(start: Solution, trace: Trace, checkpoints: Checkpoints, walk: Walk, seed: str) -> Chain:
    """Return a chain that begins with this solution; `descend` evaluates it."""

    def copy() -> Solution:
        return new_solution(len(start.mode), start.order, start.mode, start.blocks)

    num_late = min(len(start.order), _NUM_LATE)
    return Chain(
        current=copy(),
        new=copy(),
        best=copy(),
        trace=trace,
        checkpoints=checkpoints,
        walk=walk,
        wheel=new_wheel(),
        late=np.zeros(num_late, dtype=np.int64),
        new_late=np.zeros(num_late, dtype=np.int64),
        values=np.full(_NUM_VALUES, np.inf),
        counts=np.zeros(1, dtype=np.int64),
        chance=new_chance(seed),
    )


@kernel
def copy_solution(source: Solution, target: Solution) -> None:
    """Make one solution what another is."""
    copy(source.order, target.order)
    copy(source.rank, target.rank)
    copy(source.mode, target.mode)
    copy(source.blocks, target.blocks)


@kernel
def evaluate(
    arrays: Arrays,
    state: State,
    scratch: Scratch,
    queue: Queue,
    task: Task,
    chain: Chain,
    cost: int,
    limit: float,
    checkpoint: int,
    records: bool,
) -> float:
    """Simulate the new solution of a chain."""
    return decode(
        arrays,
        state,
        scratch,
        queue,
        task,
        chain.new,
        chain.walk,
        chain.trace,
        chain.checkpoints,
        cost,
        limit,
        checkpoint,
        records,
    )


@kernel
def descend(
    arrays: Arrays,
    state: State,
    scratch: Scratch,
    queue: Queue,
    task: Task,
    chain: Chain,
    cost: int,
    objective: int,
    num_steps: int,
    enters: bool,
) -> None:
    """Make steps that do not increase the cost; after too many without progress, perturb the best solution.

    With `enters`, begin with the new solution, whatever it costs.
    """
    is_new, left = enters, num_steps
    while is_new or left > 0:
        if not is_new:
            left -= 1
            if chain.counts[STALE] >= task.patience:
                _perturb(arrays, task, chain)
                is_new = True
        checkpoint, limit = FROM_START, PRUNED
        if not is_new:
            chain.counts[STALE] += 1
            copy_solution(chain.current, chain.new)
            first = NEVER
            for turn in range(1 + below(chain.chance, 2)):
                first = min(first, _change(arrays, task, chain, turn))
            if first == NEVER:
                continue
            checkpoint = min(first // chain.checkpoints.stride, chain.checkpoints.counts[0] - 1)
            limit = chain.values[COST]
        began = chain.walk.counts[NUM_EVENTS]
        value = evaluate(arrays, state, scratch, queue, task, chain, cost, limit, checkpoint, is_new)
        gain = 0
        if is_new or value <= limit:
            tie = _tie(state, task, chain, cost)
            if is_new or value < limit or tie <= chain.values[TIE]:
                if is_new or value < limit or tie < chain.values[TIE]:
                    gain = _GAIN
                    chain.counts[STALE] = 0
                if not is_new:  # once more, to keep what happens
                    evaluate(arrays, state, scratch, queue, task, chain, cost, PRUNED, checkpoint, True)
                _accept(arrays, state, task, chain, value, tie, objective)
        if not is_new:
            learn(chain.wheel, chain.walk.counts[NUM_EVENTS] - began, gain)
        is_new = False


@part
def _accept(
    arrays: Arrays, state: State, task: Task, chain: Chain, value: float, tie: float, objective: int
) -> None:
    chain.values[COST] = value
    chain.values[TIE] = tie
    copy_solution(chain.new, chain.current)
    copy(chain.new_late, chain.late)
    reached = total_cost(arrays, state, task, objective) if value < PRUNED else PRUNED
    if reached < chain.values[BEST]:
        chain.values[BEST] = reached
        copy_solution(chain.new, chain.best)


@part
def _perturb(arrays: Arrays, task: Task, chain: Chain) -> None:
    """Go back to the best solution and change it more than a step would."""
    copy_solution(chain.best, chain.new)
    for _ in range(_NUM_PERTURBING):
        _change(arrays, task, chain, 0)
    chain.wheel.used[0] = -1


@part
def _change(arrays: Arrays, task: Task, chain: Chain, turn: int) -> int:
    return change(arrays, task, chain.trace, chain.new, chain.late, chain.wheel, turn, chain.chance)


@part
def _tie(state: State, task: Task, chain: Chain, cost: int) -> float:
    """Return the sum of the latest finishes, which tells schedules of one makespan apart.

    For slowdowns it is the sum of the largest.
    """
    late, size = chain.new_late, 0
    for job in chain.new.order:
        lateness = _lateness(state, task, cost, job)
        if size == len(late) and lateness <= _lateness(state, task, cost, late[size - 1]):
            continue
        place = min(size, len(late) - 1)
        while place > 0 and _lateness(state, task, cost, late[place - 1]) < lateness:
            late[place] = late[place - 1]
            place -= 1
        late[place] = job
        size = min(size + 1, len(late))
    if cost == COMPLETION:
        return 0.0
    total = 0.0
    for job in late:
        total += _lateness(state, task, cost, job)
    return total


@part
def _lateness(state: State, task: Task, cost: int, job: int) -> float:
    finish = state.finished[job]
    return slowdown(task, job, finish) if cost in (SLOWDOWN, EXCESS) else float(finish)
