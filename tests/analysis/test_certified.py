"""Certified gaps: no policy beats the bound, not even one that knows the future."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.crowds import crowd
from tests.effort import examples
from tests.strategies import arriving

import ringsched
from ringsched import Scenario
from ringsched.analysis import certified
from ringsched.analysis.certified import certified_gaps
from ringsched.cli.main import ringsched as command


@examples(60)
@given(arriving(), st.sampled_from(["shortest-first", "free-links", "first-fit"]))
def test_no_simulation_is_below_its_bound_and_the_verifier_agrees(case: Scenario, policy: str) -> None:
    simulation = ringsched.simulate(case, policy, estimate_error=1.0)
    for each in certified_gaps(simulation):
        plan = simulation.plan(each.objective)
        assert each.bound_s <= each.value_s * (1 + 1e-9)
        assert (plan.lower_bound_s, plan.gap) == (each.bound_s, each.gap)
        assert ringsched.verify(case, plan).valid


def test_a_clairvoyant_search_is_not_below_the_bound() -> None:
    case = crowd(7)
    simulation = ringsched.simulate(case, "fifo")
    bounds = {each.objective: each.bound_s for each in certified_gaps(simulation)}
    for objective, bound_s in bounds.items():
        stop = ringsched.Stop(max_schedules=200)
        plan = ringsched.plan(case, "search", objective=objective, stop=stop)
        assert plan.objective_s >= bound_s * (1 - 1e-9)


def test_for_many_jobs_only_quick_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = ringsched.simulate(crowd(7), "fifo")
    whole = certified_gaps(simulation)
    monkeypatch.setattr(certified, "MANY_JOBS", 0)
    again = ringsched.simulate(crowd(7), "fifo")
    quick = certified_gaps(again)
    assert not again.problem.bounds  # the slow ones were not computed
    assert [each.objective for each in quick] == [each.objective for each in whole]
    assert all(few.bound_s <= many.bound_s for few, many in zip(quick, whole, strict=True))


def test_the_command_prints_the_same_numbers(tmp_path: Path) -> None:
    path = tmp_path / "scenario.json"
    case = crowd(7)
    ringsched.save_scenario(case, path)
    printed = CliRunner().invoke(command, ["simulate", str(path), "--json"])
    found = json.loads(printed.stdout)["simulation"]["certified"]
    for each in certified_gaps(ringsched.simulate(case)):
        assert found[each.objective]["bound_s"] == each.bound_s
        assert found[each.objective]["gap"] == each.gap
    text = CliRunner().invoke(command, ["simulate", str(path)]).stdout
    assert "lower bound" in text
    assert "longest wait" in text
    assert "(1 GPU)" in text
    assert "GPUs)" in text
    assert "2 GPU)" not in text
