"""What is asked of each scenario: every policy, with settings that go round from scenario to scenario."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.frozen import adapter
from tests.frozen.scenarios import Content, scenario_content

import ringsched

SCENARIO, PLAN, SIMULATION, BOUNDS, EXPLANATION, WHAT_IF = (
    "scenario",
    "plan",
    "simulation",
    "bounds",
    "explanation",
    "what-if",
)
EVERY_WHAT_IF = 8  # one scenario in so many
EVERY_REFUSAL = 60  # settings that a policy refuses are asked for in one scenario in so many

Settings = dict[str, Any]


def texts_of(number: int, *, without: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """Yield the name of every case of a scenario and what the library says.

    Names say what is asked, with which policy and settings. Cases whose policy is among `without` are left
    out, and so are proofs that take too long.
    """
    content = scenario_content(number)
    yield SCENARIO, adapter.answer(lambda: adapter.scenario_text(content))
    try:
        scenario = adapter.load(content)
    except ringsched.RingschedError:
        return
    plans: list[tuple[str, ringsched.Plan]] = []
    for policy, settings in _plans(number, content):
        if policy not in without:
            yield from _planned(scenario, policy, settings, plans)
    for policy, settings in _simulations(number, content):
        yield from _simulated(number, scenario, policy, settings, plans)
    for objective in adapter.OBJECTIVES:
        yield (
            f"{BOUNDS} {objective}",
            adapter.answer(lambda objective=objective: adapter.bounds_text(scenario, objective)),
        )
    yield from _explained(number, scenario, plans)
    yield from _what_if(number, scenario)


def _planned(
    scenario: ringsched.Scenario,
    policy: str,
    settings: Settings,
    plans: list[tuple[str, ringsched.Plan]],
) -> Iterator[tuple[str, str]]:
    name = _name(PLAN, policy, settings)

    def ask() -> str:
        plan = adapter.plan(scenario, policy, settings)
        if policy != "exact":  # what is explained must not depend on what is left out
            plans.append((name, plan))
        return adapter.plan_text(plan)

    try:
        yield name, adapter.answer(ask)
    except adapter.TooLong:
        return


def _simulated(
    number: int,
    scenario: ringsched.Scenario,
    policy: str,
    settings: Settings,
    plans: list[tuple[str, ringsched.Plan]],
) -> Iterator[tuple[str, str]]:
    name = _name(SIMULATION, policy, settings)

    def ask() -> str:
        simulation = adapter.simulate(scenario, policy, settings)
        if adapter.ONLINE_POLICIES.index(policy) == number % len(adapter.ONLINE_POLICIES):
            plans.append((name, simulation.plan()))
        return adapter.simulation_text(simulation)

    yield name, adapter.answer(ask)


def _explained(
    number: int, scenario: ringsched.Scenario, plans: list[tuple[str, ringsched.Plan]]
) -> Iterator[tuple[str, str]]:
    """Yield the explanations of two plans and of what a simulation came to."""
    if not plans:
        return
    chosen = dict((plans[number % len(plans)], plans[(number + 4) % len(plans)], plans[-1]))
    for name, plan in chosen.items():
        yield (
            f"{EXPLANATION} of {name}",
            adapter.answer(lambda plan=plan: adapter.explanation_text(scenario, plan)),
        )


def _what_if(number: int, scenario: ringsched.Scenario) -> Iterator[tuple[str, str]]:
    turn = number // EVERY_WHAT_IF
    settings: Settings = {
        "policy": ("longest-first", "first-fit", "sjf-bco", "search", "free-links")[(turn + turn // 5) % 5],
        "objective": adapter.OBJECTIVES[turn % 3],
    }
    if settings["policy"] == "search":
        settings |= {"iterations": 40, "seed": turn}
    if number % EVERY_WHAT_IF == 0:
        name = _name(f"{WHAT_IF} other clusters", settings["policy"], settings)
        yield name, adapter.answer(lambda: adapter.variants_text(scenario, settings))
    elif number % EVERY_WHAT_IF == EVERY_WHAT_IF // 2:
        job = {
            "name": "one more",
            "gpus": 1 + turn % min(4, scenario.cluster.capacity),
            "iterations": 150,
            "gradient_mb": 20.5,
            "minibatch": 2,
            "forward_ms": 1.5,
            "backward_ms": 12.25,
            "submit_s": 0.0 if turn % 2 else 3.5,
        }
        name = _name(f"{WHAT_IF} one more job", settings["policy"], settings)
        yield name, adapter.answer(lambda: adapter.new_job_text(scenario, job, settings))


def _plans(number: int, content: Content) -> Iterator[tuple[str, Settings]]:
    """Yield every policy once, and some again in another order or with settings of their own."""
    orderly = [policy for policy in adapter.POLICIES if policy not in ("search", "exact")]
    for at, policy in enumerate(adapter.POLICIES):
        settings: Settings = {"objective": _objective(number + at)}
        if policy == "search":
            settings = {"objective": adapter.OBJECTIVES[number % 3], "seed": number % 4}
            settings |= {"iterations": (24, 60, 150)[number % 7 % 3], "threads": 2 if number % 10 == 0 else 1}
        if policy == "random":
            settings["seed"] = number % 4
        if policy == "exact" and not _is_for_exact(number, content):
            continue
        yield policy, settings
    yield (
        orderly[number % len(orderly)],
        {
            "objective": _objective(number),
            "order": adapter.ORDERS[number // len(orderly) % len(adapter.ORDERS)],
        },
    )
    yield _special_plan(number)
    if number % EVERY_REFUSAL == 0:
        yield "search", {"order": "fifo", "iterations": 40}
        yield "first-fit", {"kappa": 2}


def _objective(turn: int) -> str:
    """Return the makespan, more often than not: where nobody searches for it, it only decides the bound."""
    return adapter.OBJECTIVES[(0, 1, 0, 0, 2, 0)[turn % 6]]


def _special_plan(number: int) -> tuple[str, Settings]:
    """Return a policy with something fixed that it would choose itself."""
    turn = number // 6
    return (
        ("sjf-bco", {"kappa": 1 + turn % 4}),
        ("sjf-bco", {"slack": (1.0, 1.5, 3.0)[turn % 3]}),
        ("sjf-bco", {"theta": (5, 40, 400)[turn % 3]}),
        ("first-fit", {"theta": (5, 40, 400)[turn % 3]}),
        ("lwf", {"kappa": 1 + turn % 4}),
        ("search", {"iterations": 60, "seed": 5, "gap": 1.2, "objective": adapter.OBJECTIVES[turn % 3]}),
    )[number % 6]


def _is_for_exact(number: int, content: Content) -> bool:
    """Whether a proof is near, or far beyond what is tried at all."""
    num_jobs, num_servers = len(content["jobs"]), len(content["cluster"]["servers"])
    return (num_jobs <= 4 and num_servers <= 3) or (num_jobs >= 10 and number % 4 == 0)


def _simulations(number: int, content: Content) -> Iterator[tuple[str, Settings]]:
    """Yield two policies of three, with and without backfilling in turn."""
    for at, policy in enumerate(adapter.ONLINE_POLICIES):
        turn = number + at
        if turn % 3 == 2:
            continue
        options = adapter.OPTIONS_ONLINE[policy]
        settings: Settings = {"backfill": ("none", "easy")[turn // 3 % 2]}
        error = (0.0, 0.0, 0.5, 3.0)[number // 2 % 4]
        if error:
            settings |= {"estimate_error": error, "seed": number % 5}
        if "order" in options and turn % 4 == 0:
            settings["order"] = adapter.ORDERS[turn // 4 % len(adapter.ORDERS)]
        if "replan-every" in options and turn % 4 == 0:
            settings["every_s"] = 7.5 * content["time"].get("slot_s", 1.0)
        if "max-schedules" in options:
            settings["iterations"] = (16, 40)[turn % 2]
        if turn % 7 == 0:
            settings["objective"] = adapter.OBJECTIVES[turn // 7 % 3]
        yield policy, settings


def _name(what: str, policy: str, settings: Settings) -> str:
    chosen = [f"{key}={value}" for key, value in settings.items() if key != "policy"]
    return " ".join([what, policy, *chosen])
