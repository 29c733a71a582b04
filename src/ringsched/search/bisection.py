"""Bisection over the load limit θ, Algorithm 1 lines 4 to 18."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ringsched.engine.state import Run


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run and the parameters that led to it."""

    run: Run
    params: Mapping[str, float | int | str]
    ended: str | None = None  # why a search that could have gone on did not


# The best run with a makespan strictly below the limit for this θ, or None: attempt(theta, limit).
Attempt = Callable[[int, float], Candidate | None]


def search_theta(horizon: int, attempt: Attempt, *, theta: int | None) -> Candidate | None:
    """Bisect θ, or try the one that is given; the makespan must be below T either way."""
    return bisect_theta(horizon, attempt) if theta is None else attempt(theta, horizon)


def bisect_theta(horizon: int, attempt: Attempt) -> Candidate | None:
    """Return the best candidate met while bisecting θ in 1..T; None if no makespan is below T.

    Only a strict improvement moves to smaller θ. An infeasible trial never competes: the printed
    pseudo-code lets the makespan of a partial schedule win.
    """
    best: Candidate | None = None
    limit: float = horizon
    left, right = 1, horizon
    while left <= right:
        theta = (left + right) // 2
        candidate = attempt(theta, limit)
        if candidate is None:
            left = theta + 1
        else:
            best, limit = candidate, candidate.run.makespan
            right = theta - 1
    return best
