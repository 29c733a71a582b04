"""What `plan` asks of a policy, who watches it, and the plan of its answer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ringsched.bounds.lower_bound import lower_bounds, quick_bounds
from ringsched.engine.problem import Problem
from ringsched.engine.state import Run, outcome_of, planned_jobs
from ringsched.errors import Infeasible, InputError
from ringsched.formatting import duration
from ringsched.garbage import no_garbage_collection
from ringsched.model import Bound, Plan
from ringsched.model.checks import instance, integer, number
from ringsched.model.objective import MAKESPAN, Objective, objective_named
from ringsched.model.plan import INTERRUPTED
from ringsched.policies.policy import (
    Candidate,
    Certify,
    Limits,
    Observer,
    Policy,
    Progress,
    Settings,
    Stop,
    order_named,
)
from ringsched.policies.table import check_options


def settings_of(
    policy: Policy,
    *,
    order: str | None = None,
    kappa: int | None = None,
    theta: int | None = None,
    slack: float | None = None,
    max_wait_s: float | None = None,
    seed: int = 0,
    objective: str = MAKESPAN.name,
    stop: Stop | Callable[[Progress], bool] | None = None,
    workers: int | None = None,
) -> Settings:
    """Return what `plan` is asked for, or raise if something is wrong, or not allowed with the policy."""
    criterion = _stop_of(stop)
    settings = Settings(
        order=policy.order if order is None else order_named(order),
        kappa=_checked(kappa, "kappa", integer, minimum=1),
        theta=_checked(theta, "theta", integer, minimum=1),
        slack=_checked(slack, "server-slack", number, minimum=1),
        max_wait_s=_checked(max_wait_s, "max-wait", number, minimum=0),
        seed=integer(seed, "seed", minimum=0),
        objective=objective_named(objective),
        limits=Limits(
            time_limit_s=_checked(criterion.time_limit_s, "time-limit", number, minimum=0),
            iterations=_checked(criterion.max_schedules, "max-schedules", integer, minimum=0),
            gap=1.0 if criterion.gap is None else _gap(criterion.gap),
            threads=_checked(workers, "workers", integer, minimum=1),
            when=criterion.when,
        ),
    )
    given = {"kappa": kappa, "theta": theta, "server-slack": slack, "time-limit": criterion.time_limit_s}
    given |= {"max-schedules": criterion.max_schedules, "gap": criterion.gap, "workers": workers}
    given |= {"max-wait": max_wait_s}
    check_options(policy, given)
    return settings


def _gap(value: object) -> float:
    gap = number(value, "gap", minimum=0)
    if gap < 1:
        raise InputError(f"is a ratio here: {1 + gap:g} means {100 * gap:g} % above the bound", field="gap")
    return gap


def _stop_of(stop: object) -> Stop:
    if stop is None or isinstance(stop, Stop):
        return stop or Stop()
    if callable(stop):
        return Stop(when=stop)
    raise InputError("must be a Stop, or a function of the progress", field="stop")


def _checked(value: Any, field: str, check: Callable[..., Any], *, minimum: int) -> Any:
    return None if value is None else check(value, field, minimum=minimum)


def planned(problem: Problem, policy: Policy, settings: Settings, observer: Observer | None = None) -> Plan:
    """Return the plan that a policy makes while an observer watches."""
    return planned_with_run(problem, policy, settings, observer)[0]


def planned_with_run(
    problem: Problem, policy: Policy, settings: Settings, observer: Observer | None = None
) -> tuple[Plan, Run]:
    """Return the same plan, and its run, for figures that would have to simulate it again."""
    policy.check_model(problem.scenario.contention)
    watch = _Watch(instance(observer or Observer(), "observer", Observer), settings.limits.when)
    settings = replace(
        settings,
        limits=replace(settings.limits, should_stop=watch.should_stop),
        on_trial=watch.trial,
        on_progress=watch.progress,
        on_better=lambda best: watch.better(
            lambda: _plan(problem, best(), policy, settings, _known_bounds(problem, settings.objective))
        ),
    )
    candidate = policy.candidate(problem, settings) if problem.num_jobs else Candidate(Run((), (), ()), {})
    if candidate is None:
        raise _infeasible(problem, policy, settings)
    bounds = _known_bounds(problem, settings.objective) if candidate.ended == INTERRUPTED else None
    return _plan(problem, candidate, policy, settings, bounds), candidate.run


class _Watch:
    """An observer, told no more than it wants to know, and a stop criterion that is a function."""

    def __init__(self, observer: Observer, says_stop: Callable[[Progress], bool] | None) -> None:
        self._observer, self._says_stop = observer, says_stop
        self._wants_plans = getattr(observer.better, "__func__", None) is not Observer.better
        self._next_plan_s = -math.inf
        self._stopped = False
        self.trial = observer.trial

    def progress(self, progress: Progress) -> None:
        self._observer.progress(progress)
        if self._says_stop is not None and self._says_stop(progress):
            self._stopped = True

    def should_stop(self) -> bool:
        return self._stopped or self._observer.should_stop()

    def better(self, plan: Callable[[], Plan]) -> None:
        if self._wants_plans and time.monotonic() >= self._next_plan_s:
            self._observer.better(plan())
            self._next_plan_s = time.monotonic() + self._observer.better_every_s


def _known_bounds(problem: Problem, objective: Objective) -> tuple[Bound, ...]:
    """Return bounds without a wait: a first plan comes before the bounds that take time."""
    return problem.bounds.get(objective) or quick_bounds(problem, objective)


def _plan(
    problem: Problem,
    candidate: Candidate,
    policy: Policy,
    settings: Settings,
    bounds: tuple[Bound, ...] | None = None,
) -> Plan:
    return plan_of(
        problem,
        candidate,
        policy=policy.name,
        order=settings.order,
        slack=settings.slack,
        seed=settings.seed,
        objective=settings.objective,
        certify=policy.certify,
        bounds=bounds,
    )


def _infeasible(problem: Problem, policy: Policy, settings: Settings) -> Infeasible:
    bound_s = lower_bounds(problem)[0].value_s  # the horizon is about the makespan
    horizon_s = problem.scenario.time.horizon_s
    limits = [
        "" if horizon_s is None else f"within the horizon of {duration(horizon_s)}",
        "" if settings.theta is None else f"with theta = {settings.theta}",
    ]
    why = " and ".join(limit for limit in limits if limit) if "theta" in policy.options else ""
    missed = (
        f"{why}: policy {policy.name!r} finds no such plan"
        if why
        else f"under policy {policy.name!r}: it never places a job"
    )
    step = "; raise time.horizon_s, or remove it" if why and horizon_s is not None else ""
    return Infeasible(
        f"infeasible {missed}; no plan can end before {duration(bound_s)}{step}", lower_bound_s=bound_s
    )


def plan_of(
    problem: Problem,
    candidate: Candidate,
    *,
    policy: str,
    order: str | None = None,
    slack: float | None = None,
    seed: int = 0,
    objective: Objective = MAKESPAN,
    certify: Certify | None = None,
    bounds: tuple[Bound, ...] | None = None,
) -> Plan:
    """Return the plan of a candidate; bound and gap are those of the objective.

    What `certify` says is about the makespan, whatever the objective. If absent, `bounds` are all of them.
    """
    # Whether the weighted mean says something that the plain one does not.
    shows_weights = objective.weighted or len({job.weight for job in problem.scenario.jobs}) > 1
    with no_garbage_collection():
        jobs, outcome = planned_jobs(problem, candidate.run), outcome_of(problem, candidate.run)
    bounds = lower_bounds(problem, objective) if bounds is None else bounds
    bound_s = max((bound.value_s for bound in bounds), default=0.0)
    value: float = getattr(outcome, objective.field)
    certificate = None
    if certify is not None and jobs:
        certificate = certify(problem, candidate, problem.clock.units(lower_bounds(problem)[0].value_s))
    return Plan(
        scenario_sha256=problem.scenario.sha256(),
        policy=policy,
        order=order,
        params=candidate.params,
        slack=slack,
        seed=seed,
        objective=objective.name,
        makespan_s=outcome.makespan_s,
        mean_completion_s=outcome.mean_completion_s,
        weighted_completion_s=outcome.weighted_completion_s if shows_weights else None,
        max_slowdown=outcome.max_slowdown,
        lower_bound_s=bound_s,
        # In continuous time rounding may leave a value a hair below its bound.
        gap=max(1.0, value / bound_s) if bound_s else 1.0,
        bounds=bounds,
        certificate=certificate,
        ended=candidate.ended,
        jobs=jobs,
    )
