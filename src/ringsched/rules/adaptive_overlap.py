"""Adaptive overlap: share a link with one other job if that lowers the sum of completions.

The idea of AdaDUAL and Ada-SRSF of Wang et al. (2020), for whole jobs instead of single messages.
"""

from __future__ import annotations

import math

from ringsched.contention.sharing import iteration_time
from ringsched.contention.traffic import inside, tau_at
from ringsched.engine.events import done_in, remaining_now, time_for
from ringsched.engine.state import Arrays, State
from ringsched.jit import kernel, part
from ringsched.rules.free_links import over_free_links
from ringsched.rules.shared import Queue, Scratch


@kernel
def adaptive_overlap(
    arrays: Arrays, state: State, scratch: Scratch, queue: Queue, job: int, limit: int, kappa: int
) -> bool:
    """Choose GPUs with free links; else with one other job on a link at most, if that pays."""
    if over_free_links(arrays, state, scratch, job, 1):
        return True
    return over_free_links(arrays, state, scratch, job, 2) and _pays(arrays, state, scratch, job)


@part
def _pays(arrays: Arrays, state: State, scratch: Scratch, job: int) -> bool:
    """Compare the sum of the ends of the job and those it would slow: together, or one after the other.

    One after the other: it starts when the last of them has ended, and is alone. Together: it is slowed
    until the last of them has ended, and they until it has. Jobs on other links stay as they are.
    """
    num_others = _neighbours(arrays, state, scratch)
    last_apart = last_together = 0.0
    for at in range(num_others):
        remaining, apart_tau, shared_tau = _look(arrays, state, scratch, job, at)
        last_apart = max(last_apart, time_for(arrays, remaining, apart_tau))
        last_together = max(last_together, time_for(arrays, remaining, shared_tau))
    alone_tau, shared_tau = _taus(arrays, state, scratch, job)
    iterations = float(arrays.iterations[job])
    end = _end_beside(arrays, iterations, alone_tau, shared_tau, last_together)
    apart, together = last_apart + time_for(arrays, iterations, alone_tau), end
    for at in range(num_others):
        remaining, apart_tau, shared_tau = _look(arrays, state, scratch, job, at)
        apart += time_for(arrays, remaining, apart_tau)
        together += _end_beside(arrays, remaining, apart_tau, shared_tau, end)
    return together < apart


@part
def _look(arrays: Arrays, state: State, scratch: Scratch, job: int, at: int) -> tuple[float, float, float]:
    """Return what a neighbour has left, and its tau without and with `job` on its links."""
    other = scratch.neighbours[at]
    return (
        remaining_now(arrays, state, other),
        iteration_time(arrays.links, state.traffic, other),
        _slowed(arrays, state, scratch, job, other),
    )


@part
def _end_beside(arrays: Arrays, remaining: float, apart_tau: float, shared_tau: float, until: float) -> float:
    """Return when a job ends that is slowed until the other one has ended."""
    end = time_for(arrays, remaining, shared_tau)
    if end <= until:
        return end
    return until + time_for(arrays, remaining - done_in(arrays, until, shared_tau), apart_tau)


@part
def _neighbours(arrays: Arrays, state: State, scratch: Scratch) -> int:
    """List the jobs on the links in `scratch.links`, each once; no link has more than one."""
    neighbours, size = scratch.neighbours, 0
    for at in range(scratch.num_links[0]):
        link = scratch.links[at]
        if state.traffic.num_on_link[link] == 0:
            continue
        other = arrays.links.entry_job[state.traffic.on_link[arrays.links.link_first[link]]]
        known = False
        for place in range(size):
            known = known or neighbours[place] == other
        if not known:
            neighbours[size] = other
            size += 1
    return size


@part
def _taus(arrays: Arrays, state: State, scratch: Scratch, job: int) -> tuple[float, float]:
    """Return the job's tau on the chosen GPUs, alone and beside those on its links."""
    links, alone, shared = arrays.links, math.inf, math.inf
    num_servers = 0
    for server in range(arrays.num_servers):
        num_servers += scratch.below[server] > 0
        if scratch.below[server] > 1:
            alone = shared = min(alone, inside(links, scratch.below[server]))
    for at in range(scratch.num_links[0]):
        link = scratch.links[at]
        alone = min(alone, links.alone_gbps[link])
        num_jobs = state.traffic.num_on_link[link] + 1
        shared = min(shared, links.uplink_gbps[link] / links.factor[num_jobs])
    return tau_at(links, job, alone, num_servers), tau_at(links, job, shared, num_servers)


@part
def _slowed(arrays: Arrays, state: State, scratch: Scratch, job: int, other: int) -> float:
    """Return the tau of a running job with one more on the links that `job` would cross."""
    links, traffic = arrays.links, state.traffic
    bandwidth_gbps = traffic.free_gbps[other]
    first = links.entry_first[other]
    for entry in range(first, first + traffic.num_links[other]):
        link = traffic.entry_link[entry]
        num_jobs = traffic.num_on_link[link]
        if 0 < scratch.below[link] < arrays.gpus[job]:
            num_jobs += 1
        bandwidth_gbps = min(bandwidth_gbps, links.uplink_gbps[link] / links.factor[num_jobs])
    return tau_at(links, other, bandwidth_gbps, traffic.num_servers[other])
