"""No bound is above the best plan of a tiny scenario that policy `exact` finds, and the verifier agrees."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from tests.effort import examples
from tests.tiny import needs_compiler, tiny_scenarios

import ringsched
from ringsched import Scenario
from ringsched.model.objective import ALL

TINY = tiny_scenarios(max_jobs=4, max_servers=3, max_iterations=20)
NUM_SCENARIOS = 1000


def hold(instance: Scenario) -> None:
    for objective in ALL:
        try:
            plan = ringsched.plan(
                instance, "exact", objective=objective.name, stop=ringsched.Stop(time_limit_s=5)
            )
        except ringsched.TooLarge as too_large:  # without a proof its best plan is a plan all the same
            assert too_large.best_s is None or too_large.lower_bound_s <= too_large.best_s * (1 + 1e-9)
            continue
        best_s = getattr(plan, objective.field)
        for bound in plan.bounds:
            assert bound.value_s <= best_s * (1 + 1e-9), (objective.name, bound)
        assert ringsched.verify(instance, plan).violations == ()


@needs_compiler
@given(TINY)
@examples(25)
def test_no_bound_is_above_the_proved_optimum(instance: Scenario) -> None:
    hold(instance)


@pytest.mark.slow
@needs_compiler
@given(TINY)
@settings(max_examples=NUM_SCENARIOS, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_bound_is_above_the_optimum_of_a_thousand_scenarios(instance: Scenario) -> None:
    hold(instance)
