"""The runs of a comparison: its scenarios, and its policies in every order; checked here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ringsched.analysis.compare.runs import ComparisonRow, Task
from ringsched.analysis.compare.settings import Setting
from ringsched.engine.problem import problem_of
from ringsched.errors import InputError, UnknownName
from ringsched.formats.overrides import overridden
from ringsched.formats.scenario import load_scenario, locate
from ringsched.model import OBJECTIVES, Scenario
from ringsched.model.checks import choice, instance, integer
from ringsched.online.own import policy_of
from ringsched.policies.custom import CustomPolicy
from ringsched.policies.policy import ORDERS, Limits, Policy, Stop
from ringsched.policies.table import policies, policy_named


@dataclass(frozen=True, slots=True)
class Given:
    """A scenario, its label, and its file."""

    label: str
    path: Path | None
    scenario: Scenario

    def located(self, error: InputError) -> InputError:
        """Return the error with its file."""
        return error if self.path is None else locate(error, self.path)


def scenarios_of(
    scenarios: Sequence[Scenario | str | os.PathLike[str]], overrides: Sequence[str] = ()
) -> list[Given]:
    """Return the scenarios with their overrides, under unique labels."""
    if not scenarios:
        raise InputError("must name at least one", field="scenarios")
    found: dict[str, Given] = {}
    for at, each in enumerate(scenarios):
        given = _read(at, each, overrides)
        label = f"{given.label}-{at}" if given.label in found else given.label
        found[label] = replace(given, label=label)
    return list(found.values())


def _read(at: int, given: Scenario | str | os.PathLike[str], overrides: Sequence[str]) -> Given:
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        return Given(_printable(str(path)), path, load_scenario(path, overrides))
    scenario = instance(given, f"scenarios[{at}]", Scenario)
    if overrides:
        scenario = overridden(scenario, *overrides)
    return Given(scenario.name or f"scenario-{at}", None, scenario)


def changed_by(
    given: Sequence[Given], contenders: Sequence[Contender], setting: Setting
) -> dict[str, tuple[str, Scenario]]:
    """Return label and scenario by digest, checked in this setting.

    The same one twice would count twice in every interval.
    """
    ready: dict[str, tuple[str, Scenario]] = {}
    for each in given:
        scenario = _ready(each, setting)
        _check_models(contenders, each, scenario, setting)
        digest = scenario.sha256()
        if digest in ready:
            where = f" {setting.words}" if setting.words else ""
            place = each.label if each.path is None else _printable(str(each.path))
            same = f"is the same scenario as {ready[digest][0]}{where}"
            problem = "is given twice" if place == ready[digest][0] and not where else same
            raise InputError(f"{problem}; it would count twice, so remove one", file=place)
        ready[digest] = (each.label, scenario)
    return ready


def _ready(given: Given, setting: Setting) -> Scenario:
    try:
        scenario = setting.apply(given.scenario)
        problem_of(scenario)
    except InputError as error:
        problem = f"{error.problem} ({setting.words})" if setting.words else error.problem
        raise given.located(InputError(problem, field=error.field, place=error.place)) from None
    return scenario


def _check_models(
    contenders: Sequence[Contender], given: Given, scenario: Scenario, setting: Setting
) -> None:
    """Raise if a policy does not support the contention model, before anything runs."""
    for contender in contenders:
        try:
            contender.entry.check_model(scenario.contention)
        except InputError as error:
            if setting.model is None:
                raise given.located(error) from None
            problem = f"names {setting.model!r}, which policy {contender.name!r} does not support"
            raise InputError(f"{problem}; leave out one of them", field="contention-models") from None


def _printable(name: str) -> str:
    # A file name may contain characters that a table cannot show.
    return name if name.isprintable() else ascii(name)[1:-1]


OWN = "own"


@dataclass(frozen=True, slots=True)
class Contender:
    """One policy in one order, with the limits of a search and their text in a row."""

    policy: str | CustomPolicy
    entry: Policy
    order: str | None
    order_name: str
    limits: dict[str, Any]
    limit: str

    @property
    def name(self) -> str:
        """The policy's."""
        return self.entry.name

    @property
    def seeded(self) -> bool:
        """Whether it draws random numbers."""
        return "seed" in self.entry.options


