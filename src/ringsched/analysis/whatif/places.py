"""Candidate starts and placements of one more job in a given run, and the simulation of each."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ringsched.analysis.explain.parts import Floats, Integers, timelines_of
from ringsched.contention.network import Network
from ringsched.engine.problem import Problem
from ringsched.engine.state import Run
from ringsched.model.eligibility import ANY_PARTS, balanced_sizes

if TYPE_CHECKING:
    from ringsched.engine.simulate import LiveCluster


@dataclass(frozen=True, slots=True, eq=False)
class Idle:
    """The idle GPUs at one instant, and the jobs on links."""

    time: float
    gpus: Integers  # ascending
    until: Floats  # when the next job takes each; infinity if none does
    jobs_on_link: Sequence[int]  # of every node


class Occupancy:
    """The GPUs of a cluster during a run."""

    def __init__(self, problem: Problem, run: Run) -> None:
        held = [(gpu, job) for job, gpus in enumerate(run.gpus) for gpu in gpus]
        gpus, jobs = np.array(held, dtype=np.int64).reshape(-1, 2).T
        self._gpu = gpus
        self._start = np.array(run.starts, dtype=np.float64)[jobs]
        self._finish = np.array(run.finishes, dtype=np.float64)[jobs]
        self._usable = np.array(problem.available)
        shapes = [problem.shape(gpus) for gpus in run.gpus]
        # As lists, which are faster for single lookups; there are no jobs before the first instant.
        self._on_links = [
            (line.instants.tolist(), [0, *line.num_jobs.tolist()])
            for line in timelines_of(run, shapes, len(problem.network.uplink_gbps))
        ]

    def idle(self, time: float) -> Idle:
        """Return what is idle at an instant, once completions and starts there have happened."""
        busy = self._gpu[(self._start <= time) & (self._finish > time)]
        idle = self._usable.copy()
        idle[busy] = False
        until = np.full(len(idle), math.inf)
        later = self._start > time
        np.minimum.at(until, self._gpu[later], self._start[later])
        gpus = np.flatnonzero(idle)
        on_link = [counts[bisect_right(instants, time)] for instants, counts in self._on_links]
        return Idle(time, gpus, until[gpus], on_link)


Gpus = tuple[int, ...]


class Candidates:
    """Proposes placements for a job on servers that it may use, in its layout."""

    def __init__(self, problem: Problem, job: int, inside: float) -> None:
        self._network: Network = problem.network
        self._server_of = problem.server_of
        self._may_use = np.isin(problem.server_of, problem.may_use(job))  # of each GPU
        self._gpus = problem.gpus[job]
        self._parts = problem.parts[job]
        self._inside = inside  # how long it takes within one server

    def harmless(self, idle: Idle) -> Gpus | None:
        """Return GPUs of the tightest server that no job needs until the new job has ended."""
        return self._in_one(self._not_needed(idle))

    def _not_needed(self, idle: Idle) -> list[list[int]]:
        """Return the GPUs of every server that no job needs until the new job has ended."""
        return self._by_server(idle, idle.until >= idle.time + self._inside)

    def at(self, idle: Idle) -> set[Gpus]:
        """Return different placements at an instant, none if too few GPUs are idle."""
        if len(idle.gpus) < self._gpus:
            return set()
        free = self._by_server(idle, np.ones(len(idle.gpus), dtype=np.bool_))
        not_needed = self._not_needed(idle)
        places = {self._in_one(not_needed), self._in_one(free)}
        places.update(self._spread(free, idle))
        # Here no job has to wait, though links may be shared.
        places.update(self._spread(not_needed, idle))
        return {place for place in places if place is not None}

    def _by_server(self, idle: Idle, wanted: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[list[int]]:
        """Return the eligible idle GPUs of every server, those needed last first."""
        chosen = wanted & self._may_use[idle.gpus]
        gpus = idle.gpus[chosen]
        free: list[list[int]] = [[] for _ in range(self._network.num_servers)]
        for gpu in gpus[np.lexsort((gpus, -idle.until[chosen]))].tolist():
            free[self._server_of[gpu]].append(gpu)
        return free

    def _in_one(self, free: Sequence[Sequence[int]]) -> Gpus | None:
        """Return GPUs of the tightest server that fits, if the job may be on one server."""
        fits = [held for held in free if len(held) >= self._gpus and self._parts <= 1]
        return tuple(min(fits, key=len)[: self._gpus]) if fits else None

    def _spread(self, free: Sequence[Sequence[int]], idle: Idle) -> Iterator[Gpus]:
        """Yield placements over the fewest servers, over the quietest links, and below each switch."""
        on_link, servers = idle.jobs_on_link, [at for at, held in enumerate(free) if held]
        yield from self._taken(free, sorted(servers, key=lambda at: (-len(free[at]), at)))
        yield from self._taken(free, sorted(servers, key=lambda at: (on_link[at], -len(free[at]), at)))
        below: dict[int, list[tuple[int, int, int]]] = {}
        for at in servers:
            busiest = 0  # the most jobs on a link between the server and the switch
            for link, switch in pairwise(self._network.path(at)):
                busiest = max(busiest, on_link[link])
                below.setdefault(switch, []).append((busiest, -len(free[at]), at))
        for switch in sorted(below):
            yield from self._taken(free, [at for *_, at in sorted(below[switch])])

    def _taken(self, free: Sequence[Sequence[int]], servers: Sequence[int]) -> Iterator[Gpus]:
        """Yield all idle GPUs of one server after another until there are enough, if there ever are.

        For a balanced layout, as many of each, on as few servers as possible.
        """
        if self._parts != ANY_PARTS:
            for num_servers, each in balanced_sizes(self._gpus, len(servers), self._parts):
                fitting = [server for server in servers if len(free[server]) >= each][:num_servers]
                if len(fitting) == num_servers:
                    yield tuple(sorted(gpu for server in fitting for gpu in free[server][:each]))
                    return
            return
        taken: list[int] = []
        for server in servers:
            taken += free[server][: self._gpus - len(taken)]
            if len(taken) == self._gpus:
                yield tuple(sorted(taken))
                return


Choice = tuple[float, Gpus]  # start, in the clock's units, and place

# Simulations, each of which takes time in proportion to the jobs.
LEAST_TRIED, JOBS_TRIED = 25, 20_000


def choices(problem: Problem, run: Run) -> list[Choice]:
    """Return starts and places for the last job of a problem, the earliest first.

    No later start can be better than the first placement that certainly delays no job. If there are too
    many choices, some are left out, evenly.
    """
    job = problem.num_jobs - 1
    inside, best = _inside(problem, job), problem.best_case[job]
    occupancy, candidates = Occupancy(problem, run), Candidates(problem, job, inside)
    release, server_of = problem.release[job], problem.server_of
    reopenings = (end for of_server in problem.windows for _, end in of_server)
    instants = [release, *sorted({time for time in (*run.finishes, *reopenings) if time > release})]
    found: list[Choice] = []
    sure: list[Choice] = []  # tried in any case
    latest = math.inf
    for time in instants:
        idle = occupancy.idle(time)
        end = time + problem.worst_case[job]

        def is_open(gpus: Gpus, time: float = time, end: float = end) -> bool:
            return problem.eligibility.is_open((server_of[gpu] for gpu in gpus), time, end)

        places = [(time, gpus) for gpus in sorted(candidates.at(idle)) if is_open(gpus)]
        harmless = candidates.harmless(idle)
        if harmless is not None and not is_open(harmless):
            harmless = None
        if harmless is not None and time + inside < latest:
            latest = time + inside
            sure.append((time, harmless))
        elif time == instants[-1]:  # there every job fits
            sure += places
        if time == release:
            sure += places
        found += places
        if time + best > latest:
            break
    may_be_better = [choice for choice in found if choice[0] + alone(problem, job, choice[1]) <= latest]
    most = max(LEAST_TRIED, JOBS_TRIED // problem.num_jobs)
    return sorted({*sure, *_some(may_be_better, most)})


def alone(problem: Problem, job: int, gpus: Gpus) -> float:
    """Return how long a job takes alone on these GPUs."""
    clock, tau = problem.clock, problem.alone_tau(job, problem.shape(gpus))
    return min(clock.duration(problem.iterations[job], clock.rate(tau)), problem.limit[job])


def _inside(problem: Problem, job: int) -> float:
    """Return how long a job takes in one server; the best case of one that fits in none."""
    largest = max(problem.may_use(job), key=lambda server: problem.network.capacity[server])
    if problem.network.capacity[largest] < problem.gpus[job]:
        return problem.best_case[job]
    first = problem.first_gpu[largest]
    usable = [gpu for gpu in range(first, problem.first_gpu[largest + 1]) if problem.available[gpu]]
    return alone(problem, job, tuple(usable[: problem.gpus[job]]))


def _some(found: list[Choice], most: int) -> list[Choice]:
    """Return `found`, or `most` of it at even distances."""
    if len(found) <= most:
        return found
    return [found[at * len(found) // most] for at in range(most)]


def if_no_job_waits(problem: Problem, starts: Sequence[float], gpus: Sequence[Sequence[int]]) -> Run | None:
    """Run every job on its GPUs from its start, much faster than `follow`; None if a GPU is in use."""
    from ringsched.rules.runner import replay

    run = replay(problem, starts, gpus)
    on_time = all(actual == planned for actual, planned in zip(run.starts, starts, strict=True))
    return run if on_time else None


def follow(problem: Problem, starts: Sequence[float], gpus: Sequence[Sequence[int]]) -> Run:
    """Run every job on its GPUs from its start, or as soon as the previous jobs have released them.

    Unlike in `replay`, a waiting job delays only later jobs on the same GPUs.
    """
    from ringsched.engine.simulate import run_events

    coming = sorted(problem.queued, key=lambda job: (starts[job], job), reverse=True)
    due: list[int] = []

    def start_due(cluster: LiveCluster) -> float:
        while coming and starts[coming[-1]] <= cluster.now:
            due.append(coming.pop())
        due[:] = _start(cluster, due, gpus)
        return starts[coming[-1]] if coming else math.inf

    return run_events(problem, start_due)


def _start(cluster: LiveCluster, due: Sequence[int], gpus: Sequence[Sequence[int]]) -> list[int]:
    """Start the jobs whose GPUs are idle and not needed by an earlier job; return the remaining jobs."""
    waiting, wanted = [], set[int]()
    for job in due:
        if wanted.isdisjoint(gpus[job]) and all(cluster.is_idle(gpu) for gpu in gpus[job]):
            cluster.start(job, gpus[job])
        else:
            waiting.append(job)
            wanted.update(gpus[job])
    return waiting
