"""The orders in which a queue can be taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ringsched.engine.problem import Problem
from ringsched.errors import UnknownName

# Sort key of a job; ties go to the lower index.
Key = Callable[[Problem, int], float]

ANY_ORDER = "any"  # of policies that look for the best one

ORDERS: Mapping[str, Key] = {
    "fifo": lambda problem, job: problem.release[job],
    "smallest-first": lambda problem, job: problem.gpus[job],
    "shortest-first": lambda problem, job: problem.best_case[job],
    "longest-first": lambda problem, job: -problem.best_case[job],
    "smallest-area-first": lambda problem, job: problem.gpus[job] * problem.best_case[job],
}


def order_named(name: str) -> str:
    """Return `name` if it is an order, or say which there are."""
    if name not in ORDERS:
        raise UnknownName("order", name, ORDERS)
    return name


def priorities(problem: Problem, order: str) -> list[float]:
    """Return the sort key of every job under a named order."""
    return [ORDERS[order](problem, job) for job in range(problem.num_jobs)]
