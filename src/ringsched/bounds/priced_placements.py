"""A lower bound on the mean of completions: every job at its best start and placement, if it had to pay.

Let every resource have a price in every cell of time. A job that ends at C pays at least for what it takes
in the last d before C. All jobs together take no more than there is, so they pay no more than the price of
all of it. The weighted sum of ends is then at least the sum over the jobs of weight x end + payment, each job
at the end and the placement that are best for it alone, less the price of all there is. Any prices will do.
The best are the dual values of a linear program, but the bound does not rest on how well that was solved.

The program is first solved for a coarse grid of cells. Then all cells are halved, several times. A finer
program has only starts that cost little more than the best one at the prices found before, so it stays small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ringsched.bounds.link_time import levels_of
from ringsched.bounds.resources import FEW_JOBS, Resource, resources_of
from ringsched.bounds.ways import Ways, ways_of
from ringsched.engine.problem import Problem
from ringsched.model import Bound
from ringsched.model.objective import Objective

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

MOST_COARSE, LEAST_COARSE, COARSE_EFFORT = 24, 8, 9_000  # cells at first, and cells x ways
MOST_CELLS, FINE_EFFORT = 192, 300_000  # cells at last, and cells x starts of a program that is refined
MOST_WAYS = 5_000
LEAST_GAIN = 0.0005  # of halving the cells, for doing it again
MOST_ROUNDS = 4  # of adding starts to one program
NEAR = 3.0  # cells: a start that costs no more than such a delay is offered
DIGITS = 5  # of a price
SPARE = 1.3  # how much longer than the work the prices last


def priced_placements(problem: Problem, objective: Objective) -> Bound | None:
    """Return the bound; None for so many jobs that the prices would take too long."""
    ways = ways_of(problem)
    if len(ways.queued) > MOST_WAYS:
        return None
    weights = np.array(objective.weights(problem.scenario.jobs))
    weights /= math.fsum(weights)
    seconds = problem.clock.seconds
    total = math.fsum(weights[job] * end for job, end in ways.running.items())
    terms: dict[str, tuple[float, ...]] = {}
    if ways.queued:
        prices = _best_prices(problem, ways, weights)
        total += prices.value
        terms["instants_s"] = tuple(seconds(prices.grid).tolist())
        for resource, price in zip(prices.resources, prices.of_each, strict=True):
            if price.any():
                terms[resource.name] = tuple(price.tolist())
    submits_s = math.fsum(
        weight * (job.submit_s - problem.origin_s)
        for weight, job in zip(weights, problem.scenario.jobs, strict=True)
    )
    return Bound(name="priced-placements", value_s=seconds(total) - submits_s, terms=terms)


@dataclass(frozen=True, slots=True)
class _Columns:
    """The ways of the queued jobs, as columns."""

    job: Integers  # of each way, numbered from 0
    first: Integers  # of each job: its first way, before its further ones
    gpus: Integers
    start: Floats
    duration: Floats
    weight: Floats

    def least(self, cost: Floats) -> Floats:
        """Return the least cost of each job, from those of its ways at several ends."""
        least: Floats = np.minimum.reduceat(cost.min(axis=1), self.first)
        return least


@dataclass(frozen=True, slots=True)
class _Prices:
    """A price of each resource in each cell of time."""

    grid: Floats
    resources: Sequence[Resource]
    of_each: Sequence[Floats]
    value: float = -math.inf  # the least total of the queued jobs, less the price of all there is
    num_starts: int = 0  # of the program that they are from

    def cost(self, columns: _Columns, ends: Floats) -> Floats:
        """Return weight x end + payment of each way at these ends."""
        cost: Floats = columns.weight[:, None] * ends
        for resource, price in zip(self.resources, self.of_each, strict=True):
            if price.any():
                rent = np.concatenate(([0.0], np.cumsum(price * np.diff(self.grid))))
                unpaid = np.interp(ends - resource.length[:, None], self.grid, rent)
                cost += resource.amount[:, None] * (np.interp(ends, self.grid, rent) - unpaid)
        return cost


def _best_prices(problem: Problem, ways: Ways, weights: Floats) -> _Prices:
    """Return the best prices that are found, for ever smaller cells."""
    levels, columns = levels_of(problem), _columns(problem, ways, weights)
    num_cells = max(LEAST_COARSE, min(MOST_COARSE, COARSE_EFFORT // len(ways.queued)))
    grid = _grid(problem, ways, columns, num_cells)
    best = latest = _solved(columns, resources_of(problem, ways, levels, grid), grid, None)
    gain = math.inf
    while (
        2 * (len(grid) - 1) <= MOST_CELLS
        and len(grid) * latest.num_starts <= FINE_EFFORT
        and gain > LEAST_GAIN * abs(latest.value)
    ):
        grid = np.sort(np.concatenate((grid, (grid[:-1] + grid[1:]) / 2)))
        latest = _solved(columns, resources_of(problem, ways, levels, grid), grid, latest)
        gain = latest.value - best.value
        best = max(best, latest, key=lambda prices: prices.value)
    return best


def _columns(problem: Problem, ways: Ways, weights: Floats) -> _Columns:
    jobs = np.array([way.job for way in ways.queued])
    _, first, job = np.unique(jobs, return_index=True, return_inverse=True)
    return _Columns(
        job=job,
        first=first,
        gpus=np.array(problem.gpus)[jobs],
        start=np.array([way.start for way in ways.queued], dtype=np.float64),
        duration=np.array([way.duration for way in ways.queued], dtype=np.float64),
        weight=weights[jobs],
    )


def _grid(problem: Problem, ways: Ways, columns: _Columns, num_cells: int) -> Floats:
    """Return the edges of the cells: some of the instants at which something can happen, and even steps."""
    ends = columns.start + columns.duration
    areas = columns.least((columns.gpus * columns.duration)[:, None])
    work = math.fsum(areas) / problem.num_gpus + max(ways.running.values(), default=0.0)
    last = max(float(ends.max()), SPARE * work)
    few_ends = ends.tolist() if len(problem.queued) <= FEW_JOBS else []
    instants = np.unique([0.0, *problem.release, *ways.running.values(), *few_ends])
    number = min(len(instants), num_cells // 2)
    chosen = instants[np.linspace(0, len(instants) - 1, number).astype(np.int64)]
    even = np.linspace(0.0, last, num_cells - number + 1)
    grid: Floats = np.unique(np.concatenate((chosen, even)))
    return grid


def _solved(
    columns: _Columns, resources: Sequence[Resource], grid: Floats, before: _Prices | None
) -> _Prices:
    """Return the best prices on a grid; zeros if there is no solution.

    With prices from before, the program has the starts that cost little more than the best at these. Starts
    that are better at its own prices than those it has are added, and it is solved again.
    """
    starts = np.concatenate((np.tile(grid[:-1], (len(columns.start), 1)), columns.start[:, None]), axis=1)
    possible = starts > columns.start[:, None]
    possible[:, -1] = True
    ends = starts + columns.duration[:, None]
    best = _valued(columns, _Prices(grid, resources, [np.zeros(len(grid) - 1)] * len(resources)))
    extra = np.zeros_like(ends) if before is None else _extra(columns, before.cost(columns, ends), possible)
    near = NEAR * float(np.diff(grid).max()) * columns.weight[:, None]
    offered = possible & (extra <= near)
    for _ in range(MOST_ROUNDS):
        duals = _duals(columns, resources, grid, ends, offered)
        if duals is None and before is None:
            break
        if duals is None:  # the jobs need other starts, too
            near = 4 * near
            offered = possible & (extra <= near)
            continue
        prices = _valued(columns, _Prices(grid, resources, duals, num_starts=int(offered.sum())))
        best = max(best, prices, key=lambda each: each.value)
        cost = prices.cost(columns, ends)
        missing = ~offered & (_extra(columns, cost, possible, offered) < -1e-9 * np.abs(cost))
        if not missing.any():
            break
        offered = offered | missing
    return best


def _extra(columns: _Columns, cost: Floats, possible: Flags, among: Flags | None = None) -> Floats:
    """Return how much more than the least cost of its job each start costs; infinity if it is impossible."""
    least = columns.least(np.where(possible if among is None else among, cost, np.inf))
    extra: Floats = np.where(possible, cost - least[columns.job][:, None], np.inf)
    return extra


def _valued(columns: _Columns, prices: _Prices) -> _Prices:
    """Return the prices with their value.

    Payments are linear in the end as long as no part of the run begins or ends at the edge of a cell.
    """
    lengths = [columns.duration, *(each.length for each in prices.resources if not each.may_rise)]
    edges = np.tile(prices.grid, (len(columns.start), 1))
    ends = np.concatenate((edges, *(edges + each[:, None] for each in lengths)), axis=1)
    earliest = (columns.start + columns.duration)[:, None]
    ends = np.maximum(np.concatenate((ends, earliest), axis=1), earliest)
    payable = [
        math.fsum(resource.capacity * price * np.diff(prices.grid))
        for resource, price in zip(prices.resources, prices.of_each, strict=True)
    ]
    value = math.fsum(columns.least(prices.cost(columns, ends))) - math.fsum(payable)
    return replace(prices, value=value)


def _duals(
    columns: _Columns, resources: Sequence[Resource], grid: Floats, ends: Floats, offered: Flags
) -> list[Floats] | None:
    """Return the dual values of the program over the offered starts, rounded; None without a solution."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, vstack

    which = np.nonzero(offered)[0]
    ends = ends[offered]
    rows = []
    for resource in resources:
        begins = np.maximum((ends - resource.length[which])[:, None], grid[:-1])
        overlap = np.maximum(0.0, np.minimum(ends[:, None], grid[1:]) - begins)
        rows.append(csr_matrix((overlap * resource.amount[which][:, None]).T))
    solved = linprog(
        columns.weight[which] * ends,
        A_ub=vstack(rows),
        b_ub=np.concatenate([resource.capacity * np.diff(grid) for resource in resources]),
        A_eq=csr_matrix((np.ones(len(which)), (columns.job[which], np.arange(len(which))))),
        b_eq=np.ones(len(columns.first)),
        method="highs-ds",
    )
    if solved.status != 0:
        return None
    duals = np.maximum(0.0, -solved.ineqlin.marginals).reshape(len(resources), -1)
    return [_rounded(resource, dual) for resource, dual in zip(resources, duals, strict=True)]


def _rounded(resource: Resource, dual: Floats) -> Floats:
    falling = dual if resource.may_rise else np.minimum.accumulate(dual)
    largest = falling.max(initial=0.0)
    return np.array([float(f"{price:.{DIGITS}g}") if price > 1e-9 * largest else 0.0 for price in falling])
