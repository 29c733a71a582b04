"""Eligibility for every rule: servers that a job may not use are hidden while the rule chooses.

A rule sees a hidden server as one without idle GPUs. So no rule, ours or the user's, needs to know of labels
and windows. Only rules that look at the capacity of servers skip those in `scratch.barred`.
"""

from __future__ import annotations

from ringsched.engine.eligibility import may_start
from ringsched.engine.state import IDLE, NUM_IDLE, UNAVAILABLE, Arrays, Integers, State
from ringsched.jit import kernel, part
from ringsched.rules.layout import is_split
from ringsched.rules.shared import Scratch


@kernel
def hide(arrays: Arrays, state: State, scratch: Scratch, job: int) -> None:
    """Hide the servers on which the job may not start now; `reveal` shows them again."""
    scratch.selected[:] = -1  # what LBSGF keeps is about other servers
    for server in range(arrays.num_servers):
        barred = not may_start(arrays.permits, job, server, state.now[0])
        scratch.barred[server] = barred
        scratch.hidden[server] = _cover(arrays, state, server, 0) if barred else 0


@kernel
def reveal(arrays: Arrays, state: State, scratch: Scratch) -> None:
    """Show the servers again that `hide` has hidden."""
    scratch.selected[:] = -1
    for server in range(arrays.num_servers):
        scratch.barred[server] = False
        _uncover(arrays, state, server, scratch.hidden[server])


@kernel
def narrow(arrays: Arrays, state: State, scratch: Scratch, each: int) -> None:
    """Leave exactly `each` idle GPUs, the least loaded, on every server with so many, and none elsewhere."""
    for server in range(arrays.num_servers):
        kept = each if state.num_idle[server] >= each else 0
        scratch.narrowed[server] = _cover(arrays, state, server, kept)


@kernel
def widen(arrays: Arrays, state: State, scratch: Scratch) -> None:
    """Undo `narrow`."""
    for server in range(arrays.num_servers):
        _uncover(arrays, state, server, scratch.narrowed[server])


@part
def _cover(arrays: Arrays, state: State, server: int, kept: int) -> int:
    """Take the idle GPUs of a server beyond the first few out of view; return how many."""
    first, covered = arrays.first_gpu[server], state.num_idle[server] - kept
    for at in range(first + kept, first + kept + covered):
        state.holder[state.idle[at]] = UNAVAILABLE
    state.num_idle[server] = kept
    state.counts[NUM_IDLE] -= covered
    return covered


@part
def _uncover(arrays: Arrays, state: State, server: int, covered: int) -> None:
    first = arrays.first_gpu[server] + state.num_idle[server]
    for at in range(first, first + covered):
        state.holder[state.idle[at]] = IDLE
    state.num_idle[server] += covered
    state.counts[NUM_IDLE] += covered


@kernel
def is_balanced(arrays: Arrays, state: State, job: int) -> bool:
    """Whether the chosen GPUs, ascending, are equally many on every server, and on as many as must be."""
    wanted, at, each = arrays.gpus[job], 0, 0
    while at < wanted:
        first, server = at, arrays.server_of[state.chosen[at]]
        while at < wanted and arrays.server_of[state.chosen[at]] == server:
            at += 1
        if each == 0:
            each = at - first
        if at - first != each:
            return False
    return is_split(arrays, job, wanted // each)


@kernel
def may_start_as_planned(arrays: Arrays, state: State, job: int, planned: Integers) -> bool:
    """Whether no window begins too early for a job that starts now on its planned GPUs."""
    if not arrays.permits.restricted[job]:
        return True
    offset = arrays.gpu_first[job]
    for at in range(offset, offset + arrays.gpus[job]):
        if not may_start(arrays.permits, job, arrays.server_of[planned[at]], state.now[0]):
            return False
    return True
