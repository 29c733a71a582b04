"""Small changes of the genes: a job earlier, two jobs exchanged, another habit."""

from __future__ import annotations

from ringsched.engine.arrays import Integers
from ringsched.jit import kernel, part
from ringsched.search.chance import below
from ringsched.search.decode import NUM_HABITS
from ringsched.search.task import Task

# In percent.
_LATE = 60  # moves of one of the jobs that end last
_EARLIER = 80  # of those, how many go to an earlier place for certain
_HABIT = 20
_PEERS = 40  # exchanges with a job of the same size, which leave the others where they are


@kernel
def move(
    task: Task, order: Integers, habit: Integers, rank: Integers, late: Integers, chance: Integers
) -> None:
    """Change one thing; `rank` is kept the inverse of `order`."""
    is_late = below(chance, 100) < _LATE
    job = late[below(chance, len(late))] if is_late else order[below(chance, len(order))]
    kind = below(chance, 100)
    if kind < _HABIT:
        habit[job] = below(chance, NUM_HABITS)
        return
    place = rank[job]
    if kind < _HABIT + _PEERS:
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
