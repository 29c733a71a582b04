"""What placements take of what a cluster has: GPUs, places for jobs, places in servers, and links.

Time is divided into cells. A running job keeps its GPUs in every cell that ends before the job can.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.bounds.at_once import num_at_once
from ringsched.bounds.link_time import Level
from ringsched.bounds.ways import Ways, required
from ringsched.bounds.work import choices
from ringsched.engine.problem import Problem

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

GPUS = "gpus"
FEW_JOBS = 30  # queued; of more jobs, only a few resources are worth their time
EQUAL = 1 - 1e-9  # instants that differ by rounding alone


class Resource(NamedTuple):
    """Something of which all jobs that run at a time take no more than there is.

    A way takes `amount` for the last `length` of its run, or as much earlier. Prices of links must not rise.
    """

    name: str
    amount: Floats  # of each way (a row), in each cell (a column) or, with one column, in all of them
    length: Floats  # of each way: its duration, or less on links
    capacity: Floats  # in each cell
    may_rise: bool = True  # for all but links, which are not taken for a whole run


def resources_of(problem: Problem, ways: Ways, levels: Sequence[Level], grid: Floats) -> list[Resource]:
    """Return what has a price; `grid` has the instants between cells, in the clock's units."""
    return list(_resources(problem, ways, levels, grid))


def _resources(problem: Problem, ways: Ways, levels: Sequence[Level], grid: Floats) -> Iterator[Resource]:
    gpus = np.array([problem.gpus[way.job] for way in ways.queued])
    duration = np.array([way.duration for way in ways.queued], dtype=np.float64)
    packed = np.array([way.packed for way in ways.queued])
    free = free_in(problem, ways, grid)
    yield Resource(GPUS, _column(gpus), duration, free.sum(axis=1).astype(np.float64))
    for setter, allowed, counted in required(problem):
        amount = gpus * np.isin([way.job for way in ways.queued], counted)
        capacity = free[:, allowed].sum(axis=1).astype(np.float64)
        yield Resource(f"{GPUS}_for_{setter + 1}", _column(amount), duration, capacity)
    queued = [problem.gpus[job] for job in problem.queued]
    for least in _thresholds(problem, queued):
        places = _places(sorted(size for size in queued if size >= least), free.sum(axis=1).tolist())
        yield Resource(f"jobs_of_{least}", _column(gpus >= least), duration, places)
    for unit in _units(problem, queued):
        amount = np.where(packed, gpus // unit, _forced(gpus, np.minimum(gpus, free.shape[1]), unit))
        slots = (free // unit).sum(axis=1).astype(np.float64)
        yield Resource(f"slots_of_{unit}", _column(amount), duration, slots)
    for level in levels:
        uses = [level.uses.get(way.job, (0, 0.0)) for way in ways.queued]
        links, time = (np.array(part, dtype=np.float64) for part in zip(*uses, strict=True))
        capacity = np.full(len(grid) - 1, float(len(level.nodes)))
        name, length = f"links_{level.depth}", np.minimum(time, duration)
        yield Resource(name, _column(links), length, capacity, may_rise=False)


def _column(amounts: NDArray[np.generic]) -> Floats:
    """Return amounts of each way that are the same in all cells."""
    return amounts.astype(np.float64)[:, None]


def free_in(problem: Problem, ways: Ways, grid: Floats) -> Integers:
    """Return, for each cell and server, the GPUs that no running job is sure to hold all the time."""
    num_servers = problem.num_servers
    capacity = np.array(problem.network.capacity[:num_servers], dtype=np.int64)
    free = np.tile(capacity, (len(grid) - 1, 1))
    for job, end in ways.running.items():
        num_cells = int(np.searchsorted(EQUAL * grid[1:], end, side="right"))
        for gpu in problem.running[job]:
            free[:num_cells, problem.server_of[gpu]] -= 1
    return free


def _thresholds(problem: Problem, queued: list[int]) -> list[int]:
    if len(queued) <= FEW_JOBS:
        sizes = choices(np.array(queued))
    else:
        sizes = sorted({size for size in queued if 2 * size > problem.num_gpus})[:1]
    # All of them at once is no limit.
    return [size for size in sizes if sum(each for each in queued if each >= size) > problem.num_gpus]


def _units(problem: Problem, queued: list[int]) -> list[int]:
    """Return sizes of places in servers: every size of a job that fits, or the first beyond half a server."""
    largest = max(problem.network.capacity[: problem.num_servers])
    sizes = [size for size in choices(np.array(queued)) if 1 < size <= largest]
    if len(queued) <= FEW_JOBS:
        return sizes
    return [size for size in sizes if 2 * size > largest][:1]


def _places(sizes: list[int], free: list[int]) -> Floats:
    """Return how many of the jobs fit in each cell."""
    known = {number: num_at_once(sizes, number) for number in set(free)}
    return np.array([known[number] for number in free], dtype=np.float64)


def _forced(gpus: Integers, servers: Integers, unit: int) -> Integers:
    """Return how often `unit` GPUs of a spread job are together in one server, at least.

    With one GPU less than a unit on each server none is; every further unit adds as many GPUs.
    """
    forced: Integers = np.maximum(0, -(-(gpus - servers * (unit - 1)) // unit))
    return forced
