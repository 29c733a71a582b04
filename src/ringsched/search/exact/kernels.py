"""The search itself: which jobs start now, on which GPUs; then time moves on."""

from __future__ import annotations

from ringsched.engine.clock import SLACK
from ringsched.jit import kernel, part
from ringsched.search.exact.choices import next_option
from ringsched.search.exact.instance import Instance
from ringsched.search.exact.levels import choose
from ringsched.search.exact.node_bound import node_bound
from ringsched.search.exact.passing_time import move_on
from ringsched.search.exact.stack import ENDED, FOUND, FOUND_LOOSE, LEVEL, NODES, Stack


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
        if value > stack.limit[0]:
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
