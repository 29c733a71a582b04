"""The best plans of tiny scenarios, by trying all placements and all starts on a grid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from random import Random

from ringsched.errors import InputError
from ringsched.model import OBJECTIVES, Cluster, Contention, Job, Scenario, Server, Switch, Time
from ringsched.verify.bounds import Facts, is_slowdown, max_slowdown, objective_s, refuse_endless_jobs
from ringsched.verify.clock import Clock, clock_of
from ringsched.verify.iteration_time import Network
from ringsched.verify.replay import Replay, Run

MOST_PLANS = 30_000
LAST_START = 6


def tiny_scenario(generator: Random) -> Scenario:
    """Two or three jobs of a few slots on one to three servers, with all that can be there at times."""
    while True:
        try:
            scenario = _drawn(generator)
            refuse_endless_jobs(scenario, Network(scenario), clock_of(scenario.time))
        except InputError:
            continue
        if _num_plans(scenario) <= MOST_PLANS:
            return scenario


def best_values(scenario: Scenario) -> dict[str, float]:
    """Return the least value of every objective over all the plans that were tried."""
    best = dict.fromkeys(OBJECTIVES, float("inf"))
    origin_s = _clock(scenario).origin_s
    facts = Facts(scenario, Network(scenario), _clock(scenario))
    for finishes_s in _feasible(scenario):
        for name in OBJECTIVES:
            if is_slowdown(name):
                value = max_slowdown(facts, finishes_s)
            else:
                value = objective_s(scenario, finishes_s, name, origin_s)
            best[name] = min(best[name], value)
    return best


def _drawn(generator: Random) -> Scenario:
    pick = generator.choice
    switches: list[Switch] = []
    for at in range(pick([0, 0, 1, 2, 3])):
        parent = pick([None, *(switch.name for switch in switches)])
        switches.append(Switch(name=f"r{at}", uplink_gbps=pick([3.0, 12.0]), parent=parent))
    servers = tuple(
        Server(
            name=f"s{at}",
            gpus=pick([1, 2, 2, 3]),
            uplink_gbps=pick([None, 4.0, 25.0]),
            switch=pick(switches).name if switches and pick([True, False]) else None,
        )
        for at in range(pick([1, 2, 2, 3]))
    )
    cluster = Cluster(
        servers=servers,
        switches=tuple(switches),
        inter_server_gbps=10,
        intra_server_gbps=pick([200, 6]),
        reduce_gbps=400,
    )
    free = [(server.name, gpu) for server in servers for gpu in range(server.gpus)]
    generator.shuffle(free)
    jobs = tuple(_job(generator, at, free, cluster.capacity) for at in range(pick([2, 3, 3])))
    contention = Contention(degradation=pick([0.0, 0.3]), server_latency_ms=pick([0.0, 20.0]))
    return Scenario(
        cluster=cluster, jobs=jobs, contention=contention, time=Time(model=pick(["slotted", "continuous"]))
    )


def _job(generator: Random, at: int, free: list[tuple[str, int]], capacity: int) -> Job:
    pick = generator.choice
    gpus = generator.randint(1, capacity)
    fields: dict[str, object] = {"submit_s": pick([0.0, 0.0, 0.0, 0.5, 2.0])}
    if gpus <= len(free) and pick([True, False, False, False]):
        held: dict[str, list[int]] = {}
        for _ in range(gpus):
            server, gpu = free.pop()
            held.setdefault(server, []).append(gpu)
        fields = {"running_on": held, "done_iterations": pick([0, 3])}
    return Job(
        name=f"j{at}",
        gpus=gpus,
        iterations=generator.randint(4, 28),
        gradient_mb=pick([0, 25, 60]),
        minibatch=1,
        forward_ms=0,
        backward_ms=100,
        weight=pick([1.0, 1.0, 3.0]),
        **fields,  # type: ignore[arg-type]
    )


def _num_plans(scenario: Scenario) -> int:
    number = 1
    for job in scenario.jobs:
        number *= len(_placements(scenario, job)) * len(_starts(scenario, job))
    return number


def _clock(scenario: Scenario) -> Clock:
    return clock_of(scenario.time, min(job.submit_s for job in scenario.jobs))


def _placements(scenario: Scenario, job: Job) -> list[dict[str, int]]:
    if job.running_on is not None:
        return [{server: len(held) for server, held in job.running_on.items()}]
    servers = scenario.cluster.servers
    counts = product(*(range(min(server.capacity, job.gpus) + 1) for server in servers))
    return [
        {server.name: count for server, count in zip(servers, each, strict=True) if count}
        for each in counts
        if sum(each) == job.gpus
    ]


def _starts(scenario: Scenario, job: Job) -> Sequence[float]:
    if job.running_on is not None:
        return [0]
    first = _clock(scenario).release(job.submit_s)
    return [first + wait for wait in range(LAST_START)]


def _feasible(scenario: Scenario) -> Iterator[list[float]]:
    """Yield the finishes, from the origin, of every plan in which no server holds more than it has.

    In continuous time a job may also start when another ends: what is gained by that is tried by moving
    each start of the grid, in turn, back to the last end before it.
    """
    network, clock = Network(scenario), _clock(scenario)
    jobs = scenario.jobs
    for places in product(*(_placements(scenario, job) for job in jobs)):
        shapes = [network.shape(place) for place in places]
        for starts in product(*(_starts(scenario, job) for job in jobs)):
            tried = [list(starts)]
            for moment in tried:
                runs = [Run(*each) for each in zip(jobs, moment, shapes, strict=True)]
                finishes = Replay(runs, network, clock).finishes()
                if _fits(scenario, places, moment, finishes):
                    yield [clock.length_s(finish) for finish in finishes]
                if not scenario.time.slotted and len(tried) <= len(jobs):
                    tried.extend(_moved(scenario, moment, finishes))


def _moved(scenario: Scenario, starts: list[float], finishes: list[float]) -> Iterator[list[float]]:
    for at, job in enumerate(scenario.jobs):
        ends = [end for end in finishes if starts[at] - 1 < end < starts[at]]
        if ends and job.running_on is None and max(ends) >= _clock(scenario).release(job.submit_s):
            yield [*starts[:at], max(ends), *starts[at + 1 :]]


def _fits(
    scenario: Scenario,
    places: Sequence[dict[str, int]],
    starts: Sequence[float],
    finishes: Sequence[float],
) -> bool:
    for server in scenario.cluster.servers:
        for now in starts:
            held = sum(
                place.get(server.name, 0)
                for place, start, finish in zip(places, starts, finishes, strict=True)
                if start <= now < finish
            )
            if held > server.capacity:
                return False
    return True
