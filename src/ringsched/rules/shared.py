"""What placement rules share: scratch arrays, charges to GPUs, the best of many GPUs, a job's pace alone."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.contention.network import CORE
from ringsched.contention.traffic import inside, tau_at
from ringsched.engine.columns import job_columns
from ringsched.engine.heap import heapify, not_noted, sink
from ringsched.engine.problem import Problem
from ringsched.engine.state import Arrays, Floats, Integers, State
from ringsched.errors import InputError
from ringsched.jit import by_pointer, kernel, part
from ringsched.model.derived import derived_once

CHARGE_UNITS = 10**6  # millionths of a slot, or microseconds
MAX_LOAD = 2**62  # far enough below the largest int64
ANY_NUMBER = 2**31  # of jobs on a link


def estimate(problem: Problem, job: int) -> float:
    """Return ρ̂_j in the clock's units: as stated, or the best case; of a running job what remains."""
    stated = problem.scenario.jobs[job].estimate_s
    if stated is None:
        return problem.best_case[job]
    whole = problem.clock.units(stated)
    return min(whole * (problem.iterations[job] / problem.scenario.jobs[job].iterations), problem.limit[job])


def estimates_of(problem: Problem) -> Floats:
    """Return ρ̂ of every job."""
    estimates = problem.columns.best_case
    estimated = job_columns(problem.scenario).estimated
    if estimated:
        estimates = estimates.copy()
        estimates[list(estimated)] = [estimate(problem, job) for job in estimated]
    return estimates


def overestimate(problem: Problem, estimates: Floats) -> float:
    """Return u >= 1: the most that an estimate is above a best case (section 5, part 3)."""
    best_case = problem.columns.best_case
    return 1.0 if estimates is best_case else float((estimates / best_case).max(initial=1.0))


@derived_once
def charges(problem: Problem) -> Integers:
    """Return ρ̂_j / u for each job, rounded half to even.

    u, the `overestimate`, is the same for every policy.
    """
    estimates = estimates_of(problem)
    result = np.rint(CHARGE_UNITS * estimates / overestimate(problem, estimates))
    # The limit is far below the largest int64, so that the sum may be rounded.
    if math.fsum(result * problem.columns.gpus) > MAX_LOAD:
        raise InputError(
            "take too long in all for loads to be counted exactly", field="the jobs", place="jobs"
        )
    return result.astype(np.int64)


@by_pointer
class Queue(NamedTuple):
    """What a trial is given besides the cluster."""

    origin: float  # of a plan's starts: what is one instant counted from 0 is one; else 0
    release: Floats  # of each job
    arrivals: Integers  # jobs to be placed, by release
    rank: Integers  # of each job: its place in the queue order
    job_at: Integers  # of each rank: its job
    charge: Integers  # of each job
    needed: Floats  # of each job: λ_j G_j
    running: Integers  # jobs that run at time 0, on the GPUs in `planned`
    planned: Integers  # GPUs of each job, where they are given
    uniforms: Floats  # random numbers, one for each GPU of a job to be placed
    waiting: Integers  # scratch: a heap of ranks


@by_pointer
class Scratch(NamedTuple):
    """Preallocated arrays; their content is only meaningful to the rule that wrote it."""

    servers: Integers  # all servers, in order
    no_tie: Floats  # zero for each server
    order: Integers  # servers, as far as LBSGF sorted them
    selected: Integers  # which of them it took, for which job, at which version of the loads
    eligible: Integers  # GPUs
    drawn: Integers  # how many random numbers were used
    idle_below: Integers  # of each node
    taken: NDArray[np.bool_]  # of each server: chosen already, or not to be chosen
    below: Integers  # of each node: GPUs chosen at or below it
    links: Integers  # links that would be crossed ...
    num_links: Integers  # ... and how many, one number
    neighbours: Integers  # jobs on them
    barred: NDArray[np.bool_]  # of each server: whether the job may not use it ...
    hidden: Integers  # ... and how many of its idle GPUs are hidden for that
    narrowed: Integers  # of each server: how many idle GPUs are hidden for a balanced layout
    whole_key: Integers  # of each server: by what it is sorted ...
    rest_key: Floats  # ... among equals


