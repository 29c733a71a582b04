"""No bound is above the best of all plans of a tiny scenario, and some are as high as that."""

from __future__ import annotations

from random import Random

import pytest
from tests.brute_force import best_values, tiny_scenario

import ringsched
from ringsched import OBJECTIVES, Contention, InputError, Scenario


@pytest.mark.parametrize("seed", range(40))
def test_no_bound_is_above_the_best_plan(seed: int) -> None:
    hold(tiny_scenario(Random(seed)))


@pytest.mark.parametrize("model", ["max-min", "phases"])
@pytest.mark.parametrize("seed", range(3))
def test_no_bound_is_above_the_best_plan_of_a_fair_model(seed: int, model: str) -> None:
    generator = Random(seed)
    while True:  # of jobs that move in every slot
        try:
            scenario = tiny_scenario(generator).replace(contention=Contention(model=model))
            ringsched.lower_bounds(scenario)
        except InputError:
            continue
        hold(scenario)
        return


def hold(scenario: Scenario) -> None:
    best = best_values(scenario)
    for objective in OBJECTIVES:
        for bound in ringsched.lower_bounds(scenario, objective):
            assert bound.value_s <= best[objective] * (1 + 1e-9), (objective, bound)
