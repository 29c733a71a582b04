"""One plan of an experiment: which workload, which policy, which parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

OK = "ok"
OVER_HORIZON = "over T"  # no plan below T was found: the makespan is known to be no less, and no more
UNREACHABLE = "unreachable"  # a slot does not allow so much contention


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What to plan and how, for every seed alike; None leaves a parameter to the policy."""

    policy: str
    order: str
    servers: int = 20
    contention: float = 0.15
    horizon_s: int = 1200
    kappa: int | None = None
    slack: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperRow:
    """One plan of the paper's workload, and what came out; no time of day, no path, no version."""

    seed: int
    servers: int
    contention: float
    horizon_s: int
    policy: str
    order: str
    kappa: int | None
    slack: int | None
    status: str
    makespan_s: float | None = None
    mean_completion_s: float | None = None
    lower_bound_s: float | None = None
    gpu_utilisation: float | None = None
    contention_loss: float | None = None
    spreading_loss: float | None = None
    servers_per_job: float | None = None  # mean over jobs of two or more GPUs
    servers_per_large_job: float | None = None  # of eight or more
    theta: int | None = None
    chosen_kappa: int | None = None
    largest_load: float | None = None  # W_max
    claimed_ratio: float | None = None  # of the theorem: n_g φ u / l
    trials: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyRow:
    """SJF-BCO against the proved optimum of a tiny instance; times in slots of a second."""

    seed: int
    kind: str
    jobs: int
    gpus: int
    optimum_s: float
    makespan_s: float
    theta: int
    largest_load: float  # W_max
    best_largest_load: float  # the least W_max of all assignments: θ*
    largest_job: int  # n_g
    worst_over_best: float  # φ
    claimed_ratio: float  # n_g φ u / l


Row = PaperRow | TinyRow


def columns(kind: type[Row]) -> tuple[str, ...]:
    """Return the names of a row's fields."""
    return tuple(field.name for field in fields(kind))


def values(row: Row) -> Sequence[object]:
    """Return what stands in a row, field by field."""
    return [getattr(row, name) for name in columns(type(row))]
