"""What the paper's theorem claims of a plan, beside what is true of it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ringsched.model.checks import Replaceable, integer, number, settle


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate(Replaceable):
    """The figures of the approximation theorem of SJF-BCO (section 6), which is not true as stated.

    Parameters
    ----------
    theta, max_load
        θ, and W_max: the largest load that jobs charge to a GPU; in slots, or seconds when continuous.
    largest_job
        n_g, the most GPUs a job has.
    worst_over_best
        φ, the largest ratio of a job's worst case to its best case.
    overestimate, underestimate
        u >= 1 and l <= 1: estimates lie between l times the worst and u times the best case.
    claimed_ratio
        n_g φ u / l: how far above the optimum the theorem allows the makespan to be.
    measured_ratio
        The makespan over its lower bound: how far above the optimum it is at most.
    """

    theta: int
    max_load: float
    largest_job: int
    worst_over_best: float
    overestimate: float
    underestimate: float
    claimed_ratio: float
    measured_ratio: float

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            whole = field.name in ("theta", "largest_job")
            settle(self, **{field.name: integer(value, field.name) if whole else number(value, field.name)})
