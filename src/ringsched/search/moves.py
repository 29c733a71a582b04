"""Small changes of a solution, and how often each kind is made: the more, the more it has improved.

The weights follow counts of improvements and of simulated events, as in adaptive large neighbourhood search,
never the clock.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ringsched.engine.state import Arrays, Integers
from ringsched.jit import by_pointer, kernel, part
from ringsched.search.chance import below
from ringsched.search.solution import NEVER, Solution, Task, Trace

# Whom a move is about.
LATE = 0  # one of the jobs that end last
ANY = 1
WAITED = 2  # the one of three that waited longest for its area
NUM_AIMS = 3

# What is done.
EARLIER = 0  # to an earlier place in the order
ANYWHERE = 1
NEAR = 2  # a few places away
BEFORE_STARTED = 3  # before a job that started while it waited
EXCHANGE = 4  # with any job
EXCHANGE_PEERS = 5  # with a job of the same size, which leaves all other jobs where they are
MODE = 6  # another placement mode
MODE_OF_NEIGHBOURS = 7  # one placement mode for several jobs in a row
BLOCK = 8  # it blocks, or no longer
NUM_KINDS = 9

_PERIOD = 200  # steps after which weights follow what was seen
_LEAST_WEIGHT = 30  # so that no kind dies out
_MOST_WEIGHT = 3000
_MOST_TRIES = 6
_MOST_NEIGHBOURS = 8
_FARTHEST = 6  # places away, as a power of 2


@by_pointer
class Wheel(NamedTuple):
    """Weights of pairs of an aim and a kind, and what was seen of them."""

    weights: Integers
    efforts: Integers  # events simulated
    gains: Integers  # improvements
    used: Integers  # pairs used in this step, -1 if none
    counts: Integers  # one number: steps since the last update


def new_wheel() -> Wheel:
    """Return equal weights."""
    size = NUM_AIMS * NUM_KINDS

    def filled(length: int, value: int) -> Integers:
        return np.full(length, value, dtype=np.int64)

    return Wheel(filled(size, 300), filled(size, 0), filled(size, 0), filled(2, -1), filled(1, 0))


@kernel
def change(
    arrays: Arrays,
    task: Task,
    trace: Trace,
    solution: Solution,
    late: Integers,
    wheel: Wheel,
    turn: int,
    chance: Integers,
) -> int:
    """Change one thing; return the first event at which the schedule may change."""
    pair = _drawn(wheel.weights, chance)
    wheel.used[turn] = pair
    aim, kind = pair // NUM_KINDS, pair % NUM_KINDS
    order, rank = solution.order, solution.rank
    if aim == LATE:
        job = late[below(chance, len(late))]
    else:
        job = order[below(chance, len(order))]
        if aim == WAITED:
            for _ in range(2):
                job = _longer_waiting(arrays, task, trace, job, order[below(chance, len(order))])
    if kind in (MODE, MODE_OF_NEIGHBOURS):
        mode = task.usable[below(chance, len(task.usable))]
        last = rank[job]
        if kind == MODE_OF_NEIGHBOURS:
            last = min(len(order) - 1, last + below(chance, _MOST_NEIGHBOURS))
        first = NEVER
        for place in range(rank[job], last + 1):
            other = order[place]
            if solution.mode[other] != mode:
                solution.mode[other] = mode
                first = min(first, _first_idle(trace, other, arrays.gpus[other]))
        return first
    if kind == BLOCK:
        solution.blocks[job] = 1 - solution.blocks[job]
        return _first_idle(trace, job, 1) if solution.blocks[job] == 1 else trace.stopped[job]
    place = rank[job]
    if kind in (EXCHANGE, EXCHANGE_PEERS):
        other = order[below(chance, len(order))]
        if kind == EXCHANGE_PEERS:
            begin = task.peer_first[job]
            other = task.peers[begin + below(chance, task.peer_end[job] - begin)]
        to = rank[other]
        first = _first_between(trace, order, min(place, to), max(place, to))
        _put(order, rank, other, place)
        _put(order, rank, job, to)
        return first
    to = _target(trace, order, rank, job, kind, chance)
    first = _first_between(trace, order, min(place, to), max(place, to))
    _insert(order, rank, job, to)
    return first


@part
def _target(trace: Trace, order: Integers, rank: Integers, job: int, kind: int, chance: Integers) -> int:
    """Return the place to which a job moves."""
    place = rank[job]
    if kind == NEAR:
        distance = 1 + below(chance, 2 ** (1 + below(chance, _FARTHEST)))
        to = place - distance if below(chance, 2) == 0 else place + distance
        return int(max(0, min(len(order) - 1, to)))
    if kind == BEFORE_STARTED:
        for _ in range(_MOST_TRIES):
            other = order[below(chance, len(order))]
            if trace.arrived[job] <= trace.began[other] < trace.began[job] and rank[other] < place:
                return int(rank[other])
    if kind != ANYWHERE and place > 0:
        return below(chance, place)
    return below(chance, len(order))


@part
def _longer_waiting(arrays: Arrays, task: Task, trace: Trace, job: int, other: int) -> int:
    """Return that one of two jobs that waited longer for its area, by weight."""
    mine = (trace.starts[job] - task.submit[job]) * task.weight[job]
    theirs = (trace.starts[other] - task.submit[other]) * task.weight[other]
    mine *= task.best_case[other] * arrays.gpus[other]
    theirs *= task.best_case[job] * arrays.gpus[job]
    return other if theirs > mine else job


@part
def _first_idle(trace: Trace, job: int, wanted: int) -> int:
    """Return the first event since the job came at which so many GPUs were idle."""
    event = int(trace.arrived[job])
    while event < len(trace.idle) - 1 and event < trace.began[job] and trace.idle[event] < wanted:
        event += 1
    return event


@part
def _first_between(trace: Trace, order: Integers, low: int, high: int) -> int:
    """Return the first event at which one of the jobs of these ranks started, or held back others.

    Before it all of them wait, whatever their order.
    """
    first = NEVER
    for rank in range(low, high + 1):
        first = min(first, trace.began[order[rank]], trace.stopped[order[rank]])
    return first


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


@part
def _drawn(weights: Integers, chance: Integers) -> int:
    """Return a place in `weights`, each as likely as it weighs."""
    total = 0
    for weight in weights:
        total += weight
    left = below(chance, total)
    at = 0
    while left >= weights[at]:
        left -= weights[at]
        at += 1
    return at


@kernel
def learn(wheel: Wheel, num_events: int, gain: int) -> None:
    """Note what a step took and brought; now and then, weights follow."""
    for turn in range(len(wheel.used)):
        pair = wheel.used[turn]
        if pair >= 0:
            wheel.efforts[pair] += num_events
            wheel.gains[pair] += gain
        wheel.used[turn] = -1
    wheel.counts[0] += 1
    if wheel.counts[0] < _PERIOD:
        return
    wheel.counts[0] = 0
    total_gain, total_effort = 0, 1
    for pair in range(len(wheel.weights)):
        total_gain += wheel.gains[pair]
        total_effort += wheel.efforts[pair]
    if total_gain == 0:
        return
    for pair in range(len(wheel.weights)):
        if wheel.efforts[pair] > 0:
            # 300 is the weight of a pair that gains as much for its effort as all do together.
            seen = 300 * wheel.gains[pair] * total_effort // (total_gain * wheel.efforts[pair])
            weight = (4 * wheel.weights[pair] + seen) // 5
            wheel.weights[pair] = max(_LEAST_WEIGHT, min(_MOST_WEIGHT, weight))
        wheel.efforts[pair] //= 2
        wheel.gains[pair] //= 2
