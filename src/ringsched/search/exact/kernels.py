"""The search itself: which jobs start now, on which GPUs; then time moves on."""

from __future__ import annotations

import math

from ringsched.engine.arrays import Integers
from ringsched.engine.clock import SLACK
from ringsched.jit import kernel
from ringsched.search.exact.instance import Instance
from ringsched.search.exact.node_bound import duration, node_bound
from ringsched.search.exact.stack import (
    ENDED,
    FOUND,
    FOUND_LOOSE,
    LEVEL,
    NODES,
    SKIPPED,
    WAITING,
    Stack,
)


@kernel
def explore(instance: Instance, stack: Stack, piece: float, max_nodes: int) -> bool:
    """Go on for `max_nodes` nodes; return whether everything has been explored.

    `piece` says where jobs may start between events: 0 nowhere; 1 on every slot when slotted; else
    somewhere within pieces of this length, with the least harm and the most progress that any instant
    in the piece could have: such a path is loose, a bound and no plan.
    """
    level = stack.counters[LEVEL]
    last_node = stack.counters[NODES] + max_nodes
    while level >= 0 and stack.counters[NODES] < last_node:
        option = _next_option(instance, stack, level)
        if option >= 0:
            _choose(instance, stack, level, option)
        elif not stack.closed[level]:
            stack.closed[level] = True
            if not _move_on(instance, stack, level, piece):
                continue
        else:
            level -= 1
            continue
        stack.counters[NODES] += 1
        value = node_bound(instance, stack, level + 1)
        if value > stack.limit[0]:
            continue
        if _all_ended(instance, stack, level + 1):
            _keep(instance, stack, level + 1, value)
            continue
        level += 1
    stack.counters[LEVEL] = level
    return level < 0


@kernel
def _all_ended(instance: Instance, stack: Stack, level: int) -> bool:
    for job in range(len(instance.gpus)):  # noqa: SIM110 - kernels know no generators
        if stack.option[level, job] != ENDED:
            return False
    return True


@kernel
def _keep(instance: Instance, stack: Stack, level: int, value: float) -> None:
    """Keep a plan that is better than all before; from now on only better ones are of interest."""
    row = 1 if stack.loose[level] else 0
    stack.counters[FOUND_LOOSE if row else FOUND] = 1
    stack.limit[1 + row] = value
    stack.limit[0] = value - 0.5 if instance.whole else value * (1 - SLACK)
    for job in range(len(instance.gpus)):
        stack.best_option[row, job] = stack.placed[level, job]
        stack.best_start[row, job] = stack.start[level, job]


# Choices


@kernel
def _next_option(instance: Instance, stack: Stack, level: int) -> int:
    """Return the next option that may start at this level, or -1."""
    for option in range(stack.cursor[level], len(instance.job_of)):
        if _may_start(instance, stack, level, option):
            stack.cursor[level] = option + 1
            return option
    stack.cursor[level] = len(instance.job_of)
    return -1


@kernel
def _may_start(instance: Instance, stack: Stack, level: int, option: int) -> bool:
    job = instance.job_of[option]
    if not _is_ready(instance, stack, level, job):
        return False
    if not _fits(instance, option, stack.free, level) or _has_double(instance, stack, level, option):
        return False
    if stack.within[level]:
        return _may_start_within(instance, stack, level, option)
    if job < stack.last[level]:
        return False
    # What could have started a moment before, harming nobody, had better done so.
    return not (
        instance.release[job] < stack.time[level]
        and instance.links[option] & stack.slowed_before[level] == 0
        and _fits(instance, option, stack.free_before, level)
    )


@kernel
def _may_start_within(instance: Instance, stack: Stack, level: int, option: int) -> bool:
    """Only who would have harmed another before starts between events.

    Each set is chosen in one order only: always the first job that may start.
    """
    if instance.links[option] & stack.slowed[level] == 0:
        return False
    job, last = instance.job_of[option], stack.last[level]
    return job > last or instance.links[option] & stack.slowed_before[level] == 0


@kernel
def _is_ready(instance: Instance, stack: Stack, level: int, job: int) -> bool:
    if stack.option[level, job] != WAITING or instance.release[job] > stack.time[level]:
        return False
    twin = instance.twin[job]
    return twin < 0 or stack.option[level, twin] != WAITING


@kernel
def _fits(instance: Instance, option: int, free: Integers, level: int) -> bool:
    for server in range(len(instance.capacity)):
        if instance.held[option, server] > free[level, server]:
            return False
    return True


@kernel
def _has_double(instance: Instance, stack: Stack, level: int, option: int) -> bool:
    """Return whether exchanging two servers that are alike now gives an option that is tried instead."""
    for server in range(len(instance.capacity)):
        other = instance.like[server]
        if other < 0 or instance.held[option, other] >= instance.held[option, server]:
            continue
        if _are_alike(instance, stack, level, server, other):
            return True
    return False


@kernel
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


