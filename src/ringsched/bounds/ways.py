"""How each queued job can run: in one server or spread over several, from when on, and how long at least.

Running jobs keep their GPUs until they end. Their earliest ends say when a server, or the cluster, has enough
GPUs for a queued job.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from ringsched.bounds.fastest import Fastest
from ringsched.engine.problem import Problem, problem_of
from ringsched.rules.runner import Runner
from ringsched.rules.table import BEST_FIT


class Way(NamedTuple):
    """One way to run a queued job, in the clock's units."""

    job: int
    packed: bool  # in one server; else on two or more
    start: float  # no earlier
    duration: float  # no shorter


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways of all queued jobs, and the earliest ends of the running ones."""

    queued: tuple[Way, ...]  # those of one job are consecutive
    running: Mapping[int, float]

    def earliest_ends(self, num_jobs: int) -> list[float]:
        """Return the instants before which the jobs cannot end."""
        ends = [math.inf] * num_jobs
        for way in self.queued:
            ends[way.job] = min(ends[way.job], way.start + way.duration)
        for job, end in self.running.items():
            ends[job] = end
        return ends


def ways_of(problem: Problem, fastest: Fastest) -> Ways:
    """Return the ways of all jobs."""
    ends = running_ends(problem)
    in_one, in_several = _free_in_one(problem, ends), _free_in_all(problem, ends)
    ways = []
    for job in problem.queued:
        gpus, release = problem.gpus[job], problem.release[job]
        for packed, free, duration in (
            (True, in_one, fastest.packed[job]),
            (False, in_several, fastest.spread[job]),
        ):
            if duration < math.inf:
                ways.append(Way(job, packed, max(release, free[gpus]), duration))
    return Ways(tuple(ways), ends)


def running_ends(problem: Problem) -> dict[int, float]:
    """Return the instants before which running jobs cannot end.

    Where the number of jobs on a link says all, a job more slows the others or leaves them as they are. So
    no plan ends a running job earlier than the running jobs among themselves do. Other models may speed a
    job up when one more comes: there each job counts as alone.
    """
    running = sorted(problem.running)
    if not running or not problem.fabric.model.is_counting:
        return {job: problem.best_case[job] for job in running}
    jobs = tuple(problem.scenario.jobs[job] for job in running)
    alone = problem_of(problem.scenario.replace(jobs=jobs))
    runner = Runner(alone, [0.0] * len(jobs))
    runner.run(BEST_FIT)
    return dict(zip(running, runner.last().finishes, strict=True))


def _free_in_all(problem: Problem, ends: Mapping[int, float]) -> dict[int, float]:
    """Return, by size, when so many GPUs of the cluster are free at the earliest."""
    held = [(ends[job], problem.gpus[job]) for job in ends]
    sizes = {problem.gpus[job] for job in problem.queued}
    return _free_from(problem.num_gpus, held, sizes)


def _free_in_one(problem: Problem, ends: Mapping[int, float]) -> dict[int, float]:
    """Return, by size, when so many GPUs of one server are free at the earliest; infinity for never."""
    sizes = {problem.gpus[job] for job in problem.queued}
    held: dict[int, list[tuple[float, int]]] = {}
    for job, gpus in problem.running.items():
        for gpu in gpus:
            held.setdefault(problem.server_of[gpu], []).append((ends[job], 1))
    found = dict.fromkeys(sizes, math.inf)
    capacity_of = problem.network.capacity
    kinds = {(capacity_of[server], tuple(held.get(server, ()))) for server in range(problem.num_servers)}
    for capacity, holds in kinds:
        for size, time in _free_from(capacity, list(holds), sizes).items():
            found[size] = min(found[size], time)
    return found


def _free_from(capacity: int, held: list[tuple[float, int]], sizes: set[int]) -> dict[int, float]:
    """Return when so many of some GPUs are free, if each of those held is until its end."""
    queue: list[tuple[float, int]] = []
    for each in held:
        heappush(queue, each)
    free, now = capacity - sum(gpus for _, gpus in held), 0.0
    found = {}
    for size in sorted(sizes):
        while free < size and queue:
            now, gpus = heappop(queue)
            free += gpus
        found[size] = now if free >= size else math.inf
    return found
