"""The verifier's own copy of the iteration time, its best and worst case, and of max-min fair sharing."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ringsched.errors import InputError
from ringsched.model import Contention, Job, Scenario

_REQUEST, _PART = 0, 1  # of equal rates, requests come first


def connected(
    jobs: Iterable[int], links_of: Mapping[int, Sequence[int]], on_link: Sequence[set[int]]
) -> set[int]:
    """Return the jobs, and all who share a link with one of them, or with one of those, and so on."""
    found = set(jobs)
    unseen = list(found)
    while unseen:
        for link in links_of[unseen.pop()]:
            unseen.extend(on_link[link] - found)
            found |= on_link[link]
    return found


def fair_rates(
    requests: Mapping[int, float], links_of: Mapping[int, Sequence[int]], speeds: Sequence[float]
) -> dict[int, float]:
    """Return the max-min fair rate of every job: no more than it requests, no link over its speed.

    A job gets less than it requests only on a full link on which no job has a higher rate. So, as long as
    some jobs have no rate, take the smallest of their requests and of the equal parts of what each link has
    left. It is the rate of the job that requests it, or of the jobs on that link.

    Examples
    --------
    >>> fair_rates({0: 9.0, 1: 2.0, 2: 9.0}, {0: [0], 1: [0], 2: [0]}, [10.0])
    {1: 2.0, 0: 4.0, 2: 4.0}
    """
    rates: dict[int, float] = {}
    waiting: dict[int, set[int]] = {}  # on each link, for a rate
    for job in requests:
        for link in links_of[job]:
            waiting.setdefault(link, set()).add(job)
    left = {link: speeds[link] for link in waiting}
    smallest = [(request, _REQUEST, job) for job, request in requests.items()]
    smallest += [(speeds[link] / len(jobs), _PART, link) for link, jobs in waiting.items()]
    heapq.heapify(smallest)
    while len(rates) < len(requests):
        rate, kind, which = heapq.heappop(smallest)
        content = [which] if kind == _REQUEST else sorted(waiting[which])
        if kind == _PART and content:
            # What others have taken since was less than an equal part each, so the part has only grown.
            part = left[which] / len(content)
            if part > rate:
                heapq.heappush(smallest, (part, _PART, which))
                continue
        for job in content:
            if job in rates:
                continue
            rates[job] = rate
            for link in links_of[job]:
                left[link] = max(0.0, left[link] - rate)
                waiting[link].remove(job)
    return rates


# 1 MB = 10^6 bytes = 8 * 10^6 bits = 0.008 Gbit.
GBIT_PER_MB = 0.008
# The contention models that the code below covers.
KNOWN = ("paper", "max-min", "phases", "reserved")


@dataclass(frozen=True, slots=True)
class Shape:
    """What a placement means for speed: uplinks crossed, servers used, and the speed inside them."""

    crossed: tuple[int, ...]
    num_servers: int
    within_gbps: float  # the slowest speed inside its servers; infinite if no two GPUs share one


class Iteration(NamedTuple):
    """What an iteration consists of: Gbit exchanged, other communication, both passes, and the buckets."""

    gbit: float
    other_s: float
    forward_s: float
    backward_s: float
    buckets: int

    def tau_s(self, bandwidth_gbps: float) -> float:
        """Return tau_j when the slowest link of its ring has so much."""
        # tau_j = 2m(w-1)/w / B + m(w-1)/w / C + xi2 * servers + forward * minibatch + backward, eq. (8).
        gbit, communication_s, forward_s, backward_s, n = self
        if gbit > 0:
            communication_s += gbit / bandwidth_gbps if bandwidth_gbps > 0 else math.inf
        if n == 1:
            return forward_s + backward_s + communication_s
        # Bucket i of n is ready after i/n of the backward pass, and is sent after the bucket before it.
        # Either the last bucket waits for the backward pass, or all follow the first without a pause.
        return forward_s + max(backward_s + communication_s / n, backward_s / n + communication_s)


class Network:
    """The tree as numbered nodes: servers first, then switches."""

    def __init__(self, scenario: Scenario) -> None:
        check_known(scenario.contention)
        cluster = scenario.cluster
        self.servers = cluster.servers
        self._steps = cluster.intra_server_steps or ((2, cluster.intra_server_gbps),)
        self.reduce_gbps = cluster.reduce_gbps
        self.latency_s = scenario.contention.server_latency_ms * 1e-3
        self.number = {server.name: at for at, server in enumerate(cluster.servers)}
        switch_number = {switch.name: len(self.servers) + at for at, switch in enumerate(cluster.switches)}
        above = [server.switch for server in cluster.servers] + [switch.parent for switch in cluster.switches]
        self.parents = [None if name is None else switch_number[name] for name in above]
        self.uplinks_gbps = [
            cluster.inter_server_gbps if server.uplink_gbps is None else server.uplink_gbps
            for server in cluster.servers
        ] + [
            # Only a switch above everything may lack an uplink, which then no ring can cross.
            math.inf if switch.uplink_gbps is None else switch.uplink_gbps
            for switch in cluster.switches
        ]
        # f_v at n_v = 0, 1, ...; no link is crossed by more jobs than there are.
        self.factors = [slowdown(scenario.contention, max(1, n)) for n in range(len(scenario.jobs) + 2)]
        self.is_fair = scenario.contention.model in ("max-min", "phases")
        self.is_phased = scenario.contention.model == "phases"
        self.num_spreadable = sum(job.gpus >= 2 for job in scenario.jobs)
        self._best_s: dict[str, float] = {}  # by the name of the job
        self._worst_s: dict[str, float] = {}
        self._iterations: dict[tuple[str, int], Iteration] = {}  # by job and number of servers
        self._speeds: dict[int, set[float]] = {}  # inside, by the most GPUs there

    def way_up(self, node: int) -> Iterator[int]:
        """Yield the node, its parent, and so on up to the last one below the core."""
        here: int | None = node
        while here is not None:
            yield here
            here = self.parents[here]

    def shape(self, gpus_on: Mapping[str, int]) -> Shape:
        """Return the shape of a job with so many GPUs on each server, all of them known."""
        total = sum(gpus_on.values())
        below: dict[int, int] = {}  # y_j(v)
        for name, count in gpus_on.items():
            for node in self.way_up(self.number[name]):
                below[node] = below.get(node, 0) + count
        return Shape(
            # The indicator of eq. (6): some of the ring's GPUs below the node, and some not.
            crossed=tuple(node for node, count in below.items() if 0 < count < total),
            num_servers=len(gpus_on),
            within_gbps=min(
                (self.within_gbps(count) for count in gpus_on.values() if count > 1), default=math.inf
            ),
        )

    def within_gbps(self, gpus: int) -> float:
        """Return the speed between so many GPUs of one server: that of the last step up to there."""
        return next((speed for least, speed in reversed(self._steps) if least <= gpus), self._steps[0][1])

    def speeds_within(self, most: int) -> set[float]:
        """Return the speeds inside a server of which a ring uses two GPUs or more, up to `most`."""
        if most not in self._speeds:
            at_once = max(2, min(most, self._capacities[0]))
            self._speeds[most] = {speed for least, speed in self._steps if least <= at_once}
        return self._speeds[most]

    def tau_s(self, job: Job, shape: Shape) -> float:
        """Return tau_j of a job alone."""
        return self.tau_at(job, self.bandwidth_gbps(shape), shape.num_servers)

    def bandwidth_gbps(self, shape: Shape, crossing: Sequence[int] | None = None) -> float:
        """Return B_j when `crossing[v]` jobs cross each node's uplink; without it, the job is alone."""
        bandwidth = shape.within_gbps
        for node in shape.crossed:
            part = self.uplinks_gbps[node] / self.factors[1 if crossing is None else crossing[node]]
            if part < bandwidth:
                bandwidth = part
        return bandwidth

    def best_tau_s(self, job: Job) -> float:
        """Return the best case over all placements: one server, or the fewest that hold the job."""
        if job.name not in self._best_s:
            self._best_s[job.name] = self._best_tau_s(job)
        return self._best_s[job.name]

    def _best_tau_s(self, job: Job) -> float:
        if job.requires or job.layout == "balanced":
            capacities, fastest_gbps = self._eligible(job)
        else:
            capacities, fastest_gbps = self._capacities, max(self.uplinks_gbps[: len(self.servers)])
        choices = []
        if job.gpus <= capacities[0] and job.servers in (None, 1):
            choices.append(self.tau_at(job, self.within_gbps(job.gpus), 1))
        fewest = fewest_servers(job, capacities)
        if fewest is not None:
            choices.append(self.tau_at(job, fastest_gbps / self.factors[1], fewest))
        return min(choices)

    def _eligible(self, job: Job) -> tuple[list[int], float]:
        """Return what the servers hold that the job may use, the largest first, and the fastest uplink."""
        usable = [
            at for at, server in enumerate(self.servers) if job.requires.items() <= server.labels.items()
        ]
        capacities = sorted((self.servers[at].capacity for at in usable), reverse=True)
        return capacities, max(self.uplinks_gbps[at] for at in usable)

    def worst_tau_s(self, job: Job) -> float:
        """Return the worst case: as spread as can be, over the slowest link with all who could share it."""
        if job.name not in self._worst_s:
            self._worst_s[job.name] = self._worst_tau_s(job)
        return self._worst_s[job.name]

    def _worst_tau_s(self, job: Job) -> float:
        num_servers = min(job.gpus, len(self.servers))
        within = min(self.speeds_within(job.gpus))
        if self.is_fair and not self.is_phased and num_servers >= 2:
            # At least an equal part of the fullest link, or all that the job asks for.
            alone_s = self.tau_at(job, min(within, *self.uplinks_gbps), num_servers)
            return max(alone_s, self.exchanged_gbit(job) / self._slowest_contended_gbps)
        slowest = self._slowest_contended_gbps if num_servers >= 2 else math.inf
        return self.tau_at(job, min(within, slowest), num_servers)

    def exchanged_gbit(self, job: Job) -> float:
        """Return what a worker sends in an iteration: 2m(w-1)/w."""
        return 2 * (job.gradient_mb * GBIT_PER_MB * ((job.gpus - 1) / job.gpus))

    def fastest_gbps(self, shape: Shape) -> float:
        """Return the speed of the slowest part of a ring that has its links for itself."""
        return min([shape.within_gbps, *(self.uplinks_gbps[node] for node in shape.crossed)])

    def tau_at(self, job: Job, bandwidth_gbps: float, num_servers: int) -> float:
        """Return tau_j when the slowest link of its ring has so much, and it uses so many servers."""
        return self.iteration(job, num_servers).tau_s(bandwidth_gbps)

    def iteration(self, job: Job, num_servers: int) -> Iteration:
        """Return the parts of an iteration of a job on so many servers."""
        known = self._iterations.get((job.name, num_servers))
        if known is not None:
            return known
        gbit = self.exchanged_gbit(job)
        other_s = gbit / 2 / self.reduce_gbps + self.latency_s * num_servers
        parts = Iteration(
            gbit, other_s, job.forward_ms * job.minibatch * 1e-3, job.backward_ms * 1e-3, job.buckets
        )
        self._iterations[job.name, num_servers] = parts
        return parts

    @cached_property
    def _capacities(self) -> list[int]:
        return sorted((server.capacity for server in self.servers), reverse=True)

    @cached_property
    def _slowest_contended_gbps(self) -> float:
        capacities = [0] * len(self.uplinks_gbps)
        for at, server in enumerate(self.servers):
            for node in self.way_up(at):
                capacities[node] += server.capacity
        return min(
            uplink / self.factors[max(1, min(capacity, self.num_spreadable))]
            for uplink, capacity in zip(self.uplinks_gbps, capacities, strict=True)
        )


