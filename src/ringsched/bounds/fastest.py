"""The fastest run of a job: the exact minimum over all placements, without any other job, and its start.

The core's best case takes the fewest servers and the fastest uplink as if they always came together.
Here a job that spans servers gets only servers that exist: those behind slow uplinks slow it down, a job
that fits below no switch crosses uplinks of switches, and two of its GPUs in one server exchange over its
inside. Where the speed inside depends on the GPUs in use, the fastest one counts: a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.contention.network import CORE, Network
from ringsched.engine.problem import Problem
from ringsched.model.derived import derived_once

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Speed(NamedTuple):
    """What a placement gives a job: the slowest link of its ring, and how many servers it uses."""

    bandwidth_gbps: float
    num_servers: int


@dataclass(frozen=True, slots=True)
class Fastest:
    """Durations in the clock's units, of every job; infinite where there is no such placement.

    A running job has the one placement it has, with what remains to be done.
    """

    packed: tuple[float, ...]  # in one server
    spread: tuple[float, ...]  # over several
    best: tuple[float, ...]  # the shorter of the two
    start: tuple[float, ...]  # the earliest, an instant


@derived_once
def fastest_of(problem: Problem) -> Fastest:
    """Return the shortest durations of all jobs, in one server and spread over several."""
    largest = max(problem.network.capacity[: problem.num_servers])
    sizes = sorted({problem.gpus[job] for job in problem.queued if problem.gpus[job] >= 2})
    speeds = spread_speeds(problem.network, sizes)
    inside = {gpus: [Speed(problem.network.inside(gpus), 1)] for gpus in {1, *sizes} if gpus <= largest}
    packed, spread = _durations(problem, inside), _durations(problem, speeds)
    for job, gpus_held in problem.running.items():
        several = problem.shape(gpus_held).num_servers > 1
        packed[job] = math.inf if several else problem.best_case[job]
        spread[job] = problem.best_case[job] if several else math.inf
    best = tuple(map(min, packed, spread))
    return Fastest(tuple(packed), tuple(spread), best, earliest_starts(problem, best))


_ROUNDING = 1 - 1e-9


def earliest_starts(problem: Problem, durations: Sequence[float]) -> tuple[float, ...]:
    """Return the instants before which the jobs cannot start, if they take at least so long.

    A job starts at its release, or later because of windows. Servers that are open from its start for its
    whole duration, and that it may use, have enough GPUs for it. If they do not at its release, they first
    do at the end of a window.
    """
    eligibility = problem.eligibility
    if not eligibility.has_windows:
        return problem.release
    windows = [(begin, end, at) for at, each in enumerate(eligibility.windows) for begin, end in each]
    begins, ends, servers = (np.array(column) for column in zip(*windows, strict=True))
    capacity = np.array(problem.network.capacity[: problem.num_servers])
    usable = [np.where(allowed, capacity, 0) for allowed in eligibility.classes]

    def start(job: int) -> float:
        gpus = usable[eligibility.class_of[job]]
        release = problem.release[job]
        instants: list[float] = [release, *np.unique(ends[ends > release]).tolist()]
        for instant in instants:
            closed = (begins < (instant + durations[job]) * _ROUNDING) & (instant < ends)
            if gpus.sum() - gpus[np.unique(servers[closed])].sum() >= problem.gpus[job]:
                return instant
        return release  # the job fits nowhere, and another check finds that

    queued = frozenset(problem.queued)
    return tuple(start(job) if job in queued else problem.release[job] for job in range(problem.num_jobs))


def spread_speeds(network: Network, sizes: Sequence[int]) -> dict[int, list[Speed]]:
    """Return, for each size, the speeds of spread placements that no other beats in both respects."""
    found: dict[int, set[Speed]] = {gpus: set() for gpus in sizes}
    largest = max(network.capacity[: network.num_servers])
    # At least one of its GPUs is in another server.
    inside = [max(network.speeds_inside(min(gpus - 1, largest))) for gpus in sizes]
    for links, capacities in _pools(network):
        for gpus, speed in _fewest_servers(links, capacities, sizes, inside):
            found[gpus].add(speed)
        # One GPU on each server avoids the servers' insides.
        fastest = np.sort(links)[::-1].tolist()
        for gpus in sizes:
            if gpus <= len(fastest):
                found[gpus].add(Speed(fastest[gpus - 1], gpus))
    return {gpus: _undominated(speeds) for gpus, speeds in found.items()}


def _fewest_servers(
    links: Floats, capacities: Integers, sizes: Sequence[int], inside: Sequence[float]
) -> Iterator[tuple[int, Speed]]:
    """Yield, for every bandwidth of a link, the fewest servers that all reach it and hold each size.

    They are the largest ones. Slower links are worth a look only where they save servers.
    """
    fewest = np.full(len(sizes), np.iinfo(np.int64).max)
    for bandwidth in np.unique(links)[::-1].tolist():
        total = np.cumsum(capacities[links >= bandwidth])
        if len(total) < 2:
            continue
        needed = np.maximum(np.searchsorted(total, sizes) + 1, 2)
        better = np.flatnonzero((needed < fewest) & (needed <= len(total)))
        fewest[better] = needed[better]
        for at in better.tolist():
            within = math.inf if needed[at] >= sizes[at] else inside[at]
            yield sizes[at], Speed(min(bandwidth, within), int(needed[at]))


def _pools(network: Network) -> Iterator[tuple[Floats, Integers]]:
    """Yield the links and capacities of servers a job may spread over, the largest servers first.

    A pool is what is below one switch, or the core. A job that no switch further down holds whole
    crosses every uplink between its servers and that one.
    """
    members: dict[int, list[tuple[float, int]]] = {CORE: []}
    for at in sorted(range(network.num_servers), key=lambda at: -network.capacity[at]):
        uplink = math.inf
        for node in network.path(at):
            uplink = min(uplink, network.uplink_gbps[node])
            pool = members.setdefault(network.parent_of[node], [])
            pool.append((uplink, network.capacity[at]))
    for pool in members.values():
        links, capacities = zip(*pool, strict=True)
        usable = np.array(capacities) > 0
        yield np.array(links)[usable], np.array(capacities)[usable]


def _undominated(speeds: set[Speed]) -> list[Speed]:
    """Keep, by number of servers, only what is faster than with fewer."""
    kept: list[Speed] = []
    for speed in sorted(speeds, key=lambda speed: (speed.num_servers, -speed.bandwidth_gbps)):
        if not kept or speed.bandwidth_gbps > kept[-1].bandwidth_gbps:
            kept.append(speed)
    return kept


def _durations(problem: Problem, speeds: Mapping[int, Sequence[Speed]]) -> list[float]:
    """Return how long each job takes at the best speed of its size; infinity if there is none."""
    taus = []
    for kind in problem.kinds:
        best = math.inf
        for gbps, servers in speeds.get(kind.gpus, ()):
            best = min(best, problem.fabric.tau(kind.work, servers, gbps))
        taus.append(best)
    return problem.durations(taus)
