"""What every job pays at its best start and placement, and the bound on the mean completion that follows.

Let every resource have a price in every cell of time. A job that ends at C pays at least for what it takes
in the last d before C. All jobs together take no more than there is, so they pay no more than the price of
all of it. The weighted sum of ends is then at least the sum over the jobs of weight x end + payment, each job
at the end and the placement that are best for it alone, less the price of all there is. Any prices will do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.bounds.resources import Resource
from ringsched.bounds.ways import Ways
from ringsched.engine.problem import Problem

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Columns:
    """The ways of the queued jobs, as columns."""

    job: Integers  # of each way, numbered from 0 among the queued jobs
    first: Integers  # of each job: its first way, before its further ones
    gpus: Integers
    start: Floats
    duration: Floats
    weight: Floats

    def least(self, cost: Floats) -> Floats:
        """Return the least cost of each job, from those of its ways at several ends."""
        least: Floats = np.minimum.reduceat(cost.min(axis=1), self.first)
        return least


def columns_of(problem: Problem, ways: Ways, weights: Floats) -> Columns:
    """Return the ways as columns; the weights are those of all jobs."""
    jobs = np.array([way.job for way in ways.queued])
    _, first, job = np.unique(jobs, return_index=True, return_inverse=True)
    return Columns(
        job=job,
        first=first,
        gpus=np.array(problem.gpus)[jobs],
        start=np.array([way.start for way in ways.queued], dtype=np.float64),
        duration=np.array([way.duration for way in ways.queued], dtype=np.float64),
        weight=weights[jobs],
    )


class Runs(NamedTuple):
    """Runs of jobs, each to some share: what a linear program makes of one run."""

    way: Integers
    start: Floats
    share: Floats


@dataclass(frozen=True, slots=True)
class Prices:
    """A price of each resource in each cell of time."""

    grid: Floats
    resources: Sequence[Resource]
    of_each: Sequence[Floats]
    value: float = -math.inf  # the least total of the queued jobs, less the price of all there is
    optimum: float = 0.0  # of the program that they are from
    num_starts: int = 0  # of that program
    runs: Runs | None = None  # that it chose

    def valued(self, columns: Columns) -> Prices:
        """Return the prices with their value.

        Payments are linear in the end as long as no part of the run begins or ends at the edge of a cell.
        """
        lengths = [columns.duration, *(each.length for each in self.resources if not each.may_rise)]
        edges = np.tile(self.grid, (len(columns.start), 1))
        ends = np.concatenate((edges, *(edges + each[:, None] for each in lengths)), axis=1)
        earliest = (columns.start + columns.duration)[:, None]
        ends = np.maximum(np.concatenate((ends, earliest), axis=1), earliest)
        payable = [
            math.fsum(resource.capacity * price * np.diff(self.grid))
            for resource, price in zip(self.resources, self.of_each, strict=True)
        ]
        value = math.fsum(columns.least(self.cost(columns, ends))) - math.fsum(payable)
        return replace(self, value=value)

    def cost(self, columns: Columns, ends: Floats) -> Floats:
        """Return weight x end + payment of each way at these ends."""
        cost: Floats = columns.weight[:, None] * ends
        for length, rates in self._rates(columns):
            paid = np.cumsum(rates * np.diff(self.grid), axis=1)
            rent = np.concatenate((np.zeros((len(paid), 1)), paid), axis=1)
            cost += self._until(rent, ends) - self._until(rent, ends - length[:, None])
        return cost

    def _rates(self, columns: Columns) -> Iterator[tuple[Floats, Floats]]:
        """Yield what each way pays in a unit of time, in each cell, and for how long before its end."""
        whole_run: Floats = np.zeros((len(columns.start), len(self.grid) - 1))
        for resource, price in zip(self.resources, self.of_each, strict=True):
            if not price.any():
                continue
            if resource.may_rise:
                whole_run += resource.amount * price
            else:
                yield resource.length, resource.amount * price
        yield columns.duration, whole_run

    def _until(self, rent: Floats, instants: Floats) -> Floats:
        """Return what each way would have paid from the origin to some instants."""
        cell = np.clip(np.searchsorted(self.grid, instants, side="right") - 1, 0, len(self.grid) - 2)
        share = np.clip((instants - self.grid[cell]) / np.diff(self.grid)[cell], 0, 1)
        before = np.take_along_axis(rent, cell, axis=1)
        paid: Floats = before + share * (np.take_along_axis(rent, cell + 1, axis=1) - before)
        return paid
