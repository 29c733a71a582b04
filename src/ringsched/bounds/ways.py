"""How each queued job can run: in one server or spread over several, from when on, and how long at least.

Running jobs keep their GPUs until they end. Their earliest ends say when a server, or the cluster, has enough
GPUs for a queued job.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from ringsched.bounds.fastest import fastest_of
from ringsched.engine.problem import Problem, problem_of
from ringsched.engine.simulate import run_events
from ringsched.model.derived import derived_once


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


@derived_once
def ways_of(problem: Problem) -> Ways:
    """Return the ways of all jobs."""
    fastest = fastest_of(problem)
    ends = running_ends(problem)
    eligible = problem.eligibility
    free = [_free(problem, ends, allowed) for allowed in eligible.classes]
    ways = []
    for job in problem.queued:
        in_one, in_several = free[eligible.class_of[job]]
        gpus, release = problem.gpus[job], fastest.start[job]
        for packed, since, duration in (
            (True, in_one[gpus], fastest.packed[job]),
            (False, in_several[gpus], fastest.spread[job]),
        ):
            if duration < math.inf and since < math.inf:
                ways.append(Way(job, packed, max(release, since), duration))
    return Ways(tuple(ways), ends)


def running_ends(problem: Problem) -> dict[int, float]:
    """Return the instants before which running jobs cannot end.

    Where the number of jobs on a link says all, a job more slows other jobs or leaves them as they are. So
    no plan ends a running job earlier than the running jobs among themselves do. Other models may speed a
    job up when one more comes: there each job counts as alone.
    """
    running = sorted(problem.running)
    if not running or not problem.fabric.model.is_counting:
        return {job: problem.best_case[job] for job in running}
    jobs = tuple(problem.scenario.jobs[job] for job in running)
    alone = problem_of(problem.scenario.replace(jobs=jobs))
    run = run_events(alone, lambda _: math.inf)
    return dict(zip(running, run.finishes, strict=True))


def required(problem: Problem) -> Iterator[tuple[int, list[int], list[int]]]:
    """Yield, for each set of servers that jobs require: a job that may use them, the servers, and its jobs.

    Its jobs are all queued ones that may use no other servers.
    """
    eligible = problem.eligibility
    seen = set()
    for setter in problem.queued:
        allowed = eligible.classes[eligible.class_of[setter]]
        if all(allowed) or allowed in seen:
            continue
        seen.add(allowed)
        inside = [
            all(map(allowed.__getitem__, (at for at, is_in in enumerate(other) if is_in)))
            for other in eligible.classes
        ]
        counted = [job for job in problem.queued if inside[eligible.class_of[job]]]
        yield setter, [at for at, is_in in enumerate(allowed) if is_in], counted


def _free(
    problem: Problem, ends: Mapping[int, float], allowed: Sequence[bool]
) -> tuple[dict[int, float], dict[int, float]]:
    """Return, by size, when so many GPUs of some servers are free at the earliest: in one server, and in all.

    Infinity means never.
    """
    sizes = {problem.gpus[job] for job in problem.queued}
    held: dict[int, list[tuple[float, int]]] = {}
    for job, gpus in problem.running.items():
        for gpu in gpus:
            held.setdefault(problem.server_of[gpu], []).append((ends[job], 1))
    servers = [server for server in range(problem.num_servers) if allowed[server]]
    capacity = problem.network.capacity
    in_one = dict.fromkeys(sizes, math.inf)
    for number, holds in {(capacity[server], tuple(held.get(server, ()))) for server in servers}:
        for size, time in _free_from(number, list(holds), sizes).items():
            in_one[size] = min(in_one[size], time)
    everywhere = [each for server in servers for each in held.get(server, ())]
    return in_one, _free_from(sum(capacity[server] for server in servers), everywhere, sizes)


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
