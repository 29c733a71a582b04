"""The best prices of GPUs, places and links, and the bound on the mean of completions that they make.

The prices are the dual values of a linear program, but the bound does not rest on how well that was solved.
The program is first solved for a coarse grid of cells. Then cells with a price are halved, several times.
A finer program has only starts that cost little more than the best one at the prices found before, so it
stays small. It also counts GPUs in units, beside the jobs that the program before expects to run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ringsched.bounds.link_time import levels_of
from ringsched.bounds.prices import Columns, Prices, Runs, columns_of
from ringsched.bounds.resources import FEW_JOBS, Resource, resources_of
from ringsched.bounds.rounding import Expected, expected_of, is_in_units, rounded_gpus
from ringsched.bounds.ways import Ways, ways_of
from ringsched.engine.clock import SLACK
from ringsched.engine.problem import Problem
from ringsched.model import Bound
from ringsched.model.objective import Objective

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST_COARSE, LEAST_COARSE, COARSE_EFFORT = 24, 8, 9_000  # cells at first, and cells x ways
MOST_CELLS = 70  # at last
FINE_EFFORT = 150_000  # cells x starts of a program that is not refined again
MOST_WAYS = 5_000
LEAST_GAIN = 1e-5  # of halving the cells, for doing it again
MOST_ROUNDS = 4  # of adding starts to one program
NEAR = 1.0  # cells: a start that costs no more than such a delay is offered
CLOSE = 1e-5  # to the value of the program, so that further starts gain no more than that
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
        prices, expected = _best_prices(problem, ways, weights)
        total += prices.value
        terms["instants_s"] = tuple(seconds(prices.grid).tolist())
        paid = {
            resource.name: tuple(price.tolist())
            for resource, price in zip(prices.resources, prices.of_each, strict=True)
            if price.any()
        }
        if expected is not None and any(map(is_in_units, paid)):
            terms["expected_from_s"] = tuple(expected.from_s.tolist())
            terms["expected_until_s"] = tuple(expected.until_s.tolist())
        terms |= paid
    submits_s = math.fsum(
        weight * (job.submit_s - problem.origin_s)
        for weight, job in zip(weights, problem.scenario.jobs, strict=True)
    )
    return Bound(name="priced-placements", value_s=seconds(total) - submits_s, terms=terms)


def _best_prices(problem: Problem, ways: Ways, weights: Floats) -> tuple[Prices, Expected | None]:
    """Return the best prices that are found, and the runs beside which they count GPUs in units."""
    levels, columns = levels_of(problem), columns_of(problem, ways, weights)
    num_cells = max(LEAST_COARSE, min(MOST_COARSE, COARSE_EFFORT // len(ways.queued)))
    grid = _grid(problem, ways, columns, num_cells)
    best = latest = _solved(columns, resources_of(problem, ways, levels, grid), grid, None)
    while len(grid := _halved(grid, latest)) - 1 <= MOST_CELLS:
        latest = _solved(columns, resources_of(problem, ways, levels, grid), grid, latest)
        gain = latest.value - best.value
        best = max(best, latest, key=lambda prices: prices.value)
        if gain <= LEAST_GAIN * abs(best.value) or len(grid) * latest.num_starts > FINE_EFFORT:
            break
    if best.runs is None:
        return best, None
    expected = expected_of(columns, best.runs, problem.clock.seconds)
    running = expected.in_cells(problem.clock.seconds(best.grid))
    counted = rounded_gpus(columns, best.resources, best.grid, best.runs, running)
    latest = _solved(columns, [*best.resources, *counted], best.grid, best)
    return (latest, expected) if latest.value > best.value else (best, None)


def _grid(problem: Problem, ways: Ways, columns: Columns, num_cells: int) -> Floats:
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
    # Not two instants that differ by rounding only: no other lies between them.
    return grid[np.diff(grid, prepend=-math.inf) > SLACK * last]


def _halved(grid: Floats, prices: Prices) -> Floats:
    """Return the grid with the busy cells halved."""
    middle = (grid[:-1] + grid[1:]) / 2
    finer: Floats = np.sort(np.concatenate((grid, middle[_busy(grid, prices)])))
    return finer


def _busy(grid: Floats, prices: Prices | None) -> Flags:
    """Return the cells of a grid in which something had a price, and the ones after them."""
    if prices is None or prices.runs is None:
        return np.ones(len(grid) - 1, dtype=np.bool_)
    has_price = np.any(prices.of_each, axis=0)
    has_price[1:] |= has_price[:-1]
    found: Flags = has_price[np.searchsorted(prices.grid, grid[:-1], side="right") - 1]
    return found


def _solved(columns: Columns, resources: Sequence[Resource], grid: Floats, before: Prices | None) -> Prices:
    """Return the best prices on a grid; zeros if there is no solution.

    With prices from before, the program has the starts that cost little more than the best at these. Starts
    that are better at its own prices than those it has are added, and it is solved again.
    """
    starts = np.concatenate((np.tile(grid[:-1], (len(columns.start), 1)), columns.start[:, None]), axis=1)
    possible = starts > columns.start[:, None]
    possible[:, -1] = True
    ends = starts + columns.duration[:, None]
    best = Prices(grid, resources, [np.zeros(len(grid) - 1)] * len(resources)).valued(columns)
    extra = np.zeros_like(ends) if before is None else _extra(columns, before.cost(columns, ends), possible)
    width = np.diff(grid)[_busy(grid, before)].max(initial=0.0)
    near = NEAR * width * columns.weight[:, None]
    offered = possible & (extra <= near)
    for _ in range(MOST_ROUNDS):
        solution = _solution(columns, resources, grid, starts, offered)
        if solution is None and before is None:
            break
        if solution is None:  # the jobs need other starts, too
            near = 4 * near
            offered = possible & (extra <= near)
            continue
        prices = solution.valued(columns)
        best = max(best, prices, key=lambda each: each.value)
        if prices.value >= solution.optimum - CLOSE * abs(solution.optimum):
            break
        cost = prices.cost(columns, ends)
        missing = ~offered & (_extra(columns, cost, possible, offered) < -1e-9 * np.abs(cost))
        if not missing.any():
            break
        offered = offered | missing
    return best


def _extra(columns: Columns, cost: Floats, possible: Flags, among: Flags | None = None) -> Floats:
    """Return how much more than the least cost of its job each start costs; infinity if it is impossible."""
    least = columns.least(np.where(possible if among is None else among, cost, np.inf))
    extra: Floats = np.where(possible, cost - least[columns.job][:, None], np.inf)
    return extra


def _solution(
    columns: Columns, resources: Sequence[Resource], grid: Floats, starts: Floats, offered: Flags
) -> Prices | None:
    """Return dual values of the program over the offered starts, rounded; None without a solution."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, vstack

    way = np.nonzero(offered)[0]
    start = starts[offered]
    end = (start + columns.duration[way])[:, None]

    def overlap(length: Floats) -> Floats:
        time: Floats = np.minimum(end, grid[1:]) - np.maximum(end - length[way][:, None], grid[:-1])
        return np.maximum(0.0, time)

    whole_run = overlap(columns.duration)
    rows = [
        csr_matrix(((whole_run if each.may_rise else overlap(each.length)) * each.amount[way]).T)
        for each in resources
    ]
    solved = linprog(
        columns.weight[way] * end[:, 0],
        A_ub=vstack(rows),
        b_ub=np.concatenate([resource.capacity * np.diff(grid) for resource in resources]),
        A_eq=csr_matrix((np.ones(len(way)), (columns.job[way], np.arange(len(way))))),
        b_eq=np.ones(len(columns.first)),
        method="highs-ds",
    )
    if solved.status != 0:
        return None
    duals = np.maximum(0.0, -solved.ineqlin.marginals).reshape(len(resources), -1)
    chosen = solved.x > 0
    return Prices(
        grid,
        resources,
        [_rounded(resource, dual) for resource, dual in zip(resources, duals, strict=True)],
        optimum=float(solved.fun),
        num_starts=len(way),
        runs=Runs(way[chosen], start[chosen], solved.x[chosen]),
    )


def _rounded(resource: Resource, dual: Floats) -> Floats:
    falling = dual if resource.may_rise else np.minimum.accumulate(dual)
    largest = falling.max(initial=0.0)
    return np.array([float(f"{price:.{DIGITS}g}") if price > 1e-9 * largest else 0.0 for price in falling])