# Moves from one level to the next


@kernel
def _copy(stack: Stack, level: int) -> None:
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
def _choose(instance: Instance, stack: Stack, level: int, option: int) -> None:
    """Start an option at the next level."""
    _copy(stack, level)
    below, job = level + 1, instance.job_of[option]
    stack.last[below] = job
    stack.start[below, job] = stack.time[level]
    if stack.within[level]:
        stack.loose[below] = True
        stack.slowed_before[below] = stack.slowed[level]
    else:
        # The others in this instant come later in the order.
        stack.cursor[below] = instance.first_option[job + 1]
    _occupy(instance, stack, below, option, stack.within[level])


@kernel
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
        _count(instance, stack, level, option, 1)


@kernel
def _count(instance: Instance, stack: Stack, level: int, option: int, by: int) -> None:
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
def _move_on(instance: Instance, stack: Stack, level: int, piece: float) -> bool:
    """Set the next level: the piece of time from now on, or the next instant; return False if none is."""
    inside = _could_wait(instance, stack, level)
    on_grid = instance.slotted and piece == 1.0
    if inside and piece == 0.0:
        stack.counters[SKIPPED] = 1
    if inside and piece > 0.0 and not on_grid and not stack.within[level]:
        _copy(stack, level)
        stack.within[level + 1] = True
        stack.last[level + 1] = -1
        return True
    event = _next_event(instance, stack, level)
    time = event
    if piece > 0.0 and (inside or stack.within[level]):
        time = min(event, _end_of_piece(stack.time[level], piece))
    if time == math.inf:
        return False
    _copy(stack, level)
    _advance(instance, stack, level, time)
    stack.within[level + 1] = time < event and not on_grid
    return True


@kernel
def _end_of_piece(now: float, piece: float) -> float:
    end = (math.floor(now / piece) + 1) * piece
    return end if end > now * (1 + SLACK) else end + piece


@kernel
def _could_wait(instance: Instance, stack: Stack, level: int) -> bool:
    """Return whether a job may gain by starting between now and the next event."""
    if stack.slowed[level] == 0:
        return False
    for option in range(len(instance.job_of)):
        if (
            instance.links[option] & stack.slowed[level]
            and _is_ready(instance, stack, level, instance.job_of[option])
            and _fits(instance, option, stack.free, level)
        ):
            return True
    return False


@kernel
def _speed(instance: Instance, stack: Stack, level: int, job: int) -> float:
    """Return the job's speed; one within the piece meets those that run already, and slows none."""
    option = stack.option[level, job]
    own = 1 if stack.fresh[level, job] else 0
    speed = instance.alone[option]
    for link in range(stack.load.shape[1]):
        if (instance.links[option] >> link) & 1:
            speed = min(speed, instance.speed[option, link, stack.load[level, link] + own])
    return speed


@kernel
def _next_event(instance: Instance, stack: Stack, level: int) -> float:
    """Return when a job ends or is released next; leave the end of each running job in the scratch."""
    now = stack.time[level]
    event = math.inf
    for job in range(len(instance.gpus)):
        if stack.option[level, job] >= 0:
            speed = _speed(instance, stack, level, job)
            stack.end[job] = now + duration(instance, stack.remaining[level, job], speed)
            event = min(event, stack.end[job])
        elif stack.option[level, job] == WAITING and instance.release[job] > now:
            event = min(event, instance.release[job])
    return event


@kernel
def _advance(instance: Instance, stack: Stack, level: int, time: float) -> None:
    """Move the next level, a copy of this one, to `time`; `_next_event` has left the ends."""
    below = level + 1
    elapsed = time - stack.time[level]
    latest = time if instance.slotted else time + SLACK * max(1.0, time)
    stack.time[below] = time
    stack.last[below] = -1
    stack.slowed_before[below] = stack.slowed[level]
    for server in range(len(instance.capacity)):
        stack.free_before[below, server] = stack.free[level, server]
    for job in range(len(instance.gpus)):
        option = stack.option[level, job]
        if option >= 0:
            stack.remaining[below, job] -= elapsed * _speed(instance, stack, level, job)
            if stack.end[job] <= latest:
                _end(instance, stack, below, job, time)
    stack.slowed[below] = 0
    for job in range(len(instance.gpus)):
        option = stack.option[below, job]
        if option >= 0:
            stack.slowed[below] |= instance.slowed[option]
            if stack.fresh[below, job]:
                stack.fresh[below, job] = False
                _count(instance, stack, below, option, 1)


@kernel
def _end(instance: Instance, stack: Stack, level: int, job: int, time: float) -> None:
    option = stack.option[level, job]
    stack.option[level, job] = ENDED
    stack.finish[level, job] = time
    for server in range(len(instance.capacity)):
        stack.free[level, server] += instance.held[option, server]
    if stack.fresh[level, job]:
        stack.fresh[level, job] = False
    else:
        _count(instance, stack, level, option, -1)
