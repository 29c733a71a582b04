"""A lower bound on the mean of completions: every job at its best start and placement, if it had to pay.

Let every resource have a price in every cell of time. A job that ends at C pays at least for what it takes
in the last d before C. All jobs together take no more than there is, so they pay no more than the price of
all of it. The weighted sum of ends is then at least the sum over the jobs of weight x end + payment, each job
at the end and the placement that are best for it alone, less the price of all there is. Any prices will do.
The best are the dual values of a linear program, but the bound does not rest on how well that was solved.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ringsched.bounds.link_time import levels_of
from ringsched.bounds.resources import FEW_JOBS, Resource, resources_of
from ringsched.bounds.ways import Ways, ways_of
from ringsched.engine.problem import Problem
from ringsched.model import Bound
from ringsched.model.objective import Objective

Floats = NDArray[np.float64]

MOST_CELLS, LEAST_CELLS = 48, 8
EFFORT = 9_000  # cells x ways
MOST_WAYS = 5_000
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
        grid = _grid(problem, ways)
        resources = resources_of(problem, ways, levels_of(problem), grid)
        weight = np.array([weights[way.job] for way in ways.queued])
        prices = _prices(ways, weight, resources, grid)
        total += value(ways, weight, resources, prices, grid)
        terms["instants_s"] = tuple(seconds(grid).tolist())
        for resource, price in zip(resources, prices, strict=True):
            if price.any():
                terms[resource.name] = tuple(price.tolist())
    submits_s = math.fsum(
        weight * (job.submit_s - problem.origin_s)
        for weight, job in zip(weights, problem.scenario.jobs, strict=True)
    )
    return Bound(name="priced-placements", value_s=seconds(total) - submits_s, terms=terms)


def value(ways: Ways, weight: Floats, resources: list[Resource], prices: list[Floats], grid: Floats) -> float:
    """Return the sum over the queued jobs of weight x end + payment, less the price of all there is.

    Payments are linear in the end as long as no part of the run begins or ends at the edge of a cell.
    """
    start, duration = _columns(ways)
    lengths = [duration, *(resource.length for resource in resources if not resource.may_rise)]
    edges = np.tile(grid, (len(start), 1))
    ends = np.concatenate((edges, *(edges + length[:, None] for length in lengths), start[:, None]), axis=1)
    ends = np.maximum(ends, (start + duration)[:, None])
    cost = weight[:, None] * ends
    available = []
    for resource, price in zip(resources, prices, strict=True):
        if price.any():
            rent = np.concatenate(([0.0], np.cumsum(price * np.diff(grid))))
            paid = np.interp(ends, grid, rent) - np.interp(ends - resource.length[:, None], grid, rent)
            cost += resource.amount[:, None] * paid
            available.append(math.fsum(resource.capacity * price * np.diff(grid)))
    best: dict[int, float] = {}
    for way, least in zip(ways.queued, cost.min(axis=1).tolist(), strict=True):
        best[way.job] = min(best.get(way.job, math.inf), least)
    return math.fsum(best.values()) - math.fsum(available)


def _columns(ways: Ways) -> tuple[Floats, Floats]:
    start, duration = ([getattr(way, name) for way in ways.queued] for name in ("start", "duration"))
    return np.array(start, dtype=np.float64), np.array(duration, dtype=np.float64)


def _grid(problem: Problem, ways: Ways) -> Floats:
    """Return the edges of the cells: some of the instants at which something can happen, and even steps."""
    num_cells = max(LEAST_CELLS, min(MOST_CELLS, EFFORT // len(ways.queued)))
    start, duration = _columns(ways)
    areas: dict[int, float] = {}
    for way in ways.queued:
        areas[way.job] = min(areas.get(way.job, math.inf), problem.gpus[way.job] * way.duration)
    work = math.fsum(areas.values()) / problem.num_gpus + max(ways.running.values(), default=0.0)
    last = max(float((start + duration).max()), SPARE * work)
    ends = (start + duration).tolist() if len(problem.queued) <= FEW_JOBS else []
    instants = np.unique([0.0, *problem.release, *ways.running.values(), *ends])
    number = min(len(instants), num_cells // 2)
    chosen = instants[np.linspace(0, len(instants) - 1, number).astype(np.int64)]
    even = np.linspace(0.0, last, num_cells - number + 1)
    grid: Floats = np.unique(np.concatenate((chosen, even)))
    return grid


def _prices(ways: Ways, weight: Floats, resources: list[Resource], grid: Floats) -> list[Floats]:
    """Return the dual values of starts at the edges of cells, rounded; zeros if there is no solution."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, vstack

    start, duration = _columns(ways)
    starts = np.concatenate((np.tile(grid[:-1], (len(start), 1)), start[:, None]), axis=1)
    possible = starts > start[:, None]
    possible[:, -1] = True
    which = np.nonzero(possible)[0]
    ends = starts[possible] + duration[which]
    rows = []
    for resource in resources:
        begins = np.maximum((ends - resource.length[which])[:, None], grid[:-1])
        overlap = np.maximum(0.0, np.minimum(ends[:, None], grid[1:]) - begins)
        rows.append(csr_matrix((overlap * resource.amount[which][:, None]).T))
    jobs = np.unique([way.job for way in ways.queued], return_inverse=True)[1][which]
    columns = np.arange(len(which))
    solved = linprog(
        weight[which] * ends,
        A_ub=vstack(rows),
        b_ub=np.concatenate([resource.capacity * np.diff(grid) for resource in resources]),
        A_eq=csr_matrix((np.ones(len(which)), (jobs, columns))),
        b_eq=np.ones(jobs.max() + 1),
        method="highs-ds",
    )
    if solved.status != 0:
        return [np.zeros(len(grid) - 1) for _ in resources]
    duals = np.maximum(0.0, -solved.ineqlin.marginals).reshape(len(resources), -1)
    return [_rounded(resource, dual) for resource, dual in zip(resources, duals, strict=True)]


def _rounded(resource: Resource, dual: Floats) -> Floats:
    falling = dual if resource.may_rise else np.minimum.accumulate(dual)
    largest = falling.max(initial=0.0)
    return np.array([float(f"{price:.{DIGITS}g}") if price > 1e-9 * largest else 0.0 for price in falling])