def fewest_servers(job: Job, capacities: Sequence[int]) -> int | None:
    """Return on how many servers, at least two, a job can be; None if on one only.

    Examples
    --------
    >>> job = Job(name="a", gpus=6, iterations=1, gradient_mb=1, minibatch=1, forward_ms=1, backward_ms=1)
    >>> fewest_servers(job, [4, 4, 4]), fewest_servers(job.replace(layout="balanced"), [4, 2, 2])
    (2, 3)
    """
    held = 0
    for number, capacity in enumerate(capacities[: job.gpus], start=1):
        held += capacity
        if number < 2:
            continue
        if job.layout == "balanced":
            if job.gpus % number == 0 and capacity * number >= job.gpus and job.servers in (None, number):
                return number
        elif held >= job.gpus:
            return number
    return None


def check_known(contention: Contention) -> None:
    """Refuse a contention model that the verifier does not implement."""
    if contention.model not in KNOWN:
        raise InputError(
            f"{contention.model_name!r} is not known to the verifier, which checks {', '.join(KNOWN)}",
            field="contention.model:",
        )


def slowdown(contention: Contention, num_jobs: int) -> float:
    """Return f: how many times slower a link is for each of `num_jobs` jobs that cross it.

    Examples
    --------
    >>> slowdown(Contention(degradation=0.5), 3)
    4.0
    >>> slowdown(Contention(table=(1.0, 1.5)), 4)
    2.5
    >>> slowdown(Contention(model="reserved", lanes=4), 3)
    4.0
    """
    if contention.model in ("max-min", "phases"):
        return float(num_jobs)  # at the worst, when all ask for more than an equal part
    if contention.model == "reserved" and contention.lanes is not None:
        # A lane is a fixed part of the link; jobs beyond the last lane leave equal parts for all.
        return float(contention.lanes if num_jobs <= contention.lanes else num_jobs)
    table = contention.table
    if table is not None:
        beyond = max(0, num_jobs - len(table))
        slope = table[-1] - table[-2]
        return table[min(num_jobs, len(table)) - 1] + (beyond * slope if beyond else 0.0)
    share = 1.0 if contention.share is None else contention.share
    degradation = 0.0 if contention.degradation is None else contention.degradation
    # The clamp: with a small share the paper's k falls below 1, as if sharing made a link faster.
    contenders = max(1.0, share * num_jobs)
    return contenders + degradation * (contenders - 1.0)
