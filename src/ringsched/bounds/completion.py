"""Lower bounds on the mean of completions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ringsched.bounds.fastest import Fastest
from ringsched.engine.problem import Problem, objective_value
from ringsched.model import Bound
from ringsched.model.objective import Objective


def best_cases(problem: Problem, fastest: Fastest, objective: Objective) -> Bound:
    """No job can end before its earliest start plus its shortest duration, and no objective be less then."""
    earliest = [start + best for start, best in zip(fastest.start, fastest.best, strict=True)]
    return Bound(
        name="best-cases",
        value_s=objective_value(problem, earliest, objective),
        terms={"jobs": problem.num_jobs},
    )


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
    instants = mean_instants(fastest.start, lengths, weights)
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


Floats = NDArray[np.float64]

# Effort: steps of the price, and how often it is changed; less of both for many jobs.
MOST_STEPS, LEAST_STEPS, MOST_TRIALS = 64, 8, 80
EFFORT = 40_000  # steps x jobs
CELLS_AT_ONCE = 16_000  # steps x jobs: arrays that fit into a cache


@dataclass(frozen=True, slots=True)
class Prices:
    """A price per GPU and unit of time from the origin on: `first` at first, falling to 0 after `length`."""

    length: float
    first: float
    exponent: float
    steps: int

    def grid(self) -> Floats:
        """Return the instants at which the price changes."""
        grid: Floats = np.arange(self.steps + 1, dtype=np.float64) * (self.length / self.steps)
        return grid

    def rent(self) -> Floats:
        """Return what one GPU costs from the start to each of these instants."""
        # Python's own power: numpy's may differ in the last digit from one processor to another.
        prices = [self.first * (1 - step / self.steps) ** self.exponent for step in range(self.steps)]
        rent: Floats = np.concatenate(([0.0], np.cumsum(prices) * (self.length / self.steps)))
        return rent


def priced_gpus(problem: Problem, fastest: Fastest, objective: Objective) -> Bound:
    """Charge rent for GPUs: a job that ends at C holds its own for at least the last d, at the price then.

    No plan holds more than N GPUs at any time, so all rent together is at most that of N GPUs. The
    weighted sum of ends is then at least the sum over the jobs of weight x end + rent, each job at the start
    that is best for itself alone, less the rent of N GPUs. Any prices will do. Ends and rent are linear
    between the steps of the price, so the best start is the release, or one with a step at start or end.
    """
    jobs = problem.scenario.jobs
    weights = np.array(objective.weights(jobs))
    weights /= math.fsum(weights)  # so that a weighted sum is the mean, and a price is in its unit
    seconds = problem.clock.seconds
    release, gpus, duration = (
        np.array(values, dtype=float) for values in (fastest.start, problem.gpus, fastest.best)
    )

    def total(prices: Prices) -> float:
        grid, rent = prices.grid(), prices.rent()
        at_once = max(1, CELLS_AT_ONCE // len(grid))
        parts = [slice(at, at + at_once) for at in range(0, len(jobs), at_once)]
        return math.fsum(chain.from_iterable(costs(grid, rent, part) for part in parts)) - (
            problem.num_gpus * float(rent[-1])
        )

    def costs(grid: Floats, rent: Floats, part: slice) -> list[float]:
        """Return weighted end and rent of some of the jobs, each at its best start."""
        earliest, length = release[part, None], duration[part, None]
        starts = np.concatenate((np.tile(grid, (len(length), 1)), grid - length, earliest), axis=1)
        starts = np.maximum(starts, earliest)
        ends = starts + length
        paid = np.interp(ends, grid, rent) - np.interp(starts, grid, rent)
        least: list[float] = (weights[part, None] * ends + gpus[part, None] * paid).min(axis=1).tolist()
        return least

    prices = _best_prices(_first_guess(problem, fastest), total)
    submits_s = math.fsum(
        weight * (job.submit_s - problem.origin_s) for weight, job in zip(weights, jobs, strict=True)
    )
    return Bound(
        name="priced-gpus",
        value_s=seconds(total(prices)) - submits_s,
        terms={
            "from_s": 0.0,
            "until_s": seconds(prices.length),
            "first_price": prices.first,
            "exponent": prices.exponent,
            "steps": prices.steps,
        },
    )


def _first_guess(problem: Problem, fastest: Fastest) -> Prices:
    """Return prices that last about as long as the work, and begin with what waiting costs."""
    areas = [gpus * best for gpus, best in zip(problem.gpus, fastest.best, strict=True)]
    return Prices(
        length=float(max(sum(areas) / problem.num_gpus, *fastest.best, 0)),
        first=1 / problem.num_gpus,
        exponent=1.5,
        steps=max(LEAST_STEPS, min(MOST_STEPS, EFFORT // problem.num_jobs)),
    )


def _best_prices(prices: Prices, total: Callable[[Prices], float]) -> Prices:
    """Change price, exponent and length in turn by ever smaller factors, as long as that helps."""
    best, trials = total(prices), 1
    factors = [0.5, 0.3, 0.2]  # natural logarithms
    num_trials = MOST_TRIALS * prices.steps // MOST_STEPS + 10
    while factors[0] > 0.01 and trials < num_trials:
        improved = False
        for which in range(3):
            for sign in (1, -1):
                changed = _changed(prices, which, math.exp(sign * factors[which]))
                value, trials = total(changed), trials + 1
                if value > best:
                    best, prices, improved = value, changed, True
                    break
        if not improved:
            factors = [factor / 2 for factor in factors]
    return prices


def _changed(prices: Prices, which: int, factor: float) -> Prices:
    values = [prices.first, prices.exponent, prices.length]
    values[which] *= factor
    first, exponent, length = values
    return Prices(length, first, exponent, prices.steps)
