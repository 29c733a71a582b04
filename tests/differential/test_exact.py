"""The branch and bound against trying everything."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from tests.effort import examples
from tests.reference.exhaustive import best_value
from tests.tiny import tiny_scenarios

from ringsched import Scenario
from ringsched.engine.problem import objective_value, problem_of
from ringsched.engine.state import Run
from ringsched.model.objective import ALL, MAX_SLOWDOWN
from ringsched.policies.exact import solve_exact
from ringsched.policies.policy import ANY_ORDER, Settings
from ringsched.search.exact.measure import Measure
from ringsched.search.exact.prove import Rounds


@given(tiny_scenarios(max_jobs=3, max_servers=3, max_iterations=5, model="slotted"))
@examples(40)
def test_nothing_is_better_than_the_exact_plan(scenario: Scenario) -> None:
    problem = problem_of(scenario)
    weights = [job.weight for job in scenario.jobs]
    ones, zeros = [1.0] * len(weights), [0.0] * len(weights)
    last_slot = round(problem.origin + max(problem.release) + sum(problem.worst_case))
    for objective, own in zip(ALL[:3], ([], ones, weights), strict=True):
        found = solve_exact(problem, Settings(order=ANY_ORDER, objective=objective))
        assert found.params["proof"] == "optimal"
        finishes = found.run.finishes
        value = sum(w * f for w, f in zip(own, finishes, strict=True)) if own else max(finishes)
        best = best_value(scenario, own, last_slot) - problem.origin * (sum(own) if own else 1)
        assert value == pytest.approx(best, rel=1e-12), objective
        measure = Measure(weights=own, since=zeros, paces=ones, is_last_finish=not own)
        rounds = Rounds(problem, measure, Run((), [math.inf] * problem.num_jobs, ()))
        for piece in (0.0, 3.0, 1.0):
            assert rounds.bound <= best * (1 + 1e-9)
            assert rounds.explore(piece, lambda: True)
        assert rounds.value == pytest.approx(best, rel=1e-12), objective


@given(tiny_scenarios(max_jobs=3, max_servers=3, max_iterations=5, model="slotted"))
@examples(40)
def test_no_largest_slowdown_is_better_than_the_exact_one(scenario: Scenario) -> None:
    problem = problem_of(scenario)
    last_slot = round(problem.origin + max(problem.release) + sum(problem.worst_case))

    def slowdown(job: int, slot: int) -> float:
        slot_s = scenario.time.slot_s
        return (slot * slot_s - scenario.jobs[job].submit_s) / (problem.best_case[job] * slot_s)

    found = solve_exact(problem, Settings(order=ANY_ORDER, objective=MAX_SLOWDOWN))
    assert found.params["proof"] == "optimal"
    best = best_value(scenario, [], last_slot, slowdown)
    assert objective_value(problem, found.run.finishes, MAX_SLOWDOWN) == pytest.approx(best, rel=1e-9)
