"""Loads that no cluster can serve, and what to say about them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ringsched.model import Scenario
from ringsched.workloads.load import alike, best_taus

WEEK_S = 7 * 86_400.0
# How often the jobs' mean duration the arrivals must span before a load says something: a batch that is
# submitted at once has any load.
LONG_ENOUGH = 5


def busiest_load(scenario: Scenario) -> float:
    """Return the load in the busiest week, if every job started when it was submitted; 0 for shorter spans.

    The mean over a long trace hides the weeks in which a cluster is overloaded.
    """
    jobs = scenario.jobs
    last_s = max((job.submit_s for job in jobs), default=0.0)
    num_weeks = int(last_s // WEEK_S)
    if num_weeks < 1:
        return 0.0
    tau_s = best_taus({alike(job): job for job in jobs}, scenario.cluster, scenario.contention)
    starts = np.array([job.submit_s for job in jobs])
    ends = starts + np.array([job.iterations * tau_s[alike(job)] for job in jobs])
    gpus = np.array([job.gpus for job in jobs], dtype=np.float64)
    edges = np.arange(num_weeks + 1) * WEEK_S
    # GPU-seconds before each edge: a job has given those between its start and the edge.
    before = [float((gpus * np.clip(edge - starts, 0, ends - starts)).sum()) for edge in edges]
    return max(after - until for until, after in pairwise(before)) / (scenario.cluster.capacity * WEEK_S)


def spans_long_enough(scenario: Scenario, mean_duration_s: float) -> bool:
    """Return whether jobs arrive for so long that their load says something."""
    span_s = max((job.submit_s for job in scenario.jobs), default=0.0)
    return span_s >= LONG_ENOUGH * mean_duration_s > 0


def overload_warning(scenario: Scenario, load: float, busiest: float = 0.0) -> str | None:
    """Return why a simulation would say little: even without contention the jobs need more GPUs.

    `load` and `busiest` are those without contention, over the whole span and in the busiest week.
    """
    capacity = scenario.cluster.capacity
    jobs = scenario.jobs
    if load <= 1 and busiest <= 1:
        return None
    tau_s = best_taus({alike(job): job for job in jobs}, scenario.cluster, scenario.contention)
    mean_s = sum(job.iterations * tau_s[alike(job)] for job in jobs) / len(jobs)
    if not spans_long_enough(scenario, mean_s):
        return None
    if load > 1:
        return (
            f"the load is {load:.2f} even without contention, so the queue only grows; "
            f"use at least {math.ceil(load * capacity)} GPUs, not {capacity}"
        )
    return (
        f"the load is {busiest:.2f} in the busiest week even without contention, so the queue grows then; "
        f"{math.ceil(busiest * capacity)} GPUs instead of {capacity} would hold it"
    )
