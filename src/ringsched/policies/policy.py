"""What every policy is made of and answers with: queue orders, settings, candidates and their plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ringsched.bounds.lower_bound import lower_bounds
from ringsched.contention.sharing import is_counting, model_of
from ringsched.engine.problem import Problem, objective_value
from ringsched.engine.state import Run, outcome_of
from ringsched.errors import InputError, UnknownName
from ringsched.model import Certificate, Contention, Plan, PlannedJob, Scenario
from ringsched.model.contention import model_names
from ringsched.model.objective import MAKESPAN, Objective
from ringsched.search.bisection import Candidate

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


def plan_of(
    problem: Problem,
    run: Run,
    *,
    policy: str,
    order: str | None = None,
    params: Mapping[str, float | int | str] | None = None,
    slack: float | None = None,
    seed: int = 0,
    objective: Objective = MAKESPAN,
    certificate: Certificate | None = None,
) -> Plan:
    """Return the plan of a run; bound and gap are those of the objective."""
    scenario, outcome = problem.scenario, outcome_of(problem, run)
    bounds = lower_bounds(problem, objective)
    bound_s = bounds[0].value_s if bounds else 0.0
    value_s = objective_value(problem, run.finishes, objective)
    return Plan(
        scenario_sha256=scenario.sha256(),
        policy=policy,
        order=order,
        params=params or {},
        slack=slack,
        seed=seed,
        objective=objective.name,
        makespan_s=outcome.makespan_s,
        mean_completion_s=outcome.mean_completion_s,
        weighted_completion_s=outcome.weighted_completion_s if _shows_weights(scenario, objective) else None,
        lower_bound_s=bound_s,
        # In continuous time rounding may leave a value a hair below its bound.
        gap=max(1.0, value_s / bound_s) if bound_s else 1.0,
        bounds=bounds,
        certificate=certificate,
        jobs=tuple(
            PlannedJob(
                name=job.name,
                start_s=outcome.starts_s[at],
                finish_s=outcome.finishes_s[at],
                gpus=problem.placement(run.gpus[at]),
                ring=problem.ring(run.gpus[at]),
            )
            for at, job in enumerate(scenario.jobs)
        ),
    )


def _shows_weights(scenario: Scenario, objective: Objective) -> bool:
    """Whether the weighted mean says something that the plain one does not."""
    weights = {job.weight for job in scenario.jobs}
    return objective.weighted or len(weights) > 1
