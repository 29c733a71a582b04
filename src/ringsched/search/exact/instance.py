"""A problem as the branch and bound sees it: for every job, all the ways to place it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.contention.network import shape_of
from ringsched.engine.problem import Problem
from ringsched.engine.state import Floats, Integers
from ringsched.jit import by_pointer
from ringsched.model.eligibility import ANY_PARTS, EQUAL_PARTS
from ringsched.search.exact.measure import Measure

Counts = tuple[int, ...]  # GPUs on each server: which ones they are makes no difference


@by_pointer
class Instance(NamedTuple):
    """What does not change during the search.

    Jobs are in the order in which they are tried. An option is one way to place one job; the options of
    a job are consecutive, the fastest first. Sets of links are bits of an integer.
    """

    slotted: bool
    whole: bool  # whether the objective is a whole number
    last: bool  # whether the objective is the last finish
    weight: Floats  # of each job in the sum of finishes; none when the largest value counts
    since: Floats  # of each job: its value is pace * (finish - since)
    pace: Floats
    release: Floats
    iterations: Floats
    limit: Floats  # of each job: how long it runs at most
    gpus: Integers
    is_fixed: NDArray[np.bool_]  # of each job: whether it runs already
    by_size: Integers  # the jobs, those with the fewest GPUs first
    twin: Integers  # of each job: the like one that starts no later, or -1
    first_option: Integers  # of each job, and their number at the end
    job_of: Integers  # of each option
    held: NDArray[np.int64]  # of each option: GPUs on each server
    links: Integers  # of each option: whose uplinks it crosses ...
    slowed: Integers  # ... and on which of them others slow it
    alone: Floats  # of each option: its speed with no other job around
    speed: NDArray[np.float64]  # of each option, link, and number of jobs there: as that link allows
    shortest: Floats  # of each option: how long it takes alone
    best: Floats  # of each job: the shortest of its options
    capacity: Integers  # of each server: GPUs that can be used
    like: Integers  # of each server: the one before it that is its like, or -1
    window_first: Integers  # of each server: its windows, in which it is unavailable; their number at the end
    window_begin: Floats
    window_end: Floats


class Choices(NamedTuple):
    """The jobs in the order of the instance, and the counts behind each option."""

    jobs: list[int]
    counts: list[Counts]


def instance_of(problem: Problem, measure: Measure) -> tuple[Instance, Choices]:
    """Return the instance of a problem, and how to read its answers."""
    jobs = _trial_order(problem)
    options = [_fastest_first(problem, job) for job in jobs]
    flat = [option for own in options for option in own]
    first = np.concatenate(([0], np.cumsum([len(own) for own in options]))).astype(np.int64)
    alone = np.array([option.alone for option in flat])
    shortest = np.array([option.shortest for option in flat])
    table = np.array([option.speeds for option in flat])
    return Instance(
        slotted=problem.clock.slotted,
        whole=problem.clock.slotted and measure.is_whole,
        last=measure.is_last_finish,
        weight=np.array([measure.weights[job] for job in jobs] if measure.weights else [], dtype=np.float64),
        since=np.array([measure.since[job] for job in jobs], dtype=np.float64),
        pace=np.array([measure.paces[job] for job in jobs], dtype=np.float64),
        release=np.array([problem.release[job] for job in jobs], dtype=np.float64),
        iterations=np.array([problem.iterations[job] for job in jobs], dtype=np.float64),
        limit=np.array([problem.limit[job] for job in jobs], dtype=np.float64),
        gpus=np.array([problem.gpus[job] for job in jobs], dtype=np.int64),
        by_size=np.argsort([problem.gpus[job] for job in jobs], kind="stable").astype(np.int64),
        is_fixed=np.array([job in problem.running for job in jobs], dtype=np.bool_),
        twin=np.array(_twins(problem, jobs, measure), dtype=np.int64),
        first_option=first,
        job_of=np.repeat(np.arange(len(jobs)), np.diff(first)).astype(np.int64),
        held=np.array([option.counts for option in flat], dtype=np.int64),
        links=np.array([sum(1 << link for link in option.links) for option in flat], dtype=np.int64),
        slowed=np.array(
            [
                sum(1 << link for link in option.links if option.speeds[link, -1] < option.alone)
                for option in flat
            ],
            dtype=np.int64,
        ),
        alone=alone,
        speed=table,
        shortest=shortest,
        best=np.array([shortest[start] for start in first[:-1]]),
        capacity=np.array(problem.network.capacity[: problem.num_servers], dtype=np.int64),
        like=np.array(_like_servers(problem), dtype=np.int64),
        window_first=np.concatenate(
            (np.zeros(1, dtype=np.int64), np.cumsum([len(each) for each in problem.windows], dtype=np.int64))
        ),
        window_begin=np.array([begin for each in problem.windows for begin, _ in each], dtype=np.float64),
        window_end=np.array([end for each in problem.windows for _, end in each], dtype=np.float64),
    ), Choices(jobs, [option.counts for option in flat])


def count_options(problem: Problem) -> int:
    """Return in how many ways the jobs can be placed, one by one."""
    capacity = problem.network.capacity[: problem.num_servers]
    ways = [1]  # ways[g]: to take g GPUs of the servers so far
    for size in capacity:
        ways = [
            sum(ways[max(0, gpus - size) : gpus + 1])
            for gpus in range(min(len(ways) + size, max(problem.gpus) + 1))
        ]
    return sum(ways[problem.gpus[job]] for job in problem.queued) + len(problem.running)


def _trial_order(problem: Problem) -> list[int]:
    """Jobs that run already, then those with the most work: what is decided first should matter most."""
    area = [gpus * best for gpus, best in zip(problem.gpus, problem.best_case, strict=True)]
    return sorted(range(problem.num_jobs), key=lambda job: (job not in problem.running, -area[job], job))


class _Option(NamedTuple):
    """One way to place a job: GPUs of each server, links crossed, and iterations per unit of time."""

    counts: Counts
    links: tuple[int, ...]
    alone: float
    speeds: NDArray[np.float64]  # by link, and number of jobs on it
    shortest: float  # its duration alone


def _fastest_first(problem: Problem, job: int) -> list[_Option]:
    options = [_option(problem, job, counts) for counts in _options(problem, job)]
    return sorted(options, key=lambda option: (option.shortest, option.counts))


def _options(problem: Problem, job: int) -> list[Counts]:
    if job not in problem.running:
        splits = _splits(problem.gpus[job], _capacities(problem, job))
        return [counts for counts in splits if _suits(counts, problem.parts[job])]
    held = [problem.server_of[gpu] for gpu in problem.running[job]]
    return [tuple(held.count(server) for server in range(problem.num_servers))]


def _suits(counts: Counts, parts: int) -> bool:
    """Whether a job that must be split into so many parts may have these GPUs on each server."""
    held = [count for count in counts if count]
    return parts == ANY_PARTS or (len(set(held)) == 1 and parts in (EQUAL_PARTS, len(held)))


def _capacities(problem: Problem, job: int) -> list[int]:
    """Return how many GPUs of each server the job may use."""
    may_use = set(problem.may_use(job))
    return [
        size if at in may_use else 0
        for at, size in enumerate(problem.network.capacity[: problem.num_servers])
    ]


def _splits(gpus: int, capacity: Sequence[int]) -> Iterator[Counts]:
    """Yield all ways to take `gpus` GPUs out of servers of these capacities."""
    if not capacity:
        if gpus == 0:
            yield ()
        return
    for here in range(min(gpus, capacity[0]), -1, -1):
        for rest in _splits(gpus - here, capacity[1:]):
            yield (here, *rest)


def _duration(problem: Problem, job: int, speed: float) -> float:
    iterations = problem.iterations[job]
    duration = float(-(-iterations // int(speed))) if problem.clock.slotted else iterations / speed
    return min(duration, problem.limit[job])


def _option(problem: Problem, job: int, counts: Counts) -> _Option:
    """Return what it means to place a job so.

    More jobs on a link never make an iteration shorter, so the speed among others is the least that
    any of the crossed links allows.
    """
    network, model, clock = problem.network, problem.fabric.model, problem.clock
    shape = shape_of(network, {at: held for at, held in enumerate(counts) if held})
    ring = problem.fabric.ring(problem.works[job], shape)

    def speed(bandwidth_gbps: float) -> float:
        tau = ring.tau(bandwidth_gbps)
        return clock.rate(tau) if clock.slotted else 1 / tau

    most = max(1, sum(gpus >= 2 for gpus in problem.gpus))
    table = np.full((len(network.uplink_gbps), most + 1), np.inf)
    for link in shape.links:
        table[link] = [
            speed(network.uplink_gbps[link] / model.factor(max(1, num_jobs))) for num_jobs in range(most + 1)
        ]
    alone = min([speed(np.inf), *table[:, 1].tolist()])
    return _Option(counts, shape.links, alone, table, _duration(problem, job, alone))


def _twins(problem: Problem, jobs: list[int], measure: Measure) -> list[int]:
    """Return for each place the last earlier one with a job that differs in nothing but its name."""
    seen: dict[object, int] = {}
    twins = []
    for place, job in enumerate(jobs):
        kind = (
            job if job in problem.running else None,
            problem.gpus[job],
            problem.iterations[job],
            problem.works[job],
            problem.release[job],
            problem.limit[job],
            problem.parts[job],
            problem.eligibility.class_of[job],
            measure.weights[job] if measure.weights else 0,
            measure.since[job],
            measure.paces[job],
        )
        twins.append(seen.get(kind, -1))
        seen[kind] = place
    return twins


def _like_servers(problem: Problem) -> list[int]:
    network = problem.network
    seen: dict[object, int] = {}
    like = []
    for server in range(network.num_servers):
        classes = tuple(allowed[server] for allowed in problem.eligibility.classes)
        limits = (network.capacity[server], problem.windows[server], classes)
        kind = (network.uplink_gbps[server], network.parent_of[server], limits)
        like.append(seen.get(kind, -1))
        seen[kind] = server
    return like