def new_scratch(arrays: Arrays) -> Scratch:
    """Return scratch arrays for a cluster."""
    num_servers, num_gpus = arrays.num_servers, len(arrays.server_of)
    return Scratch(
        servers=np.arange(num_servers),
        no_tie=np.zeros(num_servers),
        order=np.arange(num_servers),
        selected=np.full(4, -1, dtype=np.int64),
        eligible=np.zeros(num_gpus, dtype=np.int64),
        drawn=np.zeros(1, dtype=np.int64),
        idle_below=np.zeros(len(arrays.capacity), dtype=np.int64),
        taken=np.zeros(num_servers, dtype=np.bool_),
        below=np.zeros(len(arrays.capacity), dtype=np.int64),
        links=np.zeros(len(arrays.capacity), dtype=np.int64),
        num_links=np.zeros(1, dtype=np.int64),
        neighbours=np.zeros(len(arrays.gpus), dtype=np.int64),
        barred=np.zeros(num_servers, dtype=np.bool_),
        hidden=np.zeros(num_servers, dtype=np.int64),
        narrowed=np.zeros(num_servers, dtype=np.int64),
        whole_key=np.zeros(num_servers, dtype=np.int64),
        rest_key=np.zeros(num_servers),
    )


@kernel
def least(arrays: Arrays, state: State, wanted: int, limit: int, servers: Integers, tie: Floats) -> bool:
    """Choose the `wanted` idle GPUs with the least (load, tie of the server, GPU); False if too few.

    Only GPUs of `servers` with a load of at most `limit`. The first `wanted` are taken as they come; if
    there are more, those taken become a heap with the worst on top, which better ones replace. Each
    server's idle GPUs are sorted by (load, GPU), so a server is left as soon as its next GPU is no
    better than the worst one chosen: for most, one look is enough.
    """
    chosen = state.chosen
    num_chosen = 0
    is_heap = False
    for server in servers:
        first = arrays.first_gpu[server]
        for at in range(first, first + state.num_idle[server]):
            gpu = state.idle[at]
            if state.load[gpu] > limit:
                break
            if num_chosen < wanted:
                chosen[num_chosen] = gpu
                num_chosen += 1
                continue
            if not is_heap:
                heapify(chosen, wanted, _is_worse, not_noted, (state.load, arrays.server_of, tie))
                is_heap = True
            if not _is_worse((state.load, arrays.server_of, tie), chosen[0], gpu):
                break
            chosen[0] = gpu
            sink(chosen, wanted, 0, _is_worse, not_noted, (state.load, arrays.server_of, tie))
    if num_chosen < wanted:
        return False
    sort(chosen, wanted)
    return True


@kernel
def sort(values: Integers, size: int) -> None:
    """Sort the first `size` values: Shell's method, which needs no memory."""
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for at in range(gap, size):
            value, place = values[at], at
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value
        gap //= 3


@part
def _is_worse(context: tuple[Integers, Integers, Floats], gpu: int, other: int) -> bool:
    """Compare by (load, tie of the server, GPU); the worst one is on top of the heap."""
    load, server_of, tie = context
    if load[gpu] != load[other]:
        return load[gpu] > load[other]
    mine, theirs = tie[server_of[gpu]], tie[server_of[other]]
    return mine > theirs or (mine == theirs and gpu > other)


@kernel
def alone(arrays: Arrays, state: State, scratch: Scratch, job: int) -> tuple[float, bool]:
    """Return tau on the chosen GPUs, ascending, without contention, and whether its links have other jobs."""
    links, wanted, below = arrays.links, arrays.gpus[job], scratch.below
    num_on_link = state.traffic.num_on_link
    gbps, shares_links, num_servers, at = math.inf, False, 0, 0
    while at < wanted:
        server = arrays.server_of[state.chosen[at]]
        first = at
        while at < wanted and arrays.server_of[state.chosen[at]] == server:
            at += 1
        held = at - first
        num_servers += 1
        if held > 1:
            gbps = min(gbps, inside(links, held))
        if held < wanted:
            gbps = min(gbps, links.alone_gbps[server])
            shares_links = shares_links or num_on_link[server] > 0
        node = links.parent_of[server]
        while node != CORE:
            below[node] = 0
            node = links.parent_of[node]
    if num_servers > 1:
        for at in range(wanted):
            node = links.parent_of[arrays.server_of[state.chosen[at]]]
            while node != CORE:
                below[node] += 1
                node = links.parent_of[node]
        for at in range(wanted):
            node = links.parent_of[arrays.server_of[state.chosen[at]]]
            while node != CORE and below[node] < wanted:  # above a node with all of it there is all of it
                gbps = min(gbps, links.alone_gbps[node])
                shares_links = shares_links or num_on_link[node] > 0
                node = links.parent_of[node]
    return tau_at(links, job, gbps, num_servers), shares_links
