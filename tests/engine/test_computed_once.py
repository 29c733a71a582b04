"""A plan or a simulation builds its problem once, and each of the bounds it states once."""

from __future__ import annotations

import ast
import pickle
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests import planning
from tests.scenarios import cluster, job, scenario

import ringsched
import ringsched.api  # both now, so that they are there to be counted in
import ringsched.online.simulation
from ringsched import simulate
from ringsched.bounds import lower_bound
from ringsched.engine import problem as engine_problem
from ringsched.model.objective import OBJECTIVES

CASE = scenario(
    cluster(2, 2),
    *(job(f"j{at}", gpus, 40, gradient_mb=20, submit_s=at) for at, gpus in enumerate((1, 2, 3, 1))),
)
SOURCE = Path(ringsched.__file__).parent


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the problems that are built, and the times that bounds are computed for an objective."""
    counted: Counter[str] = Counter()

    def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            counted[name] += 1
            return function(*arguments, **options)

        return call

    original = engine_problem.problem_of
    counting_problem = counting("problem_of", original)
    for module in [module for name, module in sys.modules.items() if name.startswith("ringsched.")]:
        if getattr(module, "problem_of", None) is original:
            monkeypatch.setattr(module, "problem_of", counting_problem)
    compute = {
        objective: (counting(f"bounds on {objective.name}", first), *others)
        for objective, (first, *others) in lower_bound.ALL_OF.items()
    }
    monkeypatch.setattr(lower_bound, "ALL_OF", compute)
    return counted


@pytest.mark.parametrize(
    ("policy", "objective", "options", "bounds"),
    [
        ("sjf-bco", "makespan", {}, {"makespan"}),
        ("sjf-bco", "mean-completion", {}, {"makespan", "mean-completion"}),  # one for the certificate
        ("longest-first", "weighted-completion", {}, {"weighted-completion"}),
        ("search", "makespan", {"iterations": 40, "threads": 1}, {"makespan"}),
        ("search", "mean-completion", {"iterations": 40, "threads": 1}, {"makespan", "mean-completion"}),
    ],
)
def test_a_plan(
    calls: Counter[str], policy: str, objective: str, options: dict[str, Any], bounds: set[str]
) -> None:
    better: list[ringsched.Plan] = []
    planning.plan(CASE.replace(), policy, objective=objective, on_better=better.append, **options)
    assert calls["problem_of"] == 1
    found = {name: number for name, number in calls.items() if name.startswith("bounds")}
    assert set(found) <= {f"bounds on {name}" for name in bounds}
    assert set(found.values()) == {1}


@pytest.mark.parametrize("policy", ["fifo", "sjf-bco"])
def test_a_simulation(calls: Counter[str], policy: str) -> None:
    simulation = simulate(CASE.replace(), policy)
    simulation.plan()
    simulation.plan()
    assert calls == {"problem_of": 1, "bounds on makespan": 1}


def test_all_plans_of_a_scenario(calls: Counter[str]) -> None:
    case = CASE.replace()
    first, again = (ringsched.plan(case, "longest-first") for _ in range(2))
    assert calls["bounds on makespan"] == 1
    assert first.bounds == again.bounds == ringsched.plan(CASE.replace(), "longest-first").bounds
    assert calls["bounds on makespan"] == 2  # a copy keeps nothing


def test_what_a_scenario_keeps_is_not_sent_to_other_processes() -> None:
    case = CASE.replace()
    before = len(pickle.dumps(case))
    ringsched.plan(case, "longest-first")
    assert case.derived
    assert len(pickle.dumps(case)) == before
    assert pickle.loads(pickle.dumps(case)) == case


def test_only_the_objective_itself_and_the_verifier_compare_its_name() -> None:
    objects = {"MAKESPAN", "MEAN_COMPLETION", "WEIGHTED_COMPLETION", "MAX_SLOWDOWN", "OBJECTIVES"}
    places = []
    for path in SOURCE.rglob("*.py"):
        if path in (SOURCE / "model" / "objective.py", SOURCE / "verify" / "bounds.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
                texts = {
                    each.value
                    for each in ast.walk(node)
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                }
                if names & objects or texts & {*OBJECTIVES}:
                    places.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert places == []
