"""The path from the root of the search to the present node, and what was found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.engine.arrays import Floats, Integers
from ringsched.search.exact.instance import Instance

# What `option` says of a job that has none.
WAITING = -1
ENDED = -2

# Places in `counters`.
LEVEL = 0
NODES = 1
SKIPPED = 2  # whether a start between events was left out
FOUND = 3  # whether a plan better than the limit was found ...
FOUND_LOOSE = 4  # ... and whether a loose one was


class Stack(NamedTuple):
    """One row a level: the state in which its next choice is made. Preallocated."""

    time: Floats
    within: NDArray[np.bool_]  # whether starts chosen here lie somewhere in the next piece of time
    loose: NDArray[np.bool_]  # whether such a start is part of the path
    cursor: Integers  # the next option to try
    last: Integers  # the job chosen before in this instant, or -1
    closed: NDArray[np.bool_]  # whether time has moved on from here
    option: NDArray[np.int64]  # of each job: how it runs, WAITING or ENDED
    placed: NDArray[np.int64]  # of each job: how it runs or ran
    fresh: NDArray[np.bool_]  # of each job: chosen in this piece of time, not yet counted on its links
    remaining: NDArray[np.float64]
    start: NDArray[np.float64]
    finish: NDArray[np.float64]
    free: NDArray[np.int64]  # of each server: idle GPUs
    load: NDArray[np.int64]  # of each link: jobs that cross it
    free_before: NDArray[np.int64]  # of each server: idle GPUs up to this instant
    slowed: Integers  # links on which some running job can be slowed
    slowed_before: Integers  # the same up to this instant, or before the last choice within a piece
    # scratch, and what was found
    end: Floats  # of each job: no earlier finish of a running one
    by_end: Integers  # running jobs by that
    counters: Integers
    limit: Floats  # only what is below is of interest; the value of the best plan; of the best loose one
    best_option: NDArray[np.int64]  # two rows: the best plan, the best loose one
    best_start: NDArray[np.float64]


def new_stack(instance: Instance, num_levels: int) -> Stack:
    """Return a stack with room for paths of `num_levels`."""
    num_jobs, num_servers, num_links = len(instance.gpus), len(instance.capacity), instance.speed.shape[1]

    def integers(*shape: int) -> NDArray[np.int64]:
        return np.zeros(shape, dtype=np.int64)

    return Stack(
        time=np.zeros(num_levels),
        within=np.zeros(num_levels, dtype=np.bool_),
        loose=np.zeros(num_levels, dtype=np.bool_),
        cursor=integers(num_levels),
        last=integers(num_levels),
        closed=np.zeros(num_levels, dtype=np.bool_),
        option=integers(num_levels, num_jobs),
        placed=integers(num_levels, num_jobs),
        fresh=np.zeros((num_levels, num_jobs), dtype=np.bool_),
        remaining=np.zeros((num_levels, num_jobs)),
        start=np.zeros((num_levels, num_jobs)),
        finish=np.zeros((num_levels, num_jobs)),
        free=integers(num_levels, num_servers),
        load=integers(num_levels, num_links),
        free_before=integers(num_levels, num_servers),
        slowed=integers(num_levels),
        slowed_before=integers(num_levels),
        end=np.zeros(num_jobs),
        by_end=integers(num_jobs),
        counters=integers(5),
        limit=np.zeros(3),
        best_option=integers(2, num_jobs),
        best_start=np.zeros((2, num_jobs)),
    )
