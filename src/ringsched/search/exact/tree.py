"""The tree of the branch and bound: the path to the present node, and the options at its next level."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.engine.state import Floats, Integers
from ringsched.jit import by_pointer, kernel, part
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


@by_pointer
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
    """Return a stack for paths of up to `num_levels`."""
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


@kernel
def copy(stack: Stack, level: int) -> None:
    """Make the next level like this one, with no choice tried."""
    below = level + 1
    stack.time[below] = stack.time[level]
    stack.within[below] = stack.within[level]
    stack.loose[below] = stack.loose[level]
    stack.cursor[below] = 0
    stack.last[below] = stack.last[level]
    stack.closed[below] = False
    for job in range(stack.option.shape[1]):
        stack.option[below, job] = stack.option[level, job]
        stack.placed[below, job] = stack.placed[level, job]
        stack.fresh[below, job] = stack.fresh[level, job]
        stack.remaining[below, job] = stack.remaining[level, job]
        stack.start[below, job] = stack.start[level, job]
        stack.finish[below, job] = stack.finish[level, job]
    for server in range(stack.free.shape[1]):
        stack.free[below, server] = stack.free[level, server]
        stack.free_before[below, server] = stack.free_before[level, server]
    for link in range(stack.load.shape[1]):
        stack.load[below, link] = stack.load[level, link]
    stack.slowed[below] = stack.slowed[level]
    stack.slowed_before[below] = stack.slowed_before[level]


@kernel
def choose(instance: Instance, stack: Stack, level: int, option: int) -> None:
    """Start an option at the next level."""
    copy(stack, level)
    below, job = level + 1, instance.job_of[option]
    stack.last[below] = job
    stack.start[below, job] = stack.time[level]
    if stack.within[level]:
        stack.loose[below] = True
        stack.slowed_before[below] = stack.slowed[level]
    else:
        # Further jobs that start at this instant come later in the order.
        stack.cursor[below] = instance.first_option[job + 1]
    _occupy(instance, stack, below, option, stack.within[level])


@part
def _occupy(instance: Instance, stack: Stack, level: int, option: int, fresh: bool) -> None:
    job = instance.job_of[option]
    stack.option[level, job] = option
    stack.placed[level, job] = option
    stack.fresh[level, job] = fresh
    stack.remaining[level, job] = instance.iterations[job]
    stack.slowed[level] |= instance.slowed[option]
    for server in range(len(instance.capacity)):
        stack.free[level, server] -= instance.held[option, server]
    if not fresh:
        count(instance, stack, level, option, 1)


@kernel
def count(instance: Instance, stack: Stack, level: int, option: int, by: int) -> None:
    """Put a job on the links it crosses, or take it off."""
    for link in range(stack.load.shape[1]):
        stack.load[level, link] += by * ((instance.links[option] >> link) & 1)


@kernel
def begin(instance: Instance, stack: Stack) -> None:
    """Set the first level: time 0, and the jobs that run already."""
    stack.time[0] = 0.0
    stack.within[0] = stack.loose[0] = stack.closed[0] = False
    stack.cursor[0] = 0
    stack.last[0] = -1
    stack.option[0, :] = WAITING
    stack.fresh[0, :] = False
    stack.load[0, :] = 0
    stack.slowed[0] = stack.slowed_before[0] = 0
    for server in range(len(instance.capacity)):
        stack.free[0, server] = instance.capacity[server]
        stack.free_before[0, server] = -1
    stack.counters[LEVEL] = 0


@kernel
def begin_running(instance: Instance, stack: Stack, job: int) -> None:
    """Start a job that runs already, on its one option."""
    _occupy(instance, stack, 0, instance.first_option[job], False)
    stack.start[0, job] = 0.0


@kernel
def next_option(instance: Instance, stack: Stack, level: int) -> int:
    """Return the next option that may start at this level, or -1."""
    for option in range(stack.cursor[level], len(instance.job_of)):
        if _may_start(instance, stack, level, option):
            stack.cursor[level] = option + 1
            return option
    stack.cursor[level] = len(instance.job_of)
    return -1


@part
def _may_start(instance: Instance, stack: Stack, level: int, option: int) -> bool:
    job = instance.job_of[option]
    if not is_ready(instance, stack, level, job):
        return False
    if not fits(instance, option, stack.free, level) or _has_double(instance, stack, level, option):
        return False
    if stack.within[level]:
        return _may_start_within(instance, stack, level, option)
    if job < stack.last[level] or not is_open(
        instance, option, stack.time[level], stack.time[level] + instance.shortest[option]
    ):
        return False
    if len(instance.window_end) > 0:  # earlier it might have met a window
        return True
    # A job that could have started earlier without slowing another is never better off starting now.
    return not (
        instance.release[job] < stack.time[level]
        and instance.links[option] & stack.slowed_before[level] == 0
        and fits(instance, option, stack.free_before, level)
    )


@part
def _may_start_within(instance: Instance, stack: Stack, level: int, option: int) -> bool:
    """Only who would have harmed another before starts between events.

    Each set is chosen in one order only: always the first job that may start.
    """
    if instance.links[option] & stack.slowed[level] == 0:
        return False
    job, last = instance.job_of[option], stack.last[level]
    return job > last or instance.links[option] & stack.slowed_before[level] == 0


@kernel
def is_ready(instance: Instance, stack: Stack, level: int, job: int) -> bool:
    """Return whether a job waits, is released, and no like one should start before it."""
    if stack.option[level, job] != WAITING or instance.release[job] > stack.time[level]:
        return False
    twin = instance.twin[job]
    return twin < 0 or stack.option[level, twin] != WAITING


@kernel
def fits(instance: Instance, option: int, free: Integers, level: int) -> bool:
    """Return whether every server has GPUs enough."""
    for server in range(len(instance.capacity)):
        if instance.held[option, server] > free[level, server]:
            return False
    return True


@kernel
def is_open(instance: Instance, option: int, begin: float, end: float) -> bool:
    """Return whether none of its servers is unavailable at some time from `begin` to `end`."""
    for server in range(len(instance.capacity)):
        if instance.held[option, server] > 0:
            for at in range(instance.window_first[server], instance.window_first[server + 1]):
                if instance.window_begin[at] < end and begin < instance.window_end[at]:
                    return False
    return True


@part
def _has_double(instance: Instance, stack: Stack, level: int, option: int) -> bool:
    """Return whether exchanging two servers that are alike now gives an option that is tried instead."""
    for server in range(len(instance.capacity)):
        other = instance.like[server]
        if other < 0 or instance.held[option, other] >= instance.held[option, server]:
            continue
        if _are_alike(instance, stack, level, server, other):
            return True
    return False


@part
def _are_alike(instance: Instance, stack: Stack, level: int, server: int, other: int) -> bool:
    if stack.free_before[level, server] != stack.free_before[level, other]:
        return False
    before = stack.slowed_before[level]
    if (before >> server) & 1 != (before >> other) & 1:
        return False
    for job in range(len(instance.gpus)):
        running = stack.option[level, job]
        if running >= 0 and instance.held[running, server] != instance.held[running, other]:
            return False
    return True
