"""Arguments about where jobs can be: when running jobs leave, how many fit at once, and what links carry."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from ringsched.model import Job, Server
from ringsched.verify.bounds import Facts
from ringsched.verify.replay import Replay, Run
from ringsched.verify.terms import BadTerms, Terms, instant, whole

# A quotient so close above a whole number of slots is that number.
ROUNDED = 1e-9
# Under max-min, so much less is sure: iterations per slot are rounded up by up to 1e-9 of one.
SURE = 1 - 1e-8


class Way(NamedTuple):
    """A job in one server, or on several: not before `start`, and not shorter than `duration`."""

    in_one: bool
    start: float
    duration: float


class Placements:
    """What follows from where the running jobs are, as instants of the clock."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.jobs = facts.scenario.jobs
        self._waits: dict[object, float] = {}

    @cached_property
    def ends(self) -> dict[int, float]:
        """Return the earliest end of each running job.

        Where only the number of jobs on a link counts, one more never helps another. So the running jobs end
        no earlier than they would without the queued ones. Fair sharing has no such rule.
        """
        running = {at: job.running_on for at, job in enumerate(self.jobs) if job.running_on is not None}
        if self.facts.network.is_fair:
            return {at: self.facts.best[at] for at in running}
        runs = [
            Run(self.jobs[at], 0, self.facts.network.shape({name: len(gpus) for name, gpus in held.items()}))
            for at, held in running.items()
        ]
        finishes = Replay(runs, self.facts.network, self.facts.clock).finishes()
        return dict(zip(running, finishes, strict=True))

    @cached_property
    def queued(self) -> list[int]:
        """Return the jobs that have no place yet."""
        return [at for at in range(len(self.jobs)) if at not in self.ends]

    def servers_of(self, job: Job) -> list[Server]:
        """Return the servers that have all labels that a job requires."""
        return [
            server
            for server in self.facts.network.servers
            if all(server.labels.get(label) == value for label, value in job.requires.items())
        ]

    def is_within(self, job: Job, names: set[str]) -> bool:
        """Whether a job may use no servers but these."""
        return all(server.name in names for server in self.servers_of(job))

    @cached_property
    def _held(self) -> dict[str, list[float]]:
        """Return of each server when the GPUs that running jobs hold are free, in order."""
        held: dict[str, list[float]] = {server.name: [] for server in self.facts.network.servers}
        for at, end in sorted(self.ends.items(), key=lambda item: item[1]):
            for name, gpus in (self.jobs[at].running_on or {}).items():
                held[name] += [end] * len(gpus)
        return held

    def _wait(self, job: Job, in_one: bool) -> float:
        """Return how long a job waits for GPUs: of one server, or of all that it may use."""
        key = in_one, job.gpus, tuple(job.requires.items()) if job.requires else ()
        if key not in self._waits:
            servers = self.servers_of(job)
            if in_one:
                waits = [_wait(job.gpus, server.capacity, self._held[server.name]) for server in servers]
                self._waits[key] = min(waits)
            else:
                ends = sorted(end for server in servers for end in self._held[server.name])
                self._waits[key] = _wait(job.gpus, sum(server.capacity for server in servers), ends)
        return self._waits[key]

    def ways(self, at: int) -> Iterator[Way]:
        """Yield the ways of a queued job."""
        for in_one, duration in ((True, self.facts.packed[at]), (False, self.facts.spread[at])):
            wait = self._wait(self.jobs[at], in_one)
            if duration < math.inf and wait < math.inf:
                yield Way(in_one, max(self.facts.releases[at], wait), duration)

    @cached_property
    def spans(self) -> list[tuple[float, float]]:
        """Return the earliest end and the shortest duration of every job."""
        return [
            self._span(at, job, best)
            for at, (job, best) in enumerate(zip(self.jobs, self.facts.best, strict=True))
        ]

    def _span(self, at: int, job: Job, best: float) -> tuple[float, float]:
        if at in self.ends:
            return self.ends[at], self.ends[at]
        if not self.ends and not job.requires:
            return self.facts.releases[at] + best, best  # no wait: the whole cluster is free
        return min(way.start + way.duration for way in self.ways(at)), best

    def free(self, until: float) -> dict[str, int]:
        """Return the GPUs of each server that need not be held all the time until an instant."""
        free = {server.name: server.capacity for server in self.facts.network.servers}
        for at, end in self.ends.items():
            if end >= until * (1 - ROUNDED):
                for name, gpus in (self.jobs[at].running_on or {}).items():
                    free[name] -= len(gpus)
        return free

    def links_at(self, depth: int) -> tuple[list[int], dict[int, tuple[int, float]]]:
        """Return the nodes at a depth, and of each job below none of them its links and its time on each."""
        network = self.facts.network
        below: dict[int, int] = {}
        for at, server in enumerate(network.servers):
            if server.capacity:
                way = list(network.way_up(at))
                node = way[max(0, len(way) - depth)]
                below[node] = below.get(node, 0) + server.capacity
        sizes = sorted(below.values(), reverse=True)
        fastest = max(network.uplinks_gbps[node] for node in below)
        uses = {}
        for at in self.queued:
            job = self.jobs[at]
            if job.gpus > sizes[0] and job.limit_s is None:  # else it may end before it is done
                num_links = next(k for k in range(1, len(sizes) + 1) if sum(sizes[:k]) >= job.gpus)
                time_s = job.remaining_iterations * self._link_time_s(job, fastest, sizes[0])
                uses[at] = num_links, time_s / self.facts.scenario.time.unit_s
        return list(below), uses

    def _link_time_s(self, job: Job, uplink_gbps: float, most_below: int) -> float:
        """Return the least time of a link that an iteration takes: tau / n beside n - 1 others, for any n."""
        network, time = self.facts.network, self.facts.scenario.time
        if network.is_phased:
            return 0.0
        if network.is_fair:
            return SURE * network.exchanged_gbit(job) / uplink_gbps
        speeds = self.facts.speeds_of_spread(job.gpus)
        fastest, servers = max(gbps for gbps, _ in speeds), min(number for _, number in speeds)
        smallest = min(other.gpus for other in self.jobs if other.gpus > 1)
        others = (self.facts.capacity - job.gpus) // smallest
        shares = []
        for number in range(1, min(most_below, network.num_spreadable, 1 + others) + 1):
            pace = self.facts.clock.pace(
                network.tau_at(job, min(fastest, uplink_gbps / network.factors[number]), servers)
            )
            lasts_s = pace if not time.slotted else time.slot_s / pace if pace > 0 else math.inf
            shares.append(lasts_s / number)
        return min(shares)


