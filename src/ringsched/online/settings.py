"""What a simulation over time is asked for, and how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ringsched.model.objective import MEAN_COMPLETION, Objective
from ringsched.policies.policy import Limits

NO_BACKFILL = "none"
EASY = "easy"
BACKFILLS = (NO_BACKFILL, EASY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a simulation is."""

    num_ended: int
    num_jobs: int
    num_waiting: int
    num_plans: int
    now_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineSettings:
    """What a caller may fix."""

    order: str
    backfill: str = NO_BACKFILL
    estimate_error: float = 0.0
    every_s: float = 0.0  # no plan sooner after another
    max_wait_s: float | None = None  # a job that has waited so long goes first
    seed: int = 0
    objective: Objective = MEAN_COMPLETION
    limits: Limits = field(default_factory=Limits)
    on_progress: Callable[[Standing], None] = lambda _: None
