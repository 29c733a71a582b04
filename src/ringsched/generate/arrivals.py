"""Jobs that arrive over time, at a given load: as a Poisson process, or more by day than by night."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ringsched.generate.cluster import CONTENTION, INTER_SERVER_GBPS, like_servers
from ringsched.generate.draw import JOBS, Draw
from ringsched.generate.mixes import (
    SECONDS_PER_HOUR,
    Kind,
    drawn_durations_s,
    drawn_kinds,
    known_jobs,
    plannable,
    time_of,
)
from ringsched.model import Cluster, Scenario, Time
from ringsched.model.checks import integer, number

HOURS_PER_DAY = 24
MOST_LOAD = 1e6

# Draws one submit time in [0, span_s].
Arrival = Callable[[Draw, float], float]


def generate_poisson(
    seed: int = 0,
    servers: int = 64,
    gpus_per_server: int = 8,
    jobs: int = 10_000,
    *,
    load: float = 0.8,
    switches: int = 0,
    sizes: str | Mapping[int, float] = "philly",
    models: str | Mapping[str, float] = "uniform",
    min_hours: float = 0.5,
    max_hours: float = 8.0,
    inter_server_gbps: float = INTER_SERVER_GBPS,
    switch_uplink_gbps: float | None = None,
    slot_s: float | None = None,
) -> Scenario:
    """Return jobs of known models that arrive as a Poisson process.

    Parameters
    ----------
    load
        GPU-seconds of all jobs in the best case over those the cluster has while they arrive. The jobs
        are drawn first; how long they take to arrive follows from it.
    switches, sizes, models, min_hours, max_hours, switch_uplink_gbps, slot_s
        As for `generate_uniform`.

    Raises
    ------
    InputError
        A value is out of range, a job is larger than the cluster, or the slot is too short.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.generate_poisson(jobs=200, load=0.5)
    >>> abs(ringsched.offered_load(scenario) - 0.5) < 0.01
    True
    """
    cluster = like_servers(servers, gpus_per_server, switches, inter_server_gbps, switch_uplink_gbps)
    queue = _drawn(seed, cluster, jobs, sizes, models, min_hours, max_hours)
    return _arriving(queue, cluster, load, _uniform, f"poisson, seed {seed}", time_of(slot_s))


def generate_diurnal(
    seed: int = 0,
    servers: int = 64,
    gpus_per_server: int = 8,
    jobs: int = 10_000,
    *,
    load: float = 0.8,
    swing: float = 0.8,
    peak_hour: float = 14.0,
    switches: int = 0,
    sizes: str | Mapping[int, float] = "philly",
    models: str | Mapping[str, float] = "uniform",
    min_hours: float = 0.5,
    max_hours: float = 8.0,
    inter_server_gbps: float = INTER_SERVER_GBPS,
    switch_uplink_gbps: float | None = None,
    slot_s: float | None = None,
) -> Scenario:
    """Return jobs of known models whose rate of arrival goes up and down once a day.

    Parameters
    ----------
    load
        As for `generate_poisson`: the mean; at the peak it is 1 + swing times as much.
    swing
        In [0, 1]: by which part of the mean the rate rises above it by day and falls below it by night.
    peak_hour
        When it is highest; the first day begins at hour 0.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.generate_diurnal(jobs=2000, swing=1.0, peak_hour=12)
    >>> by_day = [6 <= job.submit_s / 3600 % 24 < 18 for job in scenario.jobs]
    >>> sum(by_day) > 1500
    True
    """
    arrival = _daily(
        number(swing, "swing", minimum=0, maximum=1),
        number(peak_hour, "peak_hour", minimum=0, maximum=HOURS_PER_DAY) / HOURS_PER_DAY,
    )
    cluster = like_servers(servers, gpus_per_server, switches, inter_server_gbps, switch_uplink_gbps)
    queue = _drawn(seed, cluster, jobs, sizes, models, min_hours, max_hours)
    return _arriving(queue, cluster, load, arrival, f"diurnal, seed {seed}", time_of(slot_s))


class _Queue(NamedTuple):
    """Jobs before they arrive, and the draw to go on with."""

    draw: Draw
    kinds: list[Kind]
    durations_s: list[float]


def _drawn(
    seed: int,
    cluster: Cluster,
    jobs: int,
    sizes: str | Mapping[int, float],
    models: str | Mapping[str, float],
    min_hours: float,
    max_hours: float,
) -> _Queue:
    draw = Draw(integer(seed, "seed", minimum=0), JOBS)
    kinds = drawn_kinds(draw, jobs, sizes, models, cluster.capacity)
    return _Queue(draw, kinds, drawn_durations_s(draw, len(kinds), min_hours, max_hours))


def _arriving(
    queue: _Queue, cluster: Cluster, load: float, arrival: Arrival, name: str, time: Time
) -> Scenario:
    """Let the jobs of a queue arrive for as long as makes the load what it should be."""
    draw, kinds, durations_s = queue
    factor = number(load, "load", above=0, maximum=MOST_LOAD)
    gpu_seconds = sum(gpus * duration_s for (gpus, _), duration_s in zip(kinds, durations_s, strict=True))
    span_s = gpu_seconds / (factor * cluster.capacity)
    # Given how many arrive in a span, the arrivals of a Poisson process are independent draws from it.
    submits_s = sorted(round(arrival(draw, span_s), 3) for _ in kinds)
    jobs = known_jobs(kinds, durations_s, submits_s, cluster)
    scenario = Scenario(name=name, time=time, cluster=cluster, contention=CONTENTION, jobs=jobs)
    # In continuous time every kind was tried already, to find its best case.
    return plannable(scenario) if time.slotted else scenario


def _uniform(draw: Draw, span_s: float) -> float:
    return draw.uniform(0, span_s)


def _daily(swing: float, peak: float) -> Arrival:
    """Return arrivals at a rate of 1 + swing * cos(...) with its peak at that part of the day."""

    def arrival(draw: Draw, span_s: float) -> float:
        while True:
            time_s = draw.uniform(0, span_s)
            days = time_s / (HOURS_PER_DAY * SECONDS_PER_HOUR)
            rate = 1 + swing * math.cos(2 * math.pi * (days - peak))
            if draw.uniform(0, 1 + swing) <= rate:
                return time_s

    return arrival
