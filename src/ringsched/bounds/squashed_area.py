"""The mean of completions if jobs could be squeezed onto all GPUs at once."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from ringsched.bounds.fastest import Fastest
from ringsched.engine.objective import objective_value
from ringsched.engine.problem import Problem
from ringsched.model import Bound
from ringsched.model.objective import Objective


def squashed_area(problem: Problem, fastest: Fastest, objective: Objective) -> Bound:
    """Every job ends half its shortest duration d after the mean instant of its last d, and these are late.

    The last d of every job are work of gpus x d GPU-seconds, done after its release, at no more than N
    GPUs in all. Allow that work to be cut up and to be done at any pace, N for one job at a time included:
    then the weighted mean instants are least if at any time the job with the most weight per GPU-second is
    at work (Goemans, Queyranne, Schulz, Skutella and Wang 2002; an exchange of two pieces shows it).
    Without releases this is Smith's rule, and with one GPU the bound of Eastman, Even and Isaacs (1964).
    """
    weights = [objective.weight(job) for job in problem.scenario.jobs]
    lengths = [gpus * best / problem.num_gpus for gpus, best in zip(problem.gpus, fastest.best, strict=True)]
    instants = mean_instants(problem.release, lengths, weights)
    earliest = [instant + best / 2 for instant, best in zip(instants, fastest.best, strict=True)]
    return Bound(
        name="squashed-area",
        value_s=objective_value(problem, earliest, objective),
        terms={
            "gpu_seconds": problem.clock.seconds(problem.num_gpus * sum(lengths)),
            "gpus": problem.num_gpus,
        },
    )


def mean_instants(releases: Sequence[float], lengths: list[float], weights: list[float]) -> list[float]:
    """Return the mean instant at which each job is at work, the one with the most weight per length first.

    A job that comes in with more of it interrupts the one at work.
    """
    moments = [0.0] * len(lengths)  # of each job: the integral of time over its work
    left = list(lengths)
    ready: list[tuple[float, int]] = []
    arrivals = sorted(range(len(lengths)), key=lambda job: releases[job], reverse=True)
    now = 0.0
    while arrivals or ready:
        if not ready:
            now = max(now, releases[arrivals[-1]])
        while arrivals and releases[arrivals[-1]] <= now:
            job = arrivals.pop()
            heappush(ready, (lengths[job] / weights[job], job))
        job = ready[0][1]
        until = releases[arrivals[-1]] if arrivals else float("inf")
        step = min(left[job], until - now)
        moments[job] += step * (now + step / 2)
        left[job] -= step
        now += step
        if left[job] <= 0:
            heappop(ready)
    return [moment / length for moment, length in zip(moments, lengths, strict=True)]
