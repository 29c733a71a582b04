"""Which options may start at a level; what cannot be better is left out."""

from __future__ import annotations

from ringsched.engine.arrays import Integers
from ringsched.jit import kernel, part
from ringsched.search.exact.instance import Instance
from ringsched.search.exact.stack import WAITING, Stack


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
    if job < stack.last[level]:
        return False
    # What could have started a moment before, harming nobody, had better done so.
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
