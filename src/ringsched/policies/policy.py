"""What every policy is made of and answers with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ringsched.engine.problem import Problem
from ringsched.model import Certificate
from ringsched.model.objective import MAKESPAN
from ringsched.search.bisection import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a caller may fix; None leaves it to the policy."""

    order: str
    kappa: int | None = None
    theta: int | None = None
    slack: float | None = None
    seed: int = 0
    objective: str = MAKESPAN  # what a search that can choose improves; the bisecting ones take the makespan
    on_trial: Callable[[], None] = lambda: None  # called after every trial, for progress


Solve = Callable[[Problem, Settings], Candidate | None]

Certify = Callable[[Problem, Candidate, float], Certificate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """An entry of the table: queue order x placement rule x search."""

    name: str
    order: str  # unless the caller asks for another
    rule: str
    search: str
    options: frozenset[str]  # of kappa, theta, slack, seed: those that mean something here
    summary: str
    solve: Solve
    certify: Certify | None = None  # given a bound on the makespan, in the clock's units
