"""The search itself: which jobs start now, on which GPUs; then time moves on."""

from __future__ import annotations

import math

from ringsched.engine.clock import SLACK
from ringsched.jit import kernel, part
from ringsched.search.exact.instance import Instance
from ringsched.search.exact.node_bound import duration, node_bound
from ringsched.search.exact.tree import (
    ENDED,
    FOUND,
    FOUND_LOOSE,
    LEVEL,
    NODES,
    SKIPPED,
    WAITING,
    Stack,
    choose,
    copy,
    count,
    fits,
    is_open,
    is_ready,
    next_option,
)


@kernel
def move_on(instance: Instance, stack: Stack, level: int, piece: float) -> bool:
    """Set the next level: the piece of time from now on, or the next instant; return False if none is."""
    inside = _could_wait(instance, stack, level)
    on_grid = instance.slotted and piece == 1.0
    if inside and piece == 0.0:
        stack.counters[SKIPPED] = 1
    if inside and piece > 0.0 and not on_grid and not stack.within[level]:
        copy(stack, level)
        stack.within[level + 1] = True
        stack.last[level + 1] = -1
        return True
    event = _next_event(instance, stack, level)
    time = event
    if piece > 0.0 and (inside or stack.within[level]):
        time = min(event, _end_of_piece(stack.time[level], piece))
    if time == math.inf:
        return False
    copy(stack, level)
    _advance(instance, stack, level, time)
    stack.within[level + 1] = time < event and not on_grid
    return True


@part
def _end_of_piece(now: float, piece: float) -> float:
    end = (math.floor(now / piece) + 1) * piece
    return end if end > now * (1 + SLACK) else end + piece


@part
def _could_wait(instance: Instance, stack: Stack, level: int) -> bool:
    """Return whether a job may gain by starting between now and the next event."""
    if stack.slowed[level] == 0:
        return False
    for option in range(len(instance.job_of)):
        if (
            instance.links[option] & stack.slowed[level]
            and is_ready(instance, stack, level, instance.job_of[option])
            and fits(instance, option, stack.free, level)
        ):
            return True
    return False


@part
def _speed(instance: Instance, stack: Stack, level: int, job: int) -> float:
    """Return the job's speed; one within the piece meets those that run already, and slows none."""
    option = stack.option[level, job]
    own = 1 if stack.fresh[level, job] else 0
    speed = instance.alone[option]
    for link in range(stack.load.shape[1]):
        if (instance.links[option] >> link) & 1:
            speed = min(speed, instance.speed[option, link, stack.load[level, link] + own])
    return speed


@part
def _next_event(instance: Instance, stack: Stack, level: int) -> float:
    """Return when a job ends or is released next; leave the end of each running job in the scratch."""
    now = stack.time[level]
    event = math.inf
    for job in range(len(instance.gpus)):
        if stack.option[level, job] >= 0:
            speed = _speed(instance, stack, level, job)
            end = now + duration(instance, stack.remaining[level, job], speed)
            stack.end[job] = min(end, stack.start[level, job] + instance.limit[job])
            event = min(event, stack.end[job])
        elif stack.option[level, job] == WAITING and instance.release[job] > now:
            event = min(event, instance.release[job])
    for end in instance.window_end:
        if end > now:
            event = min(event, end)
    return event


@part
def _meets_window(instance: Instance, stack: Stack, level: int) -> bool:
    """Return whether a job runs that did not end before a window of one of its servers.

    A loose path may have started it earlier, and jobs that ran from the beginning are left alone.
    """
    if len(instance.window_end) == 0 or stack.loose[level]:
        return False
    for job in range(len(instance.gpus)):
        option = stack.option[level, job]
        is_free = option >= 0 and not instance.is_fixed[job]
        if is_free and not is_open(instance, option, stack.start[level, job], stack.time[level]):
            return True
    return False


@part
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
                count(instance, stack, below, option, 1)


@part
def _end(instance: Instance, stack: Stack, level: int, job: int, time: float) -> None:
    option = stack.option[level, job]
    stack.option[level, job] = ENDED
    stack.finish[level, job] = time
    for server in range(len(instance.capacity)):
        stack.free[level, server] += instance.held[option, server]
    if stack.fresh[level, job]:
        stack.fresh[level, job] = False
    else:
        count(instance, stack, level, option, -1)


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
        option = next_option(instance, stack, level)
        if option >= 0:
            choose(instance, stack, level, option)
        elif not stack.closed[level]:
            stack.closed[level] = True
            if not move_on(instance, stack, level, piece):
                continue
        else:
            level -= 1
            continue
        stack.counters[NODES] += 1
        value = node_bound(instance, stack, level + 1)
        if value > stack.limit[0] or _meets_window(instance, stack, level + 1):
            continue
        if _all_ended(instance, stack, level + 1):
            _keep(instance, stack, level + 1, value)
            continue
        level += 1
    stack.counters[LEVEL] = level
    return level < 0


@part
def _all_ended(instance: Instance, stack: Stack, level: int) -> bool:
    for job in range(len(instance.gpus)):  # noqa: SIM110 - kernels know no generators
        if stack.option[level, job] != ENDED:
            return False
    return True


@part
def _keep(instance: Instance, stack: Stack, level: int, value: float) -> None:
    """Keep a plan that is better than all before; from now on only better ones are of interest."""
    row = 1 if stack.loose[level] else 0
    stack.counters[FOUND_LOOSE if row else FOUND] = 1
    stack.limit[1 + row] = value
    stack.limit[0] = value - 0.5 if instance.whole else value * (1 - SLACK)
    for job in range(len(instance.gpus)):
        stack.best_option[row, job] = stack.placed[level, job]
        stack.best_start[row, job] = stack.start[level, job]
