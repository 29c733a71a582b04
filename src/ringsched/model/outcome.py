"""What the simulator says happens."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Start and finish of every job in seconds, in the scenario's order, and the totals."""

    starts_s: tuple[float, ...]
    finishes_s: tuple[float, ...]
    makespan_s: float
    mean_completion_s: float
    weighted_completion_s: float
