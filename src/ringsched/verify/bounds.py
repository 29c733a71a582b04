"""The verifier's own copy of the objectives, of the core bounds, and of the fastest run of a job."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from ringsched.errors import InputError
from ringsched.model import Job, Scenario
from ringsched.verify.clock import Clock, time_limit
from ringsched.verify.iteration_time import Network

Pool = list[tuple[float, int]]  # bandwidth and capacity of servers that a job may be spread over


class Facts:
    """What arguments for bounds are about: releases and shortest durations, as instants, and GPUs."""

    def __init__(self, scenario: Scenario, network: Network, clock: Clock) -> None:
        self.scenario, self.network, self.clock = scenario, network, clock
        self.capacity = scenario.cluster.capacity
        self._speeds: dict[int, list[tuple[float, int]]] = {}

    @cached_property
    def best_cases(self) -> list[float]:
        """Return the best-case durations of the model; of a running job what remains, at its own place."""
        return [self._best_case(job) for job in self.scenario.jobs]

    def _best_case(self, job: Job) -> float:
        network = self.network
        if job.running_on is None:
            tau_s = network.best_tau_s(job)
        else:
            # As if no other job used its links.
            tau_s = network.tau_s(
                job, network.shape({server: len(gpus) for server, gpus in job.running_on.items()})
            )
        return self._lasts(job, tau_s)

    @cached_property
    def best_cases_s(self) -> list[float]:
        """Return the best cases in seconds, which slowdowns count in."""
        return [max(SHORTEST_S, self.clock.length_s(best)) for best in self.best_cases]

    @cached_property
    def releases(self) -> list[float]:
        """Return the first instant at which each job may run."""
        return earliest_starts(self.scenario, self.best, self.clock)

    @cached_property
    def packed(self) -> list[float]:
        """Return how long each job takes in one server; infinity if it cannot be in one."""
        largest = max(server.capacity for server in self.network.servers)
        return [
            self._duration(job, [(self.network.within_gbps(job.gpus), 1)] if job.gpus <= largest else [], 1)
            for job in self.scenario.jobs
        ]

    @cached_property
    def spread(self) -> list[float]:
        """Return how long each job takes on several servers; infinity if it cannot be on several."""
        return [self._duration(job, self.speeds_of_spread(job.gpus), 2) for job in self.scenario.jobs]

    @cached_property
    def best(self) -> list[float]:
        """Return the shorter of the two."""
        return [min(pair) for pair in zip(self.packed, self.spread, strict=True)]

    def _duration(self, job: Job, speeds: list[tuple[float, int]], least_servers: int) -> float:
        if job.running_on is not None:
            # It stays where it is: on one server, or on several.
            here = self.network.shape({server: len(gpus) for server, gpus in job.running_on.items()})
            if min(here.num_servers, 2) != least_servers:
                return math.inf
            taus = [self.network.tau_s(job, here)]
        else:
            taus = [self.network.tau_at(job, *speed) for speed in speeds]
        if not taus:
            return math.inf
        return self._lasts(job, min(taus))

    def _lasts(self, job: Job, tau_s: float) -> float:
        """Return how long a job runs if each iteration takes `tau_s`: no longer than its limit."""
        duration = self.clock.duration(job.remaining_iterations, self.clock.pace(tau_s))
        return duration if job.limit_s is None else min(duration, time_limit(job, self.clock))

    def speeds_of_spread(self, gpus: int) -> list[tuple[float, int]]:
        """Return bandwidth and number of servers of placements on several, the fastest among them."""
        if gpus not in self._speeds:
            self._speeds[gpus] = [] if gpus < 2 else [*self._ways_to_spread(gpus)]
        return self._speeds[gpus]

    def _ways_to_spread(self, gpus: int) -> Iterator[tuple[float, int]]:
        """Yield bandwidth and number of servers of placements among which the fastest one is.

        A ring that keeps a bandwidth uses only servers whose links have it, and best the largest of them.
        If they are fewer than its GPUs, some server holds two and its inside counts; to avoid that, the job
        needs as many servers as GPUs.
        """
        for thresholds, links in self._pools:
            fewest = math.inf
            for bandwidth, held in thresholds:
                needed = max(2, bisect_left(held, gpus) + 1)
                if needed <= len(held) and needed < fewest:
                    fewest = needed
                    # Some server holds two GPUs or more; the fastest speed of any such number counts.
                    within = max(self.network.speeds_within(gpus - 1)) if needed < gpus else math.inf
                    yield min(bandwidth, within), needed
            if gpus <= len(links):
                yield links[gpus - 1], gpus

    @cached_property
    def _pools(self) -> list[tuple[list[tuple[float, list[int]]], list[float]]]:
        """Return, for each pool, what its 1, 2, ... largest servers hold at each bandwidth, and its links."""
        pools = []
        for pool in self._servers_together():
            thresholds = []
            for bandwidth in sorted({link for link, _ in pool}, reverse=True):
                sizes = sorted((capacity for link, capacity in pool if link >= bandwidth), reverse=True)
                thresholds.append((bandwidth, list(accumulate(sizes))))
            pools.append((thresholds, sorted((link for link, _ in pool), reverse=True)))
        return pools

    def _servers_together(self) -> Iterator[Pool]:
        """Yield the servers below the core, and below each switch.

        A ring whose servers have a switch in common, and no lower one, crosses every uplink on their ways up
        to that switch, and none beyond it. So a server is as good as the slowest link on its way there.
        """
        pools: dict[int | None, Pool] = {None: []}
        for at, server in enumerate(self.network.servers):
            if not server.capacity:
                continue
            slowest = math.inf
            for node in self.network.way_up(at):
                slowest = min(slowest, self.network.uplinks_gbps[node])
                pools.setdefault(self.network.parents[node], []).append((slowest, server.capacity))
        yield from pools.values()


def refuse_endless_jobs(scenario: Scenario, network: Network, clock: Clock) -> None:
    """Raise if a job could, in its worst case, stand still or take longer than a float holds."""
    for at, job in enumerate(scenario.jobs):
        tau_s = network.worst_tau_s(job)
        if scenario.time.slotted and clock.pace(tau_s) < 1:
            raise InputError(
                f"takes {tau_s:g} s per iteration in its worst case, which does not fit into a slot of "
                f'{scenario.time.slot_s:g} s; make slot_s longer or set time.model = "continuous"',
                place=f"jobs[{at}] {job.name!r}",
            )
        if not scenario.time.slotted and not math.isfinite(job.iterations * tau_s):
            raise InputError(
                f"takes {tau_s:g} s per iteration in its worst case: {job.iterations} of them last for ever",
                place=f"jobs[{at}] {job.name!r}",
            )


def core_bounds(facts: Facts) -> dict[str, float]:
    """Return, by name, the instants before which no plan can have finished all jobs."""
    scenario, clock, capacity, durations = facts.scenario, facts.clock, facts.capacity, facts.best_cases
    bounds: dict[str, float] = {}
    area: float = 0  # GPU-instants of the jobs released at or after r
    in_turn: float = 0  # durations of those of them that need more than half the cluster, one after another
    releases = earliest_starts(scenario, durations, clock)
    for release, at in sorted(((each, at) for at, each in enumerate(releases)), reverse=True):
        job, best = scenario.jobs[at], durations[at]
        area += job.gpus * best
        in_turn += best if 2 * job.gpus > capacity else 0
        ends = {"longest-job": release + best, "area": release + clock.spread(area, capacity)}
        ends |= {"large-jobs": release + in_turn} if in_turn else {}
        bounds |= {name: max(bounds.get(name, 0), end) for name, end in ends.items()}
    return bounds


def earliest_starts(scenario: Scenario, durations: Sequence[float], clock: Clock) -> list[float]:
    """Return the first instant at which each job may run, if it runs at least for its duration.

    A job cannot start while too few GPUs of the servers that it may use stay open for its duration.
    """
    windows = {
        server.name: [(clock.slot_before(from_s), clock.release(to_s)) for from_s, to_s in closed]
        for server in scenario.cluster.servers
        if (closed := server.unavailable_windows)
    }
    reopenings = sorted({end for closed in windows.values() for _, end in closed})

    def gpus_open(job: Job, begin: float, end: float) -> int:
        return sum(
            server.capacity
            for server in scenario.cluster.servers
            if job.requires.items() <= server.labels.items()
            and not any(begin < to and since < end for since, to in windows.get(server.name, ()))
        )

    starts = []
    for job, duration in zip(scenario.jobs, durations, strict=True):
        start = 0 if job.running_on is not None else clock.release(job.submit_s)
        if windows and job.running_on is None and gpus_open(job, start, start + duration) < job.gpus:
            later = (each for each in reopenings if each > start)
            start = next((each for each in later if gpus_open(job, each, each + duration) >= job.gpus), start)
        starts.append(start)
    return starts


# Where a plan states the value of an objective.
FIELDS = {
    "makespan": "makespan_s",
    "mean-completion": "mean_completion_s",
    "weighted-completion": "weighted_completion_s",
    "max-slowdown": "max_slowdown",
}
SHORTEST_S = 1e-9  # a shorter best case counts as this one in a slowdown ...
LARGEST_SLOWDOWN = 1e300  # ... which is never larger


def is_makespan(objective: str) -> bool:
    """Whether only the last finish counts."""
    return objective == "makespan"


def is_slowdown(objective: str) -> bool:
    """Whether values and bounds are ratios of completion to best case."""
    return objective == "max-slowdown"


def is_weighted(objective: str) -> bool:
    """Whether jobs count by their weights."""
    return objective == "weighted-completion"


def max_slowdown(facts: Facts, finishes_s: Sequence[float]) -> float:
    """Return the largest completion over best case; 0 without jobs."""
    largest, origin_s = 0.0, facts.clock.origin_s
    for job, finish_s, own_s in zip(facts.scenario.jobs, finishes_s, facts.best_cases_s, strict=True):
        largest = max(largest, min(LARGEST_SLOWDOWN, (finish_s - (job.submit_s - origin_s)) / own_s))
    return largest


def objective_s(scenario: Scenario, finishes_s: Sequence[float], objective: str, origin_s: float) -> float:
    """Return the seconds of an objective for finishes in the scenario's order, counted from the origin."""
    if is_makespan(objective) or not finishes_s:
        return max(finishes_s, default=0.0)
    weights = weights_of(scenario, is_weighted(objective))
    total = sum(
        weight * (finish_s - (job.submit_s - origin_s))
        for weight, finish_s, job in zip(weights, finishes_s, scenario.jobs, strict=True)
    )
    return total / sum(weights)


def weights_of(scenario: Scenario, weighted: bool) -> list[float]:
    """Return what each job counts, the heaviest 1."""
    heaviest = max(job.weight for job in scenario.jobs)
    return [job.weight / heaviest if weighted else 1.0 for job in scenario.jobs]
