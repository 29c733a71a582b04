"""From one level to the next: a copy of the state, and a job that starts."""

from __future__ import annotations

from ringsched.jit import kernel, part
from ringsched.search.exact.instance import Instance
from ringsched.search.exact.stack import LEVEL, WAITING, Stack


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
        # The others in this instant come later in the order.
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