def _wait(size: int, capacity: int, ends: list[float]) -> float:
    """Return when so many GPUs are free, if those that are held become free at these ends."""
    missing = size - (capacity - len(ends))
    if missing > len(ends):
        return math.inf
    return ends[missing - 1] if missing > 0 else 0


def fit_at_once(sizes: Iterable[int], gpus: int) -> int:
    """Return how many jobs fit beside each other, the smallest first."""
    number = taken = 0
    for size in sorted(sizes):
        taken += size
        number += taken <= gpus
    return number


def after_running(facts: Facts, terms: Terms) -> float:
    """After an instant, all GPUs do what jobs then lack, which start when running jobs let them."""
    placements = Placements(facts)
    sizes = [job.gpus for job in placements.jobs]
    return _done(facts, placements, instant(facts, terms, "from_s"), sizes, facts.capacity)


def few_at_once(facts: Facts, terms: Terms) -> float:
    """Jobs of `least` or more GPUs take places, of which there are as many as fit of them."""
    placements = Placements(facts)
    least = whole(terms, "least", max(job.gpus for job in placements.jobs))
    places = [1 if job.gpus >= least else 0 for job in placements.jobs]
    at_once = fit_at_once((job.gpus for job in placements.jobs if job.gpus >= least), facts.capacity)
    return _done(facts, placements, instant(facts, terms, "from_s"), places, at_once)


def required_servers(facts: Facts, terms: Terms) -> float:
    """What jobs lack that may use no other servers than a job, on the GPUs of these."""
    placements = Placements(facts)
    setter = next((job for job in placements.jobs if job.name == terms.get("job")), None)
    if setter is None:
        raise BadTerms("names no job of the scenario as its job")
    names = {server.name for server in placements.servers_of(setter)}
    amounts = [
        sum(len(gpus) for name, gpus in job.running_on.items() if name in names)
        if job.running_on is not None
        else job.gpus * placements.is_within(job, names)
        for job in placements.jobs
    ]
    capacity = sum(server.capacity for server in placements.servers_of(setter))
    return _done(facts, placements, instant(facts, terms, "from_s"), amounts, capacity)


def _done(facts: Facts, placements: Placements, begin: float, amounts: list[int], capacity: int) -> float:
    begin = min(begin, max(end for end, _ in placements.spans))
    left = sum(
        amount * max(0, min(duration, end - begin))
        for amount, (end, duration) in zip(amounts, placements.spans, strict=True)
    )
    return begin + facts.clock.spread(left, capacity)


def shared_links(facts: Facts, terms: Terms) -> float:
    """Jobs that must cross links of a level need their time there after the first of them starts."""
    placements = Placements(facts)
    begin = instant(facts, terms, "from_s")
    nodes, uses = placements.links_at(whole(terms, "level", len(facts.network.uplinks_gbps)))
    total = 0.0
    for at, (number, time) in uses.items():
        # An end of a running job may come out a rounding error earlier here.
        if min(way.start for way in placements.ways(at)) >= begin * (1 - ROUNDED):
            total += number * time
    if not total:
        raise BadTerms("counts no job that must cross links of its level")
    length = total / len(nodes)
    return begin + (math.ceil(length - ROUNDED * max(1.0, length)) if facts.scenario.time.slotted else length)
