"""The worlds in which searches and bounds are measured: small clusters of every kind, and a large one.

Each world draws a scenario from a seed, the same on every machine. `twins` are tiny scenarios of the same
kinds, for which policy `exact` proves the best plan.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import ringsched
from ringsched import Cluster, Contention, Job, Scenario, Server, Time, Workload, generate
from ringsched.workloads import Arrivals, Poisson, Spread
from ringsched.workloads.draw import JOBS, Draw

SEEDS = range(3)
NUM_TWINS = 300
NUM_JOBS = 150
_SIZES = "paper"
_ODD_SIZES = "3:1,5:1,6:1,7:1,12:1"
_WEIGHTS = (1.0, 1.0, 2.0, 5.0)
_GPUS = 8  # of a server
_TWINS = ("flat", "racks", "odd", "running")
_DRAWN_LATER = 1_000_003  # so that what a world adds to its jobs is drawn from another stream

TRACES = Path(os.environ.get("RINGSCHED_TRACES", Path(__file__).parents[2] / "shared" / "data" / "traces"))

Build = Callable[[int], Scenario]


def worlds() -> dict[str, Build]:
    """Return every world that this version can express, by name: a function of the seed."""
    racks = {ratio: _racks(32, ratio) for ratio in (1, 2, 4)}
    found: dict[str, Build] = {
        "flat": partial(_drawn, _flat(32)),
        "racks 1:1": partial(_drawn, racks[1]),
        "racks 2:1": partial(_drawn, racks[2]),
        "racks 4:1": partial(_drawn, racks[4]),
        "three levels": partial(_drawn, _three_levels(), sizes="1:8,2:4,4:6,8:4,16:4,32:2"),
        "odd sizes": partial(_drawn, racks[2], sizes=_ODD_SIZES),
        "running": partial(_running, racks[2], 30),
        "arrivals": partial(_drawn, racks[2], arrivals=Poisson(1.1)),
        "weights": partial(_weighted, racks[2]),
        "phases": partial(_drawn, racks[2], contention=Contention(model="phases", server_latency_ms=0.2)),
        "overlap": partial(_overlapping, racks[2]),
        "large": _large,
    }
    if _has("layout"):
        found["balanced"] = partial(_balanced, racks[2])
    if _has("requires"):
        found["labels"] = partial(_labelled, racks[2])
    return found


def twins() -> Iterator[tuple[str, Scenario]]:
    """Yield tiny scenarios with their names: of 4 to 6 queued jobs, with arrivals and weights."""
    for seed in range(NUM_TWINS):
        kind = _TWINS[seed % len(_TWINS)]
        yield f"{kind} {seed}", _twin(kind, seed)


def muri() -> Scenario:
    """Return all 1,494 jobs of the Muri trace on 14 servers of 8 GPUs, a load of 1.14: too many for them."""
    around = Scenario(
        cluster=Cluster.of_servers(14, _GPUS, inter_server_gbps=25.0),
        contention=Contention.ethernet(),
        time=Time(model="continuous"),
    )
    return ringsched.import_trace(TRACES / "muri_trace1.csv.gz", "muri", cluster=around).scenario


def _flat(servers: int) -> Cluster:
    return Cluster.of_servers(servers, _GPUS, inter_server_gbps=10.0)


def _racks(servers: int, oversubscription: float) -> Cluster:
    """Return racks of 8 servers with 25 Gbit/s each."""
    return Cluster.of_servers(
        servers,
        _GPUS,
        switches=servers // 8,
        inter_server_gbps=25.0,
        switch_uplink_gbps=8 * 25.0 / oversubscription,
    )


def _three_levels() -> Cluster:
    """Return 4 servers below a leaf, 2 leaves below a spine, and 4 spines."""
    return Cluster.of_levels((4, 2, 4), _GPUS, inter_server_gbps=25.0, oversubscription=(2, 2))


def _drawn(
    cluster: Cluster,
    seed: int,
    *,
    jobs: int = NUM_JOBS,
    sizes: str = _SIZES,
    arrivals: Arrivals | None = None,
    contention: Contention | None = None,
) -> Scenario:
    workload = Workload(
        name="world",
        jobs=jobs,
        sizes=sizes,
        arrivals=arrivals or Spread(),
        cluster=cluster,
        contention=contention or Contention.ethernet(),
    )
    return generate(workload, seed=seed)


def _changed(scenario: Scenario, seed: int, change: Callable[[Draw, Job], dict[str, Any]]) -> Scenario:
    """Return the scenario with changes to each job, drawn from a stream for themselves."""
    draw = Draw(seed + _DRAWN_LATER, JOBS)
    return scenario.replace(jobs=tuple(job.replace(**change(draw, job)) for job in scenario.jobs))


def _weighted(cluster: Cluster, seed: int, **options: Any) -> Scenario:
    scenario = _drawn(cluster, seed, **options)
    return _changed(scenario, seed, lambda draw, _: {"weight": draw.choice(_WEIGHTS)})


def _overlapping(cluster: Cluster, seed: int) -> Scenario:
    """Let frameworks send gradients in buckets behind the backward pass."""
    return _changed(_drawn(cluster, seed), seed, lambda draw, _: {"buckets": draw.integer(1, 8)})


def _balanced(cluster: Cluster, seed: int) -> Scenario:
    scenario = _drawn(cluster, seed, sizes="1:60,2:20,4:20,6:10,8:20,12:10,16:8,24:2")
    return _changed(scenario, seed, lambda _draw, _job: {"layout": "balanced"})


def _labelled(cluster: Cluster, seed: int) -> Scenario:
    """Let half of the servers of each rack be of one kind, and some jobs require a kind."""
    kinds = ("a100", "v100")
    labels: list[dict[str, Any]] = [{"labels": {"gpu": kind}} for kind in kinds]
    servers = tuple(server.replace(**labels[at % len(kinds)]) for at, server in enumerate(cluster.servers))
    scenario = _drawn(cluster.replace(servers=servers), seed)

    def requirement(draw: Draw, _: Job) -> dict[str, Any]:
        drawn = draw.integer(0, 3)
        return {"requires": {"gpu": kinds[drawn]} if drawn < len(kinds) else {}}

    return _changed(scenario, seed, requirement)


def _running(
    cluster: Cluster, num_running: int, seed: int, *, jobs: int = NUM_JOBS, sizes: str = _SIZES
) -> Scenario:
    """Let the first jobs run already, where first fit has left them after many came and went."""
    scenario = _drawn(cluster, seed, jobs=num_running + jobs, sizes=sizes)
    draw = Draw(seed + _DRAWN_LATER, JOBS)
    placed = _left_by_first_fit(draw, cluster.servers, [job.gpus for job in scenario.jobs[:num_running]])

    def started(job: Job, gpus: list[tuple[str, int]]) -> Job:
        held: dict[str, list[int]] = {}
        for server, gpu in sorted(gpus):
            held.setdefault(server, []).append(gpu)
        return job.replace(running_on=held, done_iterations=int(job.iterations * draw.uniform(0, 0.9)))

    running = [started(job, gpus) for job, gpus in zip(scenario.jobs, placed, strict=False)]
    return scenario.replace(jobs=(*running, *scenario.jobs[len(running) :]))


def _left_by_first_fit(
    draw: Draw, servers: tuple[Server, ...], sizes: list[int]
) -> list[list[tuple[str, int]]]:
    """Return GPUs of jobs of these sizes; jobs as large as they came before, and left holes."""
    gpus = [(server.name, gpu) for server in servers for gpu in range(server.gpus)]
    free = list(range(len(gpus)))
    earlier: list[list[int]] = []
    placed = []
    for size in sizes:
        # Two come for each that goes and for each that stays.
        earlier += [[heapq.heappop(free) for _ in range(min(size, len(free)))] for _ in range(2)]
        for number in earlier.pop(draw.integer(0, len(earlier) - 1)):
            heapq.heappush(free, number)
        if len(free) < size:
            for number in [number for held in earlier for number in held]:
                heapq.heappush(free, number)
            earlier.clear()
        placed.append([gpus[heapq.heappop(free)] for _ in range(size)] if len(free) >= size else [])
    return placed[: placed.index([])] if [] in placed else placed


def _large(seed: int) -> Scenario:
    """Return 4,000 servers in racks of 32, 3,000 running jobs and 1,000 queued ones."""
    cluster = Cluster.of_servers(
        4000, _GPUS, switches=125, inter_server_gbps=25.0, switch_uplink_gbps=32 * 25.0 / 2
    )
    return _running(cluster, 3000, seed, jobs=1000, sizes="1:10,2:5,4:10,8:48,16:20,32:7")


def _twin(kind: str, seed: int) -> Scenario:
    """Return 4 to 6 queued jobs with weights on a few servers; they arrive, or others run already."""
    jobs = 4 + seed // len(_TWINS) % 3
    cluster = Cluster.of_servers(3, 4, inter_server_gbps=10.0)
    if kind == "racks":
        cluster = Cluster.of_servers(4, 2, switches=2, inter_server_gbps=25.0, switch_uplink_gbps=25.0)
    options: dict[str, Any] = {"sizes": "1:2,2:2,3:2,5:1,7:1" if kind == "odd" else "1:1,2:1,4:1,6:1"}
    if kind == "running":
        drawn = _running(cluster, 2, seed, jobs=jobs, **options)
    else:
        drawn = _drawn(cluster, seed, jobs=jobs, arrivals=Poisson(1.5), **options)
    return _changed(drawn, seed, lambda draw, _: {"weight": draw.choice(_WEIGHTS)})


def _has(field: str) -> bool:
    return field in {each.name for each in fields(Job)}
