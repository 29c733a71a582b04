"""No plan below a node of the search does better than this."""

from __future__ import annotations

import math

from ringsched.engine.clock import duration_at
from ringsched.jit import kernel, part
from ringsched.search.exact.instance import Instance
from ringsched.search.exact.tree import ENDED, WAITING, Stack


@kernel
def duration(instance: Instance, iterations: float, speed: float) -> float:
    """Return how long `iterations` take, in whole slots when slotted."""
    if instance.slotted:
        return float(duration_at(True, iterations, speed))
    return iterations / speed


@kernel
def node_bound(instance: Instance, stack: Stack, level: int) -> float:
    """Return a lower bound on the objective: as if no job slowed another from here on."""
    num_running = _rank_running(instance, stack, level)
    if len(instance.weight) == 0:
        return _bound_of_largest(instance, stack, level, num_running)
    return _bound_of_sum(instance, stack, level, num_running)


@part
def _rank_running(instance: Instance, stack: Stack, level: int) -> int:
    """Set the earliest end of every running job and sort them by it; return how many there are."""
    number = 0
    for job in range(len(instance.gpus)):
        option = stack.option[level, job]
        if option < 0:
            continue
        left = duration(instance, stack.remaining[level, job], instance.alone[option])
        stack.end[job] = min(stack.time[level] + left, stack.start[level, job] + instance.limit[job])
        at = number
        while at > 0 and stack.end[stack.by_end[at - 1]] > stack.end[job]:
            stack.by_end[at] = stack.by_end[at - 1]
            at -= 1
        stack.by_end[at] = job
        number += 1
    return number


@part
def _bound_of_largest(instance: Instance, stack: Stack, level: int, num_running: int) -> float:
    now, limit = stack.time[level], stack.limit[0]
    num_gpus = instance.capacity.sum()
    value, area = 0.0, 0.0
    for job in range(len(instance.gpus)):
        option = stack.option[level, job]
        if option == ENDED:
            value = max(value, _worth(instance, job, stack.finish[level, job]))
            continue
        left = instance.best[job]
        if option == WAITING:
            value = max(value, _worth(instance, job, max(now, instance.release[job]) + left))
        else:
            left = stack.end[job] - now
            value = max(value, _worth(instance, job, stack.end[job]))
        area += instance.gpus[job] * left
    if instance.last:
        value = max(
            value, now + _whole(instance, area / num_gpus), now + _few_at_once(instance, stack, level)
        )
    for job in range(len(instance.gpus)):
        if value > limit:
            return value
        if stack.option[level, job] == WAITING:
            enough = instance.since[job] + value / instance.pace[job]
            finish = _earliest_finish(instance, stack, level, num_running, job, enough)
            value = max(value, _worth(instance, job, finish))
    return value


@part
def _worth(instance: Instance, job: int, finish: float) -> float:
    """Return the value of a job that ends then, of which the largest counts."""
    return float(instance.pace[job] * (finish - instance.since[job]))


@part
def _whole(instance: Instance, duration: float) -> float:
    return math.ceil(duration - 1e-9) if instance.slotted else duration


@part
def _few_at_once(instance: Instance, stack: Stack, level: int) -> float:
    """Return how long jobs of some size or more take, if as many as fit run at a time: the smallest."""
    now, num_jobs = stack.time[level], len(instance.gpus)
    num_gpus = instance.capacity.sum()
    longest = 0.0
    for smallest in range(num_jobs):
        if stack.option[level, instance.by_size[smallest]] == ENDED:
            continue
        at_once, taken, total = 0, 0, 0.0
        for at in range(smallest, num_jobs):
            job = instance.by_size[at]
            option = stack.option[level, job]
            if option == ENDED:
                continue
            taken += instance.gpus[job]
            if taken <= num_gpus:
                at_once += 1
            total += instance.best[job] if option == WAITING else stack.end[job] - now
        longest = max(longest, _whole(instance, total / at_once))
    return longest


@part
def _bound_of_sum(instance: Instance, stack: Stack, level: int, num_running: int) -> float:
    """Return the larger of: every job as early as it can be; one wide machine, Smith's rule."""
    ended, apart = 0.0, 0.0
    for job in range(len(instance.gpus)):
        option = stack.option[level, job]
        if option == ENDED:
            ended += instance.weight[job] * stack.finish[level, job]
        elif option == WAITING:
            finish = _earliest_finish(instance, stack, level, num_running, job, -math.inf)
            apart += instance.weight[job] * finish
        else:
            apart += instance.weight[job] * stack.end[job]
    return ended + max(apart, _squashed(instance, stack, level))


@part
def _squashed(instance: Instance, stack: Stack, level: int) -> float:
    """Return the least weighted sum of finishes if the areas could be poured into all GPUs at once.

    A job ends half of what it has left after the mean instant of that; these instants are earliest
    if areas are poured one after another, by area over weight (bounds/completion.py has the argument).
    """
    now, number = stack.time[level], 0
    for job in range(len(instance.gpus)):
        if stack.option[level, job] == ENDED:
            continue
        left = instance.best[job] if stack.option[level, job] == WAITING else stack.end[job] - now
        stack.end[job] = instance.gpus[job] * left
        at = number
        while at > 0 and _is_before(instance, stack, job, stack.by_end[at - 1]):
            stack.by_end[at] = stack.by_end[at - 1]
            at -= 1
        stack.by_end[at] = job
        number += 1
    total, area = 0.0, 0.0
    num_gpus = instance.capacity.sum()
    for at in range(number):
        job = stack.by_end[at]
        own = stack.end[job]
        mean = now + (area + own / 2) / num_gpus
        total += instance.weight[job] * (mean + own / instance.gpus[job] / 2)
        area += own
    return total


@part
def _is_before(instance: Instance, stack: Stack, job: int, other: int) -> bool:
    return stack.end[job] * instance.weight[other] < stack.end[other] * instance.weight[job]


@part
def _earliest_finish(
    instance: Instance, stack: Stack, level: int, num_running: int, job: int, enough: float
) -> float:
    """Return the earliest finish over all placements, each when its GPUs can be free at the earliest.

    Stops at a placement that ends by `enough`.
    """
    earliest = math.inf
    ready = max(stack.time[level], instance.release[job])
    for option in range(instance.first_option[job], instance.first_option[job + 1]):
        if ready + instance.shortest[option] >= earliest:
            break  # all later options take longer still
        start = ready
        for server in range(len(instance.capacity)):
            start = max(start, _free_at(instance, stack, level, num_running, server, option))
        start = _after_windows(instance, option, start)
        earliest = min(earliest, start + instance.shortest[option])
        if earliest <= enough:
            break
    return earliest


@part
def _after_windows(instance: Instance, option: int, start: float) -> float:
    """Return the first instant from which on its servers are available as long as it runs at least."""
    moved = len(instance.window_end) > 0
    while moved:
        moved = False
        for server in range(len(instance.capacity)):
            if instance.held[option, server] > 0:
                for at in range(instance.window_first[server], instance.window_first[server + 1]):
                    ends = start + instance.shortest[option]
                    if instance.window_begin[at] < ends and start < instance.window_end[at]:
                        start = instance.window_end[at]
                        moved = True
    return start


@part
def _free_at(
    instance: Instance, stack: Stack, level: int, num_running: int, server: int, option: int
) -> float:
    missing = instance.held[option, server] - stack.free[level, server]
    at = 0
    time = 0.0
    while missing > 0 and at < num_running:
        running = stack.by_end[at]
        missing -= instance.held[stack.option[level, running], server]
        time = stack.end[running]
        at += 1
    return time
