"""Metrics of a simulation over time: waiting, completion, slowdown and utilisation; and its tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringsched.engine.clock import SLACK
from ringsched.engine.state import Floats
from ringsched.errors import InputError
from ringsched.model.checks import number
from ringsched.online.simulation import Series, Simulation

ALL_SIZES = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeClass:
    """The jobs of one class of sizes; times in seconds, a slowdown is completion over best case."""

    size: str  # in GPUs
    num_jobs: int
    mean_waiting_s: float
    p95_waiting_s: float
    max_waiting_s: float
    mean_completion_s: float
    p95_completion_s: float
    mean_slowdown: float
    p95_slowdown: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OverTime:
    """A simulation in numbers. Means over time are from the first release to the last finish."""

    num_jobs: int
    makespan_s: float
    mean_waiting_s: float
    mean_completion_s: float
    p95_completion_s: float
    mean_slowdown: float
    max_queue: int
    mean_queue: float
    gpu_utilisation: float  # of the available GPUs
    mean_contended_links: float
    num_backfilled: int
    num_promises: int
    num_broken_promises: int
    num_plans: int
    by_size: tuple[SizeClass, ...]


def over_time(simulation: Simulation) -> OverTime:
    """Return the metrics of a simulation.

    Examples
    --------
    >>> import ringsched
    >>> workload = ringsched.Workload.poisson(jobs=200, cluster=ringsched.Cluster.of_servers(4))
    >>> scenario = ringsched.generate(workload)
    >>> result = over_time(ringsched.simulate(scenario, "fifo", backfill="easy"))
    >>> result.num_broken_promises, 0 < result.gpu_utilisation < 1
    (0, True)
    """
    whole = _size_class(simulation, ALL_SIZES, np.ones(len(simulation.gpus), dtype=np.bool_))
    span_s = simulation.makespan_s
    series, promised = simulation.series, np.isfinite(simulation.promised_s)
    # The tolerance of simultaneous completions, or the rounding of seconds at Unix times if that is larger.
    slack_s = np.maximum(
        SLACK * np.maximum(1.0, simulation.promised_s - simulation.origin_s),
        2 * np.spacing(simulation.promised_s),
    )
    kept_until_s = simulation.promised_s + slack_s
    capacity = simulation.scenario.cluster.capacity
    return OverTime(
        num_jobs=whole.num_jobs,
        makespan_s=simulation.makespan_s,
        mean_waiting_s=whole.mean_waiting_s,
        mean_completion_s=whole.mean_completion_s,
        p95_completion_s=whole.p95_completion_s,
        mean_slowdown=whole.mean_slowdown,
        max_queue=int(series.queue_length.max(initial=0)),
        mean_queue=_mean_over(series, series.queue_length, span_s),
        gpu_utilisation=_mean_over(series, series.busy_gpus, span_s) / capacity if capacity else 0.0,
        mean_contended_links=_mean_over(series, series.contended_links, span_s),
        num_backfilled=int(simulation.backfilled.sum()),
        num_promises=int(promised.sum()),
        num_broken_promises=int((simulation.start_s[promised] > kept_until_s[promised]).sum()),
        num_plans=simulation.num_plans,
        by_size=tuple(
            _size_class(simulation, size, chosen) for size, chosen in _classes(simulation) if chosen.any()
        ),
    )


def _mean_over(series: Series, values: NDArray[np.int32], span_s: float) -> float:
    if span_s <= 0:
        return 0.0
    return float((values[:-1] * np.diff(series.time_s)).sum() / span_s)


def _classes(simulation: Simulation) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return the classes 1, 2, 3-4, 5-8, ... up to the largest job, with their jobs."""
    gpus, classes = simulation.gpus, []
    least, most = 1, 1
    while least <= gpus.max(initial=0):
        name = str(most) if least == most else f"{least}-{most}"
        classes.append((name, (gpus >= least) & (gpus <= most)))
        least, most = most + 1, 2 * most
    return classes


def _size_class(simulation: Simulation, size: str, chosen: NDArray[np.bool_]) -> SizeClass:
    waiting_s, completion_s = simulation.waiting_s[chosen], simulation.completion_s[chosen]
    slowdown = simulation.slowdown[chosen]
    return SizeClass(
        size=size,
        num_jobs=int(chosen.sum()),
        mean_waiting_s=_mean(waiting_s),
        p95_waiting_s=_p95(waiting_s),
        max_waiting_s=float(waiting_s.max(initial=0.0)),
        mean_completion_s=_mean(completion_s),
        p95_completion_s=_p95(completion_s),
        mean_slowdown=_mean(slowdown),
        p95_slowdown=_p95(slowdown),
    )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else 0.0


def _p95(values: Floats) -> float:
    """Return the smallest value that at least 95 % of all do not exceed."""
    return float(np.quantile(values, 0.95, method="inverted_cdf")) if len(values) else 0.0


MOST_STEPS = 10_000_000


def series_columns(simulation: Simulation, step_s: float | None = None) -> dict[str, Any]:
    """Return the series as a table: a row for every change, or mean and maximum over steps from the origin.

    Examples
    --------
    >>> import ringsched
    >>> workload = ringsched.Workload.poisson(jobs=50, cluster=ringsched.Cluster.of_servers(2))
    >>> scenario = ringsched.generate(workload)
    >>> list(series_columns(ringsched.simulate(scenario), step_s=3600))[:3]
    ['time_s', 'mean_queue_length', 'max_queue_length']
    """
    series = simulation.series
    if step_s is None:
        return series.columns
    edges_s = _edges(simulation, number(step_s, "step", above=0))
    columns: dict[str, Any] = {"time_s": edges_s[:-1]}
    for name in ("queue_length", "busy_gpus", "contended_links"):
        records = getattr(series, name)
        columns[f"mean_{name}"] = _means(series.time_s, records, edges_s)
        columns[f"max_{name}"] = _maxima(series.time_s, records, edges_s)
    return columns


def _edges(simulation: Simulation, step_s: float) -> Floats:
    time_s, origin_s = simulation.series.time_s, simulation.origin_s
    num_steps = int((time_s[-1] - origin_s) // step_s) + 1 if len(time_s) else 0
    if num_steps > MOST_STEPS:
        raise InputError(f"= {step_s:g} gives more than {MOST_STEPS} steps; make it longer", field="step")
    return origin_s + np.arange(num_steps + 1, dtype=np.float64) * np.float64(step_s)


def _means(time_s: Floats, records: NDArray[np.int32], edges_s: Floats) -> Floats:
    """Return the mean of each step: the area under the records so far is linear between them.

    It is constant before the first record and after the last.
    """
    area = np.concatenate(([0.0], np.cumsum(records[:-1] * np.diff(time_s))))
    return np.diff(np.interp(edges_s, time_s, area)) / np.diff(edges_s)


def series_means(series: Series, edges_s: Floats) -> Floats:
    """Return the mean length of the queue between each two edges."""
    return _means(series.time_s, series.queue_length, edges_s)


def _maxima(time_s: Floats, records: NDArray[np.int32], edges_s: Floats) -> NDArray[np.int32]:
    """Return the maximum of each step: the value at its beginning and all changes within it."""
    in_force = np.searchsorted(time_s, edges_s[:-1], side="right") - 1
    maxima = np.where(in_force >= 0, records[np.maximum(in_force, 0)], 0).astype(np.int32)
    within = np.searchsorted(edges_s, time_s, side="right") - 1
    np.maximum.at(maxima, within, records)
    return maxima
