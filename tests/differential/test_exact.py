"""The branch and bound against trying everything."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from tests.effort import examples
from tests.reference.exhaustive import best_value
from tests.tiny import tiny_scenarios

from ringsched import Scenario
from ringsched.engine.problem import problem_of
from ringsched.engine.state import Run
from ringsched.model.objective import ALL
from ringsched.policies.exact import solve_exact
from ringsched.policies.policy import ANY_ORDER, Settings
from ringsched.search.exact.prove import Rounds


@given(tiny_scenarios(max_jobs=3, max_servers=3, max_iterations=5, model="slotted"))
@examples(40)
def test_nothing_is_better_than_the_exact_plan(scenario: Scenario) -> None:
    problem = problem_of(scenario)
    weights = [job.weight for job in scenario.jobs]
    last_slot = round(problem.origin + max(problem.release) + sum(problem.worst_case))
    for objective, own in zip(ALL, ([], [1.0] * len(weights), weights), strict=True):
        found = solve_exact(problem, Settings(order=ANY_ORDER, objective=objective))
        assert found.params["proof"] == "optimal"
        finishes = found.run.finishes
        value = sum(w * f for w, f in zip(own, finishes, strict=True)) if own else max(finishes)
        best = best_value(scenario, own, last_slot) - problem.origin * (sum(own) if own else 1)
        assert value == pytest.approx(best, rel=1e-12), objective
        rounds = Rounds(problem, own, Run((), [math.inf] * problem.num_jobs, ()))
        for piece in (0.0, 3.0, 1.0):
            assert rounds.bound <= best * (1 + 1e-9)
            assert rounds.explore(piece, lambda: True)
        assert rounds.value == pytest.approx(best, rel=1e-12), objective
