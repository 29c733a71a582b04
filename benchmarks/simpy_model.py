"""The cluster as a plain SimPy model: first come, first served, best fit, contention on shared uplinks.

What a user who knows SimPy would write to try a queue: a process that lets jobs arrive, and a process that
waits for the next arrival or completion, starts the jobs that fit, and computes the iteration times of all
running jobs again. It gives the starts and finishes of `ringsched.simulate(scenario, "fifo")`; a test
holds them together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

import simpy

from ringsched.model import Contention, Job, Scenario

SLACK = 1e-9  # completions as close as this are one instant
Process: TypeAlias = Generator[simpy.Event, Any, None]


@dataclass(eq=False)
class Running:
    """A job on its GPUs."""

    index: int
    job: Job
    gpus_on: dict[int, int]  # by server
    links: list[int]
    remaining: float  # iterations, as of `since`
    since: float
    rate: float = 0.0  # iterations per slot, or seconds per iteration
    end: float = math.inf


def run(scenario: Scenario) -> tuple[list[float], list[float]]:
    """Return starts and finishes in seconds, in the scenario's order."""
    model = ClusterModel(scenario)
    model.env.run()
    return model.start_s, model.finish_s


class ClusterModel:
    """A queue in front of a cluster. Time is counted in slots if it is slotted, else in seconds."""

    def __init__(self, scenario: Scenario) -> None:
        self.env = simpy.Environment()
        self.scenario = scenario
        self.slotted = scenario.time.slotted
        self.unit_s = scenario.time.slot_s if self.slotted else 1.0
        cluster = scenario.cluster
        self.num_idle = [server.capacity for server in cluster.servers]
        # Links are numbered like servers, then switches.
        switches = {switch.name: len(cluster.servers) + at for at, switch in enumerate(cluster.switches)}
        above = [server.switch for server in cluster.servers] + [each.parent for each in cluster.switches]
        self.parent_of = [None if name is None else switches[name] for name in above]
        self.uplink_gbps = [server.uplink_gbps or cluster.inter_server_gbps for server in cluster.servers]
        self.uplink_gbps += [switch.uplink_gbps or math.inf for switch in cluster.switches]
        self.queue: list[int] = []
        self.running: list[Running] = []
        self.start_s = [0.0] * len(scenario.jobs)
        self.finish_s = [0.0] * len(scenario.jobs)
        server_of = {server.name: at for at, server in enumerate(cluster.servers)}
        for at, job in enumerate(scenario.jobs):
            if job.running_on is not None:
                self.start(at, {server_of[name]: len(gpus) for name, gpus in job.running_on.items()})
        self.arrived = self.env.event()
        self.env.process(self.arrivals())
        self.env.process(self.scheduler())

    def arrivals(self) -> Process:
        """Let every job enter the queue when it is submitted."""
        jobs = self.scenario.jobs
        for release, at in sorted(
            (self.release(job), at) for at, job in enumerate(jobs) if not job.is_running
        ):
            if release > self.env.now:
                yield self.env.timeout(release - self.env.now)
            self.queue.append(at)
            if not self.arrived.triggered:
                self.arrived.succeed()

    def scheduler(self) -> Process:
        """Wait for the next thing to happen, and see who can start."""
        while True:
            while self.queue and (gpus_on := self.best_fit(self.scenario.jobs[self.queue[0]].gpus)):
                self.start(self.queue.pop(0), gpus_on)
            self.update_rates()
            next_end = min((running.end for running in self.running), default=math.inf)
            if next_end < math.inf:
                completed = self.env.timeout(max(0, next_end - self.env.now))
                happened = yield self.arrived | completed
                if completed in happened or next_end <= self.env.now:
                    self.finish_until(next_end)
            else:
                yield self.arrived
            if self.arrived.triggered:
                self.arrived = self.env.event()

    def release(self, job: Job) -> float:
        """Return when a job enters the queue: at a slot, if time is slotted."""
        return math.ceil(job.submit_s / self.unit_s - SLACK) if self.slotted else job.submit_s

    def best_fit(self, wanted: int) -> dict[int, int]:
        """Return GPUs by server: of the tightest that holds the job, else of the emptiest; {} to wait."""
        servers = range(len(self.num_idle))
        fitting = [server for server in servers if self.num_idle[server] >= wanted]
        if fitting:
            return {min(fitting, key=lambda server: self.num_idle[server]): wanted}
        chosen: dict[int, int] = {}
        if sum(self.num_idle) >= wanted:
            for server in sorted(servers, key=lambda server: -self.num_idle[server]):
                chosen[server] = min(self.num_idle[server], wanted)
                wanted -= chosen[server]
                if not wanted:
                    break
        return chosen

    def start(self, at: int, gpus_on: dict[int, int]) -> None:
        """Let a job run."""
        job = self.scenario.jobs[at]
        for server, gpus in gpus_on.items():
            self.num_idle[server] -= gpus
        links = self.links_of(gpus_on, job.gpus)
        self.running.append(Running(at, job, gpus_on, links, job.remaining_iterations, self.env.now))
        self.start_s[at] = self.env.now * self.unit_s

    def finish_until(self, end: float) -> None:
        """End the jobs that end then, in continuous time also those that would a moment later."""
        latest = end if self.slotted else end + SLACK * max(1.0, end)
        for running in self.running:
            if running.end <= latest:
                self.finish_s[running.index] = end * self.unit_s
                for server, gpus in running.gpus_on.items():
                    self.num_idle[server] += gpus
        self.running = [running for running in self.running if running.end > latest]

    def update_rates(self) -> None:
        """Compute every iteration time again, and with it when each job ends."""
        num_on_link = Counter(link for running in self.running for link in running.links)
        for running in self.running:
            tau = self.iteration_time_s(running, num_on_link)
            rate = math.floor(self.unit_s / tau + SLACK) if self.slotted else tau
            if rate != running.rate:
                self.change_rate(running, rate)

    def change_rate(self, running: Running, rate: float) -> None:
        """Settle what was done so far, and go on at another speed."""
        now = self.env.now
        if running.rate:
            elapsed = now - running.since
            running.remaining -= elapsed * running.rate if self.slotted else elapsed / running.rate
        running.since, running.rate = now, rate
        if self.slotted:
            running.end = now - (-running.remaining // rate)
        else:
            running.end = now + running.remaining * rate

    def links_of(self, gpus_on: dict[int, int], wanted: int) -> list[int]:
        """Return the uplinks that are crossed: those with some of the GPUs below them, but not all."""
        below: Counter[int] = Counter()
        for server, gpus in gpus_on.items():
            node: int | None = server
            while node is not None:
                below[node] += gpus
                node = self.parent_of[node]
        return [link for link, gpus in below.items() if gpus < wanted]

    def iteration_time_s(self, running: Running, num_on_link: Counter[int]) -> float:
        """Return seconds an iteration takes: exchange, reduction, latency, computation."""
        job, cluster, contention = running.job, self.scenario.cluster, self.scenario.contention
        gigabits = job.gradient_mb * 8e-3 * (job.gpus - 1) / job.gpus
        speeds = [self.uplink_gbps[link] / sharing(contention, num_on_link[link]) for link in running.links]
        if max(running.gpus_on.values()) > 1:
            speeds.append(cluster.intra_server_gbps)
        exchange_s = 2 * gigabits / min(speeds) if speeds else 0.0
        return (
            exchange_s
            + gigabits / cluster.reduce_gbps
            + contention.server_latency_ms * 1e-3 * len(running.gpus_on)
            + (job.forward_ms * job.minibatch + job.backward_ms) * 1e-3
        )


def sharing(contention: Contention, num_jobs: int) -> float:
    """Return by how much a link is slower for each of so many jobs."""
    if contention.lanes is not None:
        return max(contention.lanes, num_jobs)
    if contention.table is not None:
        table, beyond = contention.table, num_jobs - len(contention.table)
        return table[num_jobs - 1] if beyond <= 0 else table[-1] + beyond * (table[-1] - table[-2])
    assert contention.share is not None
    assert contention.degradation is not None
    effective = max(1.0, contention.share * num_jobs)
    return effective + contention.degradation * (effective - 1)
