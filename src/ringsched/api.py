"""The functions behind the commands; each command is one call of these."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ringsched.bounds.lower_bound import lower_bounds as _lower_bounds
from ringsched.engine.problem import Problem, problem_of
from ringsched.engine.state import Run, outcome_of
from ringsched.errors import Infeasible, InputError, UnknownName
from ringsched.model import OBJECTIVES, Bound, Certificate, Outcome, Plan, PlannedJob, Scenario
from ringsched.model.checks import instance, integer, number
from ringsched.model.objective import MAKESPAN, objective_named
from ringsched.policies.custom import CustomPolicy, PolicyFile, policy_of
from ringsched.policies.policy import (
    ORDERS,
    Limits,
    Observer,
    Policy,
    Progress,
    Settings,
    Stop,
    order_named,
    plan_of,
)
from ringsched.policies.table import DEFAULT_POLICY, policies, policy_named
from ringsched.search.bisection import Candidate

__all__ = ["DEFAULT_POLICY", "OBJECTIVES", "ORDERS", "list_policies", "lower_bounds", "plan", "replay"]


def plan(
    scenario: Scenario,
    policy: str | Policy | CustomPolicy | PolicyFile = DEFAULT_POLICY,
    *,
    objective: str = MAKESPAN.name,
    order: str | None = None,
    kappa: int | None = None,
    theta: int | None = None,
    slack: float | None = None,
    seed: int = 0,
    stop: Stop | Callable[[Progress], bool] | None = None,
    workers: int | None = None,
    observer: Observer | None = None,
) -> Plan:
    """Decide which GPUs each job gets and when it starts.

    Parameters
    ----------
    policy
        A name out of `list_policies()`, a `Policy`, or an object with a method `place`.
    objective
        Out of `OBJECTIVES`: what bound and gap are about. Policies that do not search for it plan the same
        whatever it is; those that bisect keep to the makespan, as the paper does.
    order
        A queue order out of `ORDERS`, instead of the policy's own.
    kappa, theta, slack
        Fix what a search would choose, and λ for every job.
    seed
        For policies that draw random numbers.
    stop
        When `search` ends: a `Stop`, or a function that is given its `Progress` and says True. Without
        either a time limit or a number of schedules it ends after 10 seconds.
    workers
        How many cores `search` uses; all if not given.
    observer
        Sees progress and better plans, and may ask the search to end; see `Observer`.

    Raises
    ------
    Infeasible
        No makespan below the horizon; carries the lower bound.
    TooLarge
        Policy `exact` has no proof within its limits.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> result = ringsched.plan(scenario, "sjf-bco")
    >>> result.makespan_s >= result.lower_bound_s
    True
    """
    chosen = policy_named(policy) if isinstance(policy, str) else policy_of(policy)
    criterion = _stop_of(stop)
    settings = settings_of(
        chosen,
        order=order,
        kappa=kappa,
        theta=theta,
        slack=slack,
        seed=seed,
        objective=objective,
        stop=criterion,
        workers=workers,
    )
    problem = problem_of(instance(scenario, "scenario", Scenario))
    chosen.check_model(scenario.contention)
    watch = _Watch(observer or Observer(), criterion.when)
    settings = replace(
        settings,
        limits=replace(settings.limits, should_stop=watch.should_stop),
        on_trial=watch.trial,
        on_progress=watch.progress,
        on_better=lambda best: watch.better(lambda: _plan(problem, best(), chosen, settings)),
    )
    candidate = chosen.candidate(problem, settings) if scenario.jobs else Candidate(Run((), (), ()), {})
    if candidate is None:
        raise _infeasible(problem, chosen, settings)
    return _plan(problem, candidate, chosen, settings)


def _stop_of(stop: object) -> Stop:
    if stop is None or isinstance(stop, Stop):
        return stop or Stop()
    if callable(stop):
        return Stop(when=stop)
    raise InputError("must be a Stop, or a function of the progress", field="stop")


class _Watch:
    """An observer, told no more than it wants to know, and a stop criterion that is a function."""

    def __init__(self, observer: Observer, says_stop: Callable[[Progress], bool] | None) -> None:
        instance(observer, "observer", Observer)
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


def settings_of(
    policy: Policy,
    *,
    order: str | None = None,
    kappa: int | None = None,
    theta: int | None = None,
    slack: float | None = None,
    seed: int = 0,
    objective: str = MAKESPAN.name,
    stop: Stop = Stop(),  # noqa: B008 - it is frozen
    workers: int | None = None,
) -> Settings:
    """Return what `plan` is asked for, or raise if something is wrong, or means nothing to the policy."""
    settings = Settings(
        order=policy.order if order is None else order_named(order),
        kappa=_checked(kappa, "kappa", integer, minimum=1),
        theta=_checked(theta, "theta", integer, minimum=1),
        slack=_checked(slack, "slack", number, minimum=1),
        seed=integer(seed, "seed", minimum=0),
        objective=objective_named(objective),
        limits=Limits(
            time_limit_s=_checked(stop.time_limit_s, "time-limit", number, minimum=0),
            iterations=_checked(stop.schedules, "iterations", integer, minimum=0),
            gap=1.0 if stop.gap is None else number(stop.gap, "gap", minimum=1),
            threads=_checked(workers, "threads", integer, minimum=1),
            watched=stop.when is not None,
        ),
    )
    given = {"kappa": kappa, "theta": theta, "slack": slack, "time-limit": stop.time_limit_s}
    _check_options(policy, given | {"iterations": stop.schedules, "gap": stop.gap, "threads": workers})
    return settings


def _checked(value: Any, field: str, check: Callable[..., Any], *, minimum: int) -> Any:
    return None if value is None else check(value, field, minimum=minimum)


def _check_options(policy: Policy, given: Mapping[str, object]) -> None:
    """Raise if something was given that the policy does not look at."""
    for option, value in given.items():
        if value is not None and option not in policy.options:
            takers = ", ".join(other.name for other in policies() if option in other.options)
            raise InputError(f"means nothing to policy {policy.name!r}, only to {takers}", field=option)


def replay(scenario: Scenario, plan: Plan) -> Outcome:
    """Return what happens when the jobs start where and when `plan` says.

    Only starts and placements are read, and of a running job not even those; whether they are allowed
    is for `verify` to say. A job whose GPUs are still held at its start waits for them, and those that
    start after it wait behind it.
    """
    problem = problem_of(instance(scenario, "scenario", Scenario))
    return outcome_of(problem, replayed(problem, plan))


def replayed(problem: Problem, plan: Plan) -> Run:
    """Return the run of a plan's starts and placements, for those who need more than its outcome."""
    from ringsched.rules.runner import replay as replay_run

    scenario = problem.scenario
    by_name = {job.name: job for job in plan.jobs}
    if set(by_name) != {job.name for job in scenario.jobs} or len(by_name) != len(plan.jobs):
        raise InputError("the plan's jobs are not those of the scenario")
    planned = [by_name[job.name] for job in scenario.jobs]
    _check_placements(scenario, planned)
    starts = [problem.instant_at(job.start_s) for job in planned]
    gpus = [problem.numbered(job.gpus) for job in planned]
    return replay_run(problem, starts, gpus, origin=problem.origin)


