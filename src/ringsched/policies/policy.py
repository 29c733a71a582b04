"""What every policy is made of and answers with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ringsched.contention.sharing import is_counting, model_of
from ringsched.engine.problem import Problem
from ringsched.errors import InputError
from ringsched.model import Certificate, Contention
from ringsched.model.contention import model_names
from ringsched.model.objective import MAKESPAN, Objective
from ringsched.search.bisection import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a search that could go on for ever ends: whichever comes first."""

    time_limit_s: float | None = None
    iterations: int | None = None
    gap: float = 1.0
    threads: int | None = None  # None for as many as there are cores
    should_stop: Callable[[], bool] = lambda: False
    quick_bounds: bool = False  # no effort to prove a plan the best possible, where many are made


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a search is; times and values in seconds."""

    value_s: float
    bound_s: float
    iterations: int
    elapsed_s: float

    @property
    def gap(self) -> float:
        """The best value so far over the bound."""
        return max(1.0, self.value_s / self.bound_s) if self.bound_s else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a caller may fix; None leaves it to the policy."""

    order: str
    kappa: int | None = None
    theta: int | None = None
    slack: float | None = None
    seed: int = 0
    # What a search that can choose improves; the bisecting ones take the makespan.
    objective: Objective = MAKESPAN
    on_trial: Callable[[], None] = lambda: None  # called after every trial, for progress
    limits: Limits = field(default_factory=Limits)
    on_progress: Callable[[Progress], None] = lambda _: None
    on_better: Callable[[Callable[[], Candidate]], None] = lambda _: None


Solve = Callable[[Problem, Settings], Candidate | None]

Certify = Callable[[Problem, Candidate, float], Certificate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """An entry of the table: queue order x placement rule x search."""

    name: str
    order: str  # unless the caller asks for another
    rule: str
    search: str
    options: frozenset[str]  # those that mean something here, as the command names them
    summary: str
    solve: Solve
    counting_only: bool = False  # it plans only where one job less on a link never slows another
    certify: Certify | None = None  # given a bound on the makespan, in the clock's units

    @property
    def models(self) -> tuple[str, ...]:
        """The contention models, by name, under which it can plan."""
        return tuple(name for name in model_names() if is_counting(name) or not self.counting_only)

    def check_model(self, contention: Contention) -> None:
        """Raise if the policy cannot plan under this contention model."""
        if self.counting_only and not model_of(contention).is_counting:
            raise InputError(
                f"must not be {contention.model_name!r} for policy {self.name!r}", field="contention.model"
            )
