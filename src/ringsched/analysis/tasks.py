"""Which runs a comparison is made of; everything the user asked for is checked here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringsched.analysis.runs import ComparisonRow, Task
from ringsched.engine.problem import problem_of
from ringsched.errors import InputError
from ringsched.io.scenario_file import load_scenario, locate
from ringsched.model import OBJECTIVES, Scenario
from ringsched.model.checks import choice, instance, integer
from ringsched.policies.custom import CustomPolicy, policy_of
from ringsched.policies.orders import order_named
from ringsched.policies.policy import Limits, Policy
from ringsched.policies.registry import policy_named

OWN = "own"


@dataclass(frozen=True, slots=True)
class _Contender:
    policy: str | CustomPolicy
    name: str
    order: str | None
    order_name: str
    seeded: bool
    limits: dict[str, Any]
    limit: str


def tasks_of(
    scenarios: Sequence[Scenario | str | os.PathLike[str]],
    policies: Sequence[str | CustomPolicy],
    orders: Sequence[str],
    *,
    seeds: int,
    first_seed: int,
    objective: str,
    limits: Limits,
) -> list[Task]:
    """Return the runs by policy, scenario and seed, or say what is wrong with what was asked for."""
    first = integer(first_seed, "seed", minimum=0)
    seed_range = range(first, first + integer(seeds, "seeds", minimum=1))
    choice(objective, "objective", OBJECTIVES)
    contenders = _contenders(policies, orders, limits)
    loaded = _loaded(scenarios)
    return [
        _task(contender, label, scenario, digest, seed, objective)
        for contender in contenders
        for digest, (label, scenario) in loaded.items()
        for seed in (seed_range if contender.seeded else [None])
    ]


def _task(
    contender: _Contender, label: str, scenario: Scenario, digest: str, seed: int | None, objective: str
) -> Task:
    row = ComparisonRow(
        scenario=label,
        scenario_sha256=digest,
        policy=contender.name,
        order=contender.order_name,
        objective=objective,
        limit=contender.limit,
        seed=seed,
    )
    return Task(
        row=row,
        scenario=scenario,
        policy=contender.policy,
        order=contender.order,
        limits=contender.limits,
    )


def _contenders(
    policies: Sequence[str | CustomPolicy], orders: Sequence[str], limits: Limits
) -> list[_Contender]:
    """Return every policy under every order, each once."""
    if not policies or not orders:
        raise InputError("must name at least one", field="orders" if policies else "policies")
    contenders: dict[tuple[str, str], _Contender] = {}
    for policy in policies:
        for order in orders:
            contender = _contender(policy, order, limits)
            known = contenders.setdefault((contender.name, contender.order_name), contender)
            if known.policy is not policy and known.policy != policy:
                raise InputError(f"has two policies named {contender.name!r}", field="policies")
    return list(contenders.values())


def _contender(policy: str | CustomPolicy, order: str, limits: Limits) -> _Contender:
    entry = policy_named(policy) if isinstance(policy, str) else policy_of(policy)
    chosen = None if order == OWN else order_named(order)
    given, limit = _limits(entry, limits)
    return _Contender(
        policy, entry.name, chosen, chosen or entry.order, "seed" in entry.options, given, limit
    )


def _limits(policy: Policy, limits: Limits) -> tuple[dict[str, Any], str]:
    """Return what a policy that searches is given, and how a row says it."""
    given: dict[str, Any] = {}
    if limits.iterations is not None and "iterations" in policy.options:
        given["iterations"] = limits.iterations
    elif limits.time_limit_s is not None and "time-limit" in policy.options:
        given["time_limit_s"] = limits.time_limit_s
    limit = ", ".join(f"{name} {value:g}" for name, value in given.items())
    if "threads" in policy.options:  # one core a run: the others have runs of their own
        given["threads"] = 1
    return given, limit


def _loaded(scenarios: Sequence[Scenario | str | os.PathLike[str]]) -> dict[str, tuple[str, Scenario]]:
    """Return label and scenario by digest; the same one twice would count twice in every interval."""
    if not scenarios:
        raise InputError("must name at least one", field="scenarios")
    loaded: dict[str, tuple[str, Scenario]] = {}
    labels: set[str] = set()
    for at, given in enumerate(scenarios):
        label, scenario = _ready(at, given)
        digest = scenario.sha256()
        if digest in loaded:
            raise InputError(f"is the same scenario as {loaded[digest][0]}", file=label)
        unique_label = f"{label}-{at}" if label in labels else label
        labels.add(unique_label)
        loaded[digest] = (unique_label, scenario)
    return loaded


def _ready(at: int, given: Scenario | str | os.PathLike[str]) -> tuple[str, Scenario]:
    """Return a scenario that can be planned, and what to call it."""
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        scenario = load_scenario(path)
        try:
            problem_of(scenario)
        except InputError as error:
            raise locate(error, path) from None
        return _printable(str(path)), scenario
    scenario = instance(given, f"scenarios[{at}]", Scenario)
    problem_of(scenario)
    return scenario.name or f"scenario-{at}", scenario


def _printable(name: str) -> str:
    # A file's name may hold what no table can.
    return name if name.isprintable() else ascii(name)[1:-1]
