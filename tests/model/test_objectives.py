"""Objectives: what they are worth, and what becomes of them in plans, files and verdicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import OBJECTIVES, InputError, Scenario
from ringsched.engine.problem import objective_value, problem_of
from ringsched.model import Bound
from ringsched.model.objective import ALL


def two_jobs(**changes: object) -> Scenario:
    """One GPU: a takes 2 slots, b comes at 0.5 s, enters at slot 1, takes 3."""
    first, second = job("a", iterations=20), job("b", iterations=30, submit_s=0.5, weight=3)
    return scenario(cluster(1), first, second, **changes)  # type: ignore[arg-type]


def test_values_by_hand() -> None:
    problem = problem_of(two_jobs())
    values = {objective.name: objective_value(problem, [2, 5], objective) for objective in ALL}
    assert values == {
        "makespan": 5,
        "mean-completion": (2 + 4.5) / 2,
        "weighted-completion": (2 + 3 * 4.5) / 4,
        "max-slowdown": 4.5 / 3,
    }


def test_without_jobs_every_objective_is_0_and_the_gap_1() -> None:
    for name in OBJECTIVES:
        plan = ringsched.plan(scenario(cluster(1)), objective=name)
        assert (plan.objective_s, plan.lower_bound_s, plan.gap, plan.bounds) == (0, 0, 1, ())
        assert ringsched.verify(scenario(cluster(1)), plan).valid


def test_weights_too_large_to_be_added_up() -> None:
    jobs = [job(name, iterations=10, weight=1e308) for name in "ab"]
    plan = ringsched.plan(scenario(cluster(1), *jobs), objective="weighted-completion")
    assert plan.weighted_completion_s == 1.5
    assert ringsched.verify(scenario(cluster(1), *jobs), plan).valid


def test_best_cases_bound_by_hand() -> None:
    """Alone a would end at 2 and b at 1 + 3."""
    bounds = {bound.name: bound for bound in ringsched.lower_bounds(two_jobs(), "weighted-completion")}
    assert bounds["best-cases"].value_s == (2 + 3 * 3.5) / 4


def test_due_work_by_hand() -> None:
    """With slowdowns below 1.5, three jobs of 1 s must end before 1.5 s: too early for 2 GPUs."""
    jobs = [job(name, iterations=10) for name in "abc"] + [job("d", iterations=100)]
    instance = scenario(cluster(2), *jobs, time={"model": "continuous"})
    bounds = {bound.name: bound for bound in ringsched.lower_bounds(instance, "max-slowdown")}
    assert bounds["best-cases"].value_s == pytest.approx(1)
    assert bounds["due-work"].value_s == pytest.approx(1.5)
    assert bounds["due-work"].terms["until_s"] == pytest.approx(1.5)
    plan = ringsched.plan(instance, "exact", objective="max-slowdown")
    assert plan.max_slowdown == pytest.approx(2)


def test_running_jobs_count_from_0_with_what_is_left_of_them() -> None:
    running = job("a", iterations=40, done_iterations=20, running_on={"s0": [0]})
    instance = scenario(cluster(1), running, job("b", iterations=10), time={"model": "continuous"})
    plan = ringsched.plan(instance, objective="max-slowdown")
    assert plan.max_slowdown == pytest.approx(3)  # 1 s after the 2 s that are left
    assert plan.lower_bound_s == pytest.approx(3)


@pytest.mark.parametrize("terms", [{"from_s": 0.1}, {"until_s": 1.4}, {"until_s": 0.0}, {"until_s": "x"}])
def test_another_window_of_due_work_is_a_violation(terms: dict[str, float | str]) -> None:
    jobs = [job(name, iterations=10) for name in "abc"]
    instance = scenario(cluster(2), *jobs, time={"model": "continuous"})
    plan = ringsched.plan(instance, objective="max-slowdown")
    assert ringsched.verify(instance, plan).valid
    changed = tuple(
        bound if bound.name != "due-work" else replace(bound, terms={**bound.terms, **terms})
        for bound in plan.bounds
    )
    found = ringsched.verify(instance, plan.replace(bounds=changed)).violations
    assert "bounds" in {violation.constraint for violation in found}


def test_a_wrong_slowdown_is_a_violation() -> None:
    problem = two_jobs()
    plan = ringsched.plan(problem)
    assert plan.max_slowdown is not None
    wrong = plan.replace(max_slowdown=plan.max_slowdown * 1.001)
    assert {violation.constraint for violation in ringsched.verify(problem, wrong).violations} == {
        "max-slowdown"
    }
    assert ringsched.verify(problem, plan.replace(max_slowdown=None)).valid  # as older plans are


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("model", ["slotted", "continuous"])
def test_bound_and_gap_are_those_of_the_objective(objective: str, model: str, tmp_path: Path) -> None:
    problem = two_jobs(time={"model": model})
    plan = ringsched.plan(problem, objective=objective)
    assert plan.objective == objective
    assert plan.lower_bound_s == ringsched.lower_bounds(problem, objective)[0].value_s
    assert plan.gap == max(1.0, plan.objective_s / plan.lower_bound_s)
    assert ringsched.verify(problem, plan).violations == ()
    ringsched.save_plan(plan, tmp_path / "plan.json")
    assert ringsched.load_plan(tmp_path / "plan.json") == plan


def test_a_plan_states_the_weighted_mean_if_weights_differ_or_if_asked_for() -> None:
    alike = scenario(cluster(1), job("a"), job("b"))
    assert ringsched.plan(two_jobs()).weighted_completion_s is not None
    assert ringsched.plan(alike).weighted_completion_s is None
    plan = ringsched.plan(alike, objective="weighted-completion")
    assert plan.weighted_completion_s == plan.mean_completion_s


def test_an_unknown_objective_is_refused() -> None:
    with pytest.raises(InputError, match="objective must be one of makespan,"):
        ringsched.plan(two_jobs(), objective="makespann")
    with pytest.raises(InputError, match="did you mean"):
        ringsched.lower_bounds(two_jobs(), objective="makespann")


def test_the_gap_of_another_objective_is_a_violation() -> None:
    problem = two_jobs()
    plan = ringsched.plan(problem, objective="mean-completion")
    other = plan.replace(objective="weighted-completion")
    assert {violation.constraint for violation in ringsched.verify(problem, other).violations} == {
        *("bounds", "lower-bound", "gap"),
    }


PRICED = {"from_s": 0, "until_s": 4, "first_price": 0.5, "exponent": 1, "steps": 2}


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        (PRICED | {"first_price": -1}, "needs a term first_price above 0"),
        (PRICED | {"steps": 0}, "needs a term steps from 1 to"),
        ({"from_s": 0}, "needs a term steps from 1 to"),
        (PRICED | {"until_s": 0}, "needs a term until_s above 0"),
        (PRICED | {"from_s": 5}, "needs a term until_s after from_s"),
        (PRICED, "bound 'priced-gpus' is 9 in the plan, but"),
    ],
)
def test_prices_that_are_none_are_named(terms: dict[str, float], words: str) -> None:
    problem = two_jobs()
    plan = ringsched.plan(problem, objective="mean-completion")
    wrong = tuple(bound for bound in plan.bounds if bound.name != "priced-gpus")
    stated = plan.replace(bounds=(*wrong, Bound(name="priced-gpus", value_s=9, terms=terms)))
    found = ringsched.verify(problem, stated).violations
    assert [words in violation.message for violation in found if violation.constraint == "bounds"] == [True]


def test_prices_by_hand() -> None:
    """One GPU, 0.5 a slot until 2 and 0.25 until 4: 1.5 in all. The means count each job a half.

    a (2 slots): from 0 at 1 + 1, from 2 at 2 + 0.5, so 2. b (3 slots, from 1): at 2 + 0.5 + 0.5 from 1, at
    2.5 + 0.5 from 2: 3. In all 5 - 1.5, less the submit time of b, a half of 0.5.
    """
    problem = two_jobs()
    plan = ringsched.plan(problem, objective="mean-completion")
    bounds = [bound for bound in plan.bounds if bound.name != "priced-gpus"]
    stated = plan.replace(bounds=(*bounds, Bound(name="priced-gpus", value_s=3.25, terms=PRICED)))
    assert all(
        violation.constraint in ("lower-bound", "gap")
        for violation in ringsched.verify(problem, stated).violations
    )
