"""The same jobs on changed clusters, by default planned like the present plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ringsched import api
from ringsched.analysis.planned_run import check_totals, planned_run, same_time
from ringsched.analysis.whatif.changes import Change
from ringsched.engine.problem import problem_of
from ringsched.errors import Infeasible, InputError, UnknownName
from ringsched.formatting import counted, duration, one_line
from ringsched.model import OBJECTIVES, Plan, Scenario
from ringsched.model.checks import instance, shown
from ringsched.policies.policy import Stop
from ringsched.policies.table import policies, policy_named

DEFAULT_POLICY = "longest-first"  # fast, for any scenario

SEARCH_S = 2.0  # per plan; a question has several plans


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """A policy with its settings.

    Parameters that a policy searches for, such as theta and kappa, are searched again for every variant.
    """

    policy: str
    options: dict[str, Any]

    def plan(self, scenario: Scenario) -> Plan:
        """Return a plan for a scenario; may raise Infeasible."""
        return api.plan(scenario, self.policy, **self.options)


def planning_of(
    plan: Plan | None,
    *,
    policy: str | None,
    order: str | None,
    objective: str | None,
    seed: int | None,
    time_limit_s: float | None,
    max_schedules: int | None,
) -> Planning:
    """Return the given settings, completed by those of the present plan if it has the same policy."""
    options: dict[str, Any] = {"order": order}
    if plan is not None:
        options |= {"objective": objective or plan.objective, "seed": plan.seed if seed is None else seed}
        if policy is None or policy == plan.policy:
            policy = _known(plan.policy)
            options |= _settings(plan) | ({} if order is None else {"order": order})
    else:
        options |= {"objective": objective or OBJECTIVES[0], "seed": seed or 0}
    chosen = policy_named(policy or DEFAULT_POLICY)
    if chosen.name == "search" and time_limit_s is None and max_schedules is None:
        time_limit_s = SEARCH_S
    options["stop"] = Stop(time_limit_s=time_limit_s, max_schedules=max_schedules)
    return Planning(policy=chosen.name, options=options)


def _known(policy: str) -> str:
    names = [known.name for known in policies()]
    if policy not in names:
        made = f"the plan was made by {policy!r}, which cannot re-plan"
        raise InputError(f"must be given, such as {DEFAULT_POLICY}: {made}", field="policy")
    return policy


def _settings(plan: Plan) -> dict[str, Any]:
    policy = policy_named(plan.policy)
    settings: dict[str, Any] = {
        "order": None if plan.order == policy.order else plan.order,
        "slack": plan.slack,
    }
    if policy.search.startswith("none") and "kappa" in plan.params:  # given by the user, not searched
        settings["kappa"] = plan.params["kappa"]
    return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishChange:
    """A job whose finish changes; `change_s` is negative if it ends sooner."""

    job: str
    before_s: float
    after_s: float
    change_s: float  # how much later it ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A changed scenario with its plan; without one if the policy finds none within the horizon.

    `changes` lists the jobs whose finish differs from the present plan, the largest change first.
    """

    label: str
    scenario: Scenario
    plan: Plan | None
    changes: tuple[FinishChange, ...]

    def __repr__(self) -> str:
        changes = f"{counted(len(self.changes), 'job')} at other times"
        makespan = "infeasible" if self.plan is None else f"makespan {duration(self.plan.makespan_s)}"
        return one_line("Variant", self.label, makespan, changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The present plan, and the result of each change.

    `replanned` is the present scenario planned like the variants, if that differs from the given plan.
    """

    policy: str
    present: Plan
    replanned: Plan | None
    variants: tuple[Variant, ...]

    def __repr__(self) -> str:
        makespan = f"makespan {duration(self.present.makespan_s)} at present"
        return one_line("WhatIf", counted(len(self.variants), "variant"), f"policy {self.policy}", makespan)


def whatif(
    scenario: Scenario,
    *changes: Change,
    plan: Plan | None = None,
    policy: str | None = None,
    order: str | None = None,
    objective: str | None = None,
    seed: int | None = None,
    time_limit_s: float | None = None,
    max_schedules: int | None = None,
) -> WhatIf:
    """Plan changed scenarios, one for each change, and compare them with the present plan.

    Parameters
    ----------
    changes
        `AddServers`, `RemoveServer`, `LinkSpeed`, `LinkFactor`, `OtherContention`, `Together`, or anything
        with their two methods.
    plan
        The present plan; the scenario is planned if there is none.
    policy, order, objective, seed
        How to plan; by default like `plan`, and without a plan with longest-first.
    time_limit_s, max_schedules
        Limits of policies that search, for every variant; `search` ends after 2 s if neither is given.

    Examples
    --------
    >>> import ringsched
    >>> from ringsched.analysis.whatif.changes import AddServers, LinkFactor
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> answer = ringsched.whatif(scenario, AddServers(count=2), LinkFactor(factor=0.25))
    >>> [(variant.label, variant.plan.makespan_s) for variant in answer.variants]
    [('2 more servers of 8 GPUs', 4320.0), ('links 0.25 times as fast', 16920.0)]
    """
    instance(scenario, "scenario", Scenario)
    for at, change in enumerate(changes):
        _check_change(change, at)
    planning = planning_of(
        plan,
        policy=policy,
        order=order,
        objective=objective,
        seed=seed,
        time_limit_s=time_limit_s,
        max_schedules=max_schedules,
    )
    if plan is not None:
        problem = problem_of(scenario)
        check_totals(problem, planned_run(problem, plan), plan)
    variants = [(change.label(scenario), _applied(change, scenario)) for change in changes]
    present = planning.plan(scenario) if plan is None else plan
    replanned = None if plan is None else _plan(planning, scenario)
    return WhatIf(
        policy=planning.policy,
        present=present,
        replanned=None if replanned is None or replanned.jobs == present.jobs else replanned,
        variants=tuple(_variant(planning, label, changed, present) for label, changed in variants),
    )


def _check_change(change: object, at: int) -> None:
    if isinstance(change, type) or not all(
        callable(getattr(change, method, None)) for method in ("label", "apply")
    ):
        wanted = "must be a change such as AddServers(count=2), with the methods label and apply"
        raise InputError(f"{wanted}, not {shown(change)}", field=f"changes[{at}]")


def _applied(change: Change, scenario: Scenario) -> Scenario:
    """Return a changed scenario, or raise with the change that makes it invalid."""
    try:
        changed = change.apply(scenario)
        problem_of(changed)
    except UnknownName:
        raise
    except InputError as error:
        places = (change.label(scenario), error.place)
        raise error.located(place=": ".join(place for place in places if place)) from None
    return changed


def _variant(planning: Planning, label: str, scenario: Scenario, present: Plan) -> Variant:
    plan = _plan(planning, scenario)
    changes = () if plan is None else finish_changes(present, plan)
    return Variant(label=label, scenario=scenario, plan=plan, changes=changes)


def _plan(planning: Planning, scenario: Scenario) -> Plan | None:
    try:
        return planning.plan(scenario)
    except Infeasible:
        return None


def finish_changes(before: Plan, after: Plan) -> tuple[FinishChange, ...]:
    """Return the jobs whose finish differs between two plans, the largest change first."""
    before_s = {job.name: job.finish_s for job in before.jobs}
    since_s = min((job.start_s for job in (*before.jobs, *after.jobs)), default=0.0)
    changes = [
        FinishChange(
            job=job.name,
            before_s=before_s[job.name],
            after_s=job.finish_s,
            change_s=job.finish_s - before_s[job.name],
        )
        for job in after.jobs
        if job.name in before_s and not same_time(before_s[job.name], job.finish_s, since_s=since_s)
    ]
    return tuple(sorted(changes, key=lambda change: -abs(change.change_s)))
