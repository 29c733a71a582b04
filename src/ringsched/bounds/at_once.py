"""Lower bounds on the makespan that know when running jobs end, and how many jobs fit at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ringsched.bounds.ways import Ways, required
from ringsched.bounds.work import Array, Work, choices
from ringsched.model import Bound


def work_after_running(work: Work, ways: Ways) -> Work:
    """Return the work of all jobs, each released its shortest duration before its earliest end.

    A job that runs for d or longer and ends at e or later has at least min(d, e - t) of its run after t.
    """
    problem = work.problem
    durations = [ways.running.get(job, best) for job, best in enumerate(work.fastest.best)]
    ends = ways.earliest_ends(problem.num_jobs)

    def array(values: Iterable[float]) -> Array:
        return np.array([int(value) for value in values] if problem.clock.slotted else list(values))

    kind = work.duration.dtype
    duration = array(durations).astype(kind)
    return replace(work, duration=duration, release=array(ends).astype(kind) - duration)


def after_running(later: Work) -> Bound:
    """As `work-left`, but no queued job starts before running jobs leave it enough GPUs."""
    reached, instant, left = later.best_start(later.gpus, later.problem.num_gpus)
    seconds = later.problem.clock.seconds
    return Bound(
        name="after-running",
        value_s=seconds(reached),
        terms={"from_s": seconds(instant), "gpu_seconds": seconds(left), "gpus": later.problem.num_gpus},
    )


def few_at_once(later: Work) -> Bound:
    """Of the jobs with `least` or more GPUs no more run at once than the smallest of them that fit.

    Every such job takes one of so many places while it runs. The rest is `after-running`.
    """
    ends = []
    for least in choices(later.gpus):
        places = (later.gpus >= least).astype(later.gpus.dtype)
        at_once = num_at_once(later.gpus[later.gpus >= least].tolist(), later.problem.num_gpus)
        ends.append((*later.best_start(places, at_once), least, at_once))
    reached, instant, left, least, at_once = max(ends, key=lambda end: end[0])
    seconds = later.problem.clock.seconds
    return Bound(
        name="few-at-once",
        value_s=seconds(reached),
        terms={
            "from_s": seconds(instant),
            "least": least,
            "at_once": at_once,
            "durations_s": seconds(left),
        },
    )


def required_servers(later: Work) -> Bound | None:
    """As `after-running`, for the jobs that may use no other servers than those that `job` may use."""
    problem = later.problem
    ends = []
    for setter, allowed, counted in required(problem):
        servers = set(allowed)
        amount = np.zeros_like(later.gpus)
        amount[counted] = later.gpus[counted]
        for job, gpus in problem.running.items():
            amount[job] = sum(problem.server_of[gpu] in servers for gpu in gpus)
        capacity = sum(problem.network.capacity[server] for server in allowed)
        ends.append((*later.best_start(amount, capacity), setter, capacity))
    if not ends:
        return None
    reached, instant, left, setter, capacity = max(ends, key=lambda end: end[0])
    seconds = problem.clock.seconds
    return Bound(
        name="required-servers",
        value_s=seconds(reached),
        terms={
            "from_s": seconds(instant),
            "job": problem.scenario.jobs[setter].name,
            "gpu_seconds": seconds(left),
            "gpus": capacity,
        },
    )


def num_at_once(sizes: Iterable[int], num_gpus: int) -> int:
    """Return the most of these jobs that fit into so many GPUs: the smallest ones.

    Examples
    --------
    >>> num_at_once([6, 4, 4], 8), num_at_once([6, 4], 8)
    (2, 1)
    """
    number = 0
    for size in sorted(sizes):
        num_gpus -= size
        if num_gpus < 0:
            break
        number += 1
    return number
