"""Which runs a comparison is made of; everything the user asked for is checked here."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ringsched.analysis.contenders import Contender, contenders_of
from ringsched.analysis.given import changed_by, scenarios_of
from ringsched.analysis.runs import ComparisonRow, Task
from ringsched.analysis.settings import Setting
from ringsched.model import OBJECTIVES, Scenario
from ringsched.model.checks import choice, integer
from ringsched.policies.custom import CustomPolicy
from ringsched.policies.policy import Limits


def tasks_of(
    scenarios: Sequence[Scenario | str | os.PathLike[str]],
    policies: Sequence[str | CustomPolicy],
    orders: Sequence[str],
    *,
    seeds: int,
    first_seed: int,
    objective: str,
    limits: Limits,
    settings: Sequence[Setting] = (Setting(),),
) -> list[list[Task]]:
    """Return the runs of every setting by policy, scenario and seed, or say what is wrong in the question."""
    seed_range = range(first_seed, first_seed + integer(seeds, "seeds", minimum=1))
    choice(objective, "objective", OBJECTIVES)
    contenders = contenders_of(policies, orders, limits)
    given = scenarios_of(scenarios)
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
