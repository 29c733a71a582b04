"""A simulation as tables: a row for every job, and the series over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringsched.engine.arrays import Floats
from ringsched.errors import InputError
from ringsched.model.checks import number
from ringsched.online.simulation import Simulation

MOST_STEPS = 10_000_000


def job_columns(simulation: Simulation) -> dict[str, Any]:
    """Return a table with a row for every job."""
    return {
        "job": [job.name for job in simulation.scenario.jobs],
        "gpus": simulation.gpus,
        "submit_s": simulation.submit_s,
        "start_s": simulation.start_s,
        "finish_s": simulation.finish_s,
        "waiting_s": simulation.waiting_s,
        "completion_s": simulation.completion_s,
        "best_case_s": simulation.best_case_s,
        "slowdown": simulation.slowdown,
        "servers": simulation.num_servers,
        "backfilled": simulation.backfilled,
        "promised_s": simulation.promised_s,
    }


def series_columns(simulation: Simulation, step_s: float | None = None) -> dict[str, Any]:
    """Return the series as a table: a row for every change, or mean and maximum over steps from the origin.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.generate_poisson(jobs=50, servers=2)
    >>> list(series_columns(ringsched.simulate(scenario), step_s=3600))[:3]
    ['time_s', 'mean_queue_length', 'max_queue_length']
    """
    series = simulation.series
    values = {
        "queue_length": series.queue_length,
        "busy_gpus": series.busy_gpus,
        "contended_links": series.contended_links,
    }
    if step_s is None:
        return {"time_s": series.time_s, **values}
    edges_s = _edges(simulation, number(step_s, "step", above=0))
    columns: dict[str, Any] = {"time_s": edges_s[:-1]}
    for name, records in values.items():
        columns[f"mean_{name}"] = _means(series.time_s, records, edges_s)
        columns[f"max_{name}"] = _maxima(series.time_s, records, edges_s)
    return columns


def _edges(simulation: Simulation, step_s: float) -> Floats:
    time_s, origin_s = simulation.series.time_s, simulation.origin_s
    num_steps = int((time_s[-1] - origin_s) // step_s) + 1 if len(time_s) else 0
    if num_steps > MOST_STEPS:
        raise InputError(f"= {step_s:g} makes more than {MOST_STEPS} steps of this time", field="step")
    return origin_s + np.arange(num_steps + 1, dtype=np.float64) * np.float64(step_s)


def _means(time_s: Floats, records: NDArray[np.int32], edges_s: Floats) -> Floats:
    """Return the mean of each step: the area under the records so far is linear between them.

    It does not grow before the first record, nor after the last, at which all is done.
    """
    area = np.concatenate(([0.0], np.cumsum(records[:-1] * np.diff(time_s))))
    return np.diff(np.interp(edges_s, time_s, area)) / np.diff(edges_s)


def _maxima(time_s: Floats, records: NDArray[np.int32], edges_s: Floats) -> NDArray[np.int32]:
    """Return the largest of what a step begins with and of all that comes within it."""
    in_force = np.searchsorted(time_s, edges_s[:-1], side="right") - 1
    maxima = np.where(in_force >= 0, records[np.maximum(in_force, 0)], 0).astype(np.int32)
    within = np.searchsorted(edges_s, time_s, side="right") - 1
    np.maximum.at(maxima, within, records)
    return maxima
