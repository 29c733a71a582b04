"""GPUs counted in units: what some jobs leave of them is rounded down.

If small jobs leave 13 GPUs, one job of 8 fits beside them and not 1.6 of them, as a linear program would have
it. So the program assumes that certain jobs run in each cell of time. Let these leave `left` GPUs,
and count in units of some GPUs: left = whole x unit + rest. A number g of GPUs is worth

    worth(g) = (g // unit) x (unit - rest) + max(0, g % unit - rest)

The worths of several numbers together are at most that of their sum. At any instant, the jobs that run but
were not expected to, less those that were expected to run but do not, take at most `left`. So the worths of
the former and of the latter (of negative numbers) are together at most worth(left). This holds whichever jobs
are expected. In integer programming it is known as mixed-integer rounding with complemented variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.bounds.prices import Columns, Runs
from ringsched.bounds.resources import GPUS, Resource

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

MOST_UNITS = 8
_BY = "_by_"
LEAST_EXCESS = 1e-3  # a solution that takes more units than exist by less is not corrected


class Expected(NamedTuple):
    """From when until when each queued job is expected to run, in seconds, as a plan states it."""

    from_s: Floats
    until_s: Floats

    def in_cells(self, instants_s: Floats) -> Flags:
        """Return whether each job (a row) is expected to run in the middle of each cell (a column)."""
        middle_s = (instants_s[:-1] + instants_s[1:]) / 2
        found: Flags = (self.from_s[:, None] <= middle_s) & (middle_s < self.until_s[:, None])
        return found


def expected_of(columns: Columns, runs: Runs, seconds: Callable[[Floats], Floats]) -> Expected:
    """Return of each job the run in the middle of its runs: half of the job begins no later."""
    order = np.lexsort((runs.start, columns.job[runs.way]))
    half = np.arange(len(columns.first)) + 0.5  # the shares of each job add up to one
    middle = order[np.searchsorted(np.cumsum(runs.share[order]), half)]
    begin = runs.start[middle]
    return Expected(seconds(begin), seconds(begin + columns.duration[runs.way[middle]]))


def rounded_gpus(
    columns: Columns, resources: Sequence[Resource], grid: Floats, runs: Runs, expected: Flags
) -> Iterator[Resource]:
    """Yield GPUs counted in units, in those cells in which the runs take more of these than there are.

    `expected` says of each job (a row) whether it is expected to run in each cell (a column).
    """
    shares = _shares(columns, grid, runs)
    for resource in resources:
        if not resource.name.startswith(GPUS):
            continue
        gpus = resource.amount[columns.first].astype(np.int64)  # a column
        left = resource.capacity.astype(np.int64) - (gpus * expected).sum(axis=0)
        for unit in _units(gpus):
            whole, rest = np.divmod(left, unit)
            amount = np.where(expected, -worth(-gpus, unit, rest), worth(gpus, unit, rest))
            capacity = whole * (unit - rest) + (amount * expected).sum(axis=0)
            excess = (amount * shares).sum(axis=0) - capacity
            counted = (rest > 0) & (excess > LEAST_EXCESS * (unit - rest))
            if counted.any():
                yield Resource(
                    f"{resource.name}{_BY}{unit}",
                    np.where(counted, amount, 0)[columns.job].astype(np.float64),
                    columns.duration,
                    np.where(counted, capacity, 0).astype(np.float64),
                )


def is_in_units(name: str) -> bool:
    """Whether the resource of this name is counted in units."""
    return _BY in name


def _units(gpus: Integers) -> list[int]:
    """Return sizes of jobs, of many only some."""
    sizes = np.unique(gpus[gpus > 1])
    chosen = np.linspace(0, len(sizes) - 1, min(len(sizes), MOST_UNITS)).astype(np.int64)
    units: list[int] = sizes[chosen].tolist()
    return units


def worth(gpus: Integers, unit: int, rest: Integers) -> Integers:
    """Return what GPUs, perhaps a negative number, are worth."""
    whole, part = np.divmod(gpus, unit)
    counted: Integers = whole * (unit - rest) + np.maximum(0, part - rest)
    return counted


def _shares(columns: Columns, grid: Floats, runs: Runs) -> Floats:
    """Return how much of each job runs in each cell, from 0 to 1."""
    start, end = runs.start[:, None], (runs.start + columns.duration[runs.way])[:, None]
    overlap = np.maximum(0.0, np.minimum(end, grid[1:]) - np.maximum(start, grid[:-1]))
    shares: Floats = np.zeros((len(columns.first), len(grid) - 1))
    np.add.at(shares, columns.job[runs.way], runs.share[:, None] * overlap / np.diff(grid))
    return shares