def contenders_of(
    given: Sequence[str | CustomPolicy], orders: Sequence[str], limits: Limits
) -> list[Contender]:
    """Return every policy in every order, each once."""
    if not given or not orders:
        raise InputError("must name at least one", field="orders" if given else "policies")
    contenders: dict[tuple[str, str], Contender] = {}
    for policy in given:
        for order in orders:
            contender = _contender(policy, order, limits)
            known = contenders.setdefault((contender.name, contender.order_name), contender)
            if known.policy is not policy and known.policy != policy:
                raise InputError(f"has two policies named {contender.name!r}", field="policies")
    _check_limits(contenders.values(), limits)
    return list(contenders.values())


def _check_limits(contenders: Iterable[Contender], limits: Limits) -> None:
    """Raise if a limit applies to no policy; policies without a search may be beside one that has it."""
    given = {"time-limit": limits.time_limit_s, "max-schedules": limits.iterations}
    for option, value in given.items():
        if value is not None and not any(option in each.entry.options for each in contenders):
            takers = ", ".join(policy.name for policy in policies() if option in policy.options)
            raise InputError(f"is not allowed with these policies, only with {takers}", field=option)


def _contender(policy: str | CustomPolicy, order: str, limits: Limits) -> Contender:
    entry = policy_named(policy) if isinstance(policy, str) else policy_of(policy)
    if order not in (OWN, *ORDERS):
        raise UnknownName("order", order, [OWN, *ORDERS])
    chosen = None if order == OWN else order
    given, limit = _limits(entry, limits)
    return Contender(policy, entry, chosen, chosen or entry.order, given, limit)


def _limits(policy: Policy, limits: Limits) -> tuple[dict[str, Any], str]:
    """Return the limits of a policy that searches, and their text in a row."""
    given: dict[str, Any] = {}
    limit = ""
    if limits.iterations is not None and "max-schedules" in policy.options:
        given["stop"] = Stop(max_schedules=limits.iterations)
        limit = f"max_schedules {limits.iterations:g}"
    elif limits.time_limit_s is not None and "time-limit" in policy.options:
        given["stop"] = Stop(time_limit_s=limits.time_limit_s)
        limit = f"time_limit_s {limits.time_limit_s:g}"
    if "workers" in policy.options:  # one core per run, because other runs use the other cores
        given["workers"] = 1
    return given, limit


def tasks_of(
    scenarios: Sequence[Scenario | str | os.PathLike[str]],
    chosen: Sequence[str | CustomPolicy],
    orders: Sequence[str],
    *,
    seeds: int,
    first_seed: int,
    objective: str,
    limits: Limits,
    settings: Sequence[Setting] = (Setting(),),
    overrides: Sequence[str] = (),
) -> list[list[Task]]:
    """Return the runs of every setting by policy, scenario and seed, or raise if the request is invalid."""
    seed_range = range(first_seed, first_seed + integer(seeds, "seeds", minimum=1))
    choice(objective, "objective", OBJECTIVES)
    contenders = contenders_of(chosen, orders, limits)
    given = scenarios_of(scenarios, overrides)
    changed = [changed_by(given, contenders, setting) for setting in settings]
    return [
        [
            _task(contender, label, scenario, digest, setting, seed, objective)
            for contender in contenders
            for digest, (label, scenario) in ready.items()
            for seed in (seed_range if contender.seeded else [None])
        ]
        for setting, ready in zip(settings, changed, strict=True)
    ]


def _task(
    contender: Contender,
    label: str,
    scenario: Scenario,
    digest: str,
    setting: Setting,
    seed: int | None,
    objective: str,
) -> Task:
    row = ComparisonRow(
        scenario=label,
        scenario_sha256=digest,
        policy=contender.name,
        order=contender.order_name,
        objective=objective,
        limit=contender.limit,
        contention=scenario.contention.model_name,
        draw=setting.draw,
        seed=seed,
    )
    return Task(
        row=row,
        scenario=scenario,
        policy=contender.policy,
        order=contender.order,
        limits=contender.limits,
    )