def _check_placements(scenario: Scenario, planned: Sequence[PlannedJob]) -> None:
    """Raise if a job is not on as many existing GPUs as it needs: nothing could be replayed."""
    servers = {server.name: server for server in scenario.cluster.servers}
    for job, entry in zip(scenario.jobs, planned, strict=True):
        place = f"job {job.name!r}"
        for server, held in entry.gpus.items():
            if server not in servers:
                raise UnknownName("server", server, servers, field="gpus", place=place)
            usable = set(range(servers[server].gpus)).difference(servers[server].unavailable)
            if not usable.issuperset(held) or len(set(held)) < len(held):
                problem = f"names a GPU of server {server!r} that cannot be used, or one twice"
                raise InputError(problem, field="gpus", place=place)
        num_gpus = sum(len(held) for held in entry.gpus.values())
        if num_gpus != job.gpus:
            raise InputError(f"names {num_gpus} GPUs, the job needs {job.gpus}", field="gpus", place=place)


def lower_bounds(scenario: Scenario, objective: str = MAKESPAN.name) -> tuple[Bound, ...]:
    """Return the lower bounds on an objective over all plans of `scenario`, the largest first.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> [bound.name for bound in ringsched.lower_bounds(scenario, "mean-completion")]
    ['priced-gpus', 'squashed-area', 'best-cases']
    """
    problem = problem_of(instance(scenario, "scenario", Scenario))
    return _lower_bounds(problem, objective_named(objective))


def list_policies(*, online: bool = False) -> tuple[Policy, ...]:
    """Return the table of policies: those of `plan`, or those of `simulate`.

    Examples
    --------
    >>> [policy.name for policy in list_policies()][:3]
    ['search', 'sjf-bco', 'first-fit']
    >>> [policy.name for policy in list_policies(online=True)][-2:]
    ['contention-aware', 'rolling']
    """
    return policies(online=online)


def _plan(problem: Problem, candidate: Candidate, policy: Policy, settings: Settings) -> Plan:
    """Return the plan of a candidate."""
    return plan_of(
        problem,
        candidate.run,
        policy=policy.name,
        order=settings.order,
        params=candidate.params,
        slack=settings.slack,
        seed=settings.seed,
        objective=settings.objective,
        certificate=_certificate(problem, candidate, policy),
        ended=candidate.ended,
    )


def _certificate(problem: Problem, candidate: Candidate, policy: Policy) -> Certificate | None:
    """Return what the policy's theorem claims, whatever the objective, of the makespan."""
    if policy.certify is None or not problem.scenario.jobs:
        return None
    return policy.certify(problem, candidate, problem.clock.units(_lower_bounds(problem)[0].value_s))


def _infeasible(problem: Problem, policy: Policy, settings: Settings) -> Infeasible:
    bound_s = _lower_bounds(problem)[0].value_s  # the horizon is about the makespan
    horizon_s = problem.scenario.time.horizon_s
    limits = [
        "" if horizon_s is None else f"within the horizon of {horizon_s:g} s",
        "" if settings.theta is None else f"with theta = {settings.theta}",
    ]
    why = " and ".join(limit for limit in limits if limit) if "theta" in policy.options else ""
    missed = (
        f"{why}: policy {policy.name!r} finds no such plan"
        if why
        else f"under policy {policy.name!r}: it never places a job"
    )
    return Infeasible(
        f"infeasible {missed}; no plan at all can end before {bound_s:g} s", lower_bound_s=bound_s
    )
