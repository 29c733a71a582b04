"""Scenarios, plans, options and changes out of a request's body, none of them larger than the limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ringsched.analysis.whatif.changes import (
    CONTENTION_KEYS,
    AddServers,
    Change,
    LinkFactor,
    LinkSpeed,
    OtherContention,
    RemoveServer,
    Together,
)
from ringsched.errors import InputError
from ringsched.formats.decode import check_keys, table
from ringsched.formats.plan import plan_from_dict
from ringsched.formats.scenario import scenario_from_dict
from ringsched.model import OBJECTIVES, Plan, Scenario
from ringsched.model.checks import text
from ringsched.policies.policy import Stop
from ringsched.web import bodies
from ringsched.web.limits import Limits, check_count, check_scenario_size


def changes_of(given: Sequence[dict[str, Any]], scenario: Scenario, limits: Limits) -> list[Change]:
    """Return one change for each object; one with several keys holds them all together."""
    check_count(len(given), "changes", limits.changes, "changes")
    changes = [_change(fields, f"changes[{at}]") for at, fields in enumerate(given)]
    for at, change in enumerate(changes):
        _check_size(change, scenario, limits, f"changes[{at}]")
    return changes


def _change(fields: dict[str, Any], place: str) -> Change:
    check_keys(fields, list(_KINDS), (), place)
    if not fields:
        raise InputError(f"is empty; choose from {', '.join(_KINDS)}", field=place)
    try:
        changes = [_KINDS[key](value) for key, value in fields.items()]
    except InputError as error:
        raise error if error.place else error.located(place=place) from None
    return changes[0] if len(changes) == 1 else Together(changes=tuple(changes))


def _add_servers(value: Any) -> AddServers:
    if not isinstance(value, dict):
        return AddServers(count=value)
    check_keys(value, ("count", "gpus"), ("count",), "add_servers")
    return AddServers(count=value["count"], gpus=value.get("gpus"))


def _link_factor(value: Any) -> LinkFactor:
    if not isinstance(value, dict):
        return LinkFactor(factor=value)
    check_keys(value, ("factor", "level"), ("factor",), "link_factor")
    return LinkFactor(factor=value["factor"], level=value.get("level"))


def _contention(value: Any) -> OtherContention:
    fields = table(value, "contention")
    check_keys(fields, CONTENTION_KEYS, (), "contention")
    if not fields:
        raise InputError(f"is empty; choose from {', '.join(CONTENTION_KEYS)}", field="contention")
    return OtherContention(fields=fields)


_KINDS: Mapping[str, Callable[[Any], Change]] = {
    "add_servers": _add_servers,
    "remove_server": lambda value: RemoveServer(name=text(value, "remove_server")),
    "inter_server_gbps": lambda value: LinkSpeed(inter_server_gbps=value),
    "link_factor": _link_factor,
    "contention": _contention,
}


def _check_size(change: Change, scenario: Scenario, limits: Limits, place: str) -> None:
    """Raise if more servers than this server takes would come of it, before they are made."""
    parts = change.changes if isinstance(change, Together) else (change,)
    for part in parts:
        if isinstance(part, AddServers):
            largest = max(server.gpus for server in scenario.cluster.servers)
            gpus = part.count * (largest if part.gpus is None else part.gpus)
            check_count(part.count + len(scenario.cluster.servers), "servers", limits.servers, place)
            check_count(gpus + scenario.cluster.capacity, "GPUs", limits.gpus, place)


SEARCH_S = 10.0  # as `plan` has it
WRONG_GPUS = 10_000  # GPUs that a plan may name in excess; each is checked and reported


def scenario_of(content: dict[str, Any], limits: Limits, place: str = "scenario") -> Scenario:
    """Return a scenario that is not too large and names no file."""
    if "jobs_file" in content:
        raise InputError(
            "is not allowed here, because the server reads no files; give jobs instead", field="jobs_file"
        )
    check_scenario_size(content, limits, place)
    return scenario_from_dict(content)


def plan_in(content: dict[str, Any], scenario: Scenario, limits: Limits, place: str = "plan") -> Plan:
    """Return a plan that is not too large; errors name the plan as their place."""
    if isinstance(jobs := content.get("jobs"), list):
        check_count(len(jobs), "jobs", limits.jobs, place)
        most = sum(job.gpus for job in scenario.jobs) + WRONG_GPUS
        for key in ("gpus", "ring"):
            check_count(_num_gpus(jobs, key), "GPUs", most, place)
    try:
        return plan_from_dict(content)
    except InputError as error:
        places = (place, error.place)
        raise error.located(place=": ".join(each for each in places if each)) from None


def _num_gpus(jobs: list[Any], key: str) -> int:
    """Return how many GPUs, or servers if they are more, jobs name."""
    named = [job[key] for job in jobs if isinstance(job, dict) and isinstance(job.get(key), list | dict)]
    by_server = [held for each in named if isinstance(each, dict) for held in each.values()]
    return max(sum(map(len, named)), sum(len(held) for held in by_server if isinstance(held, list)))


def plan_options(body: bodies.PlanBody, most_s: float) -> dict[str, Any]:
    """Return the options for `api.plan`."""
    options: dict[str, Any] = {name: getattr(body, name) for name in ("order", "kappa", "theta", "slack")}
    options |= {"seed": body.seed or 0, "objective": body.objective or OBJECTIVES[0]}
    time_limit_s = allowed_s(body.time_limit_s, most_s)
    options["stop"] = Stop(time_limit_s=time_limit_s, max_schedules=body.iterations, gap=body.gap)
    if body.policy == "search":
        options["workers"] = 1  # the other cores serve other requests
    return options


def search_limit_s(body: bodies.PlanBody, most_s: float) -> float:
    """Return when a search has to end by itself, so that its plan comes before the time of a request is over.

    Bounds and simple policies, which come first, and pictures, which come last, take additional time.
    """
    asked_s = body.time_limit_s
    if asked_s is None:
        asked_s = SEARCH_S if body.iterations is None else most_s
    return min(asked_s, max(0.1, 0.8 * most_s - 1))


def allowed_s(time_limit_s: float | None, most_s: float) -> float | None:
    """Return a time limit that the server can keep to."""
    if time_limit_s is not None and time_limit_s > most_s:
        raise InputError(f"must be at most {most_s:g} on this server", field="time_limit_s")
    return time_limit_s


def labelled_plans(raw: bytes, limits: Limits) -> tuple[Scenario, dict[str, Plan]]:
    """Return a scenario and its plans by their labels."""
    body = bodies.parsed(bodies.PlansBody, raw)
    check_count(len(body.plans), "plans", limits.plans, "plans")
    if not body.plans:
        raise InputError("must hold at least one plan", field="plans")
    scenario = scenario_of(body.scenario, limits)
    return scenario, {
        text(label, "the label of a plan"): plan_in(content, scenario, limits, f"plan {label!r}")
        for label, content in body.plans.items()
    }
