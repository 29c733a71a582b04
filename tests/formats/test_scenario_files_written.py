"""Scenarios written to files are read back the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.helpers import FULL
from tests.strategies import scenarios

from ringsched import InputError, Job, Scenario, load_scenario, save_scenario, scenario_from_dict
from ringsched.formats.scenario_text import scenario_to_json


@pytest.mark.parametrize("name", ["full.json", "full.toml"])
def test_a_scenario_with_every_feature(name: str, tmp_path: Path) -> None:
    scenario = scenario_from_dict(FULL)
    save_scenario(scenario, tmp_path / name)
    assert load_scenario(tmp_path / name) == scenario
    jobs_file = tmp_path / "full.jobs.csv"
    assert jobs_file.exists() == name.endswith(".toml")


@pytest.mark.parametrize("name", ["none.json", "none.toml"])
def test_a_scenario_without_jobs(name: str, tmp_path: Path) -> None:
    scenario = scenario_from_dict(FULL).replace(jobs=())
    save_scenario(scenario, tmp_path / name)
    assert load_scenario(tmp_path / name) == scenario


@settings(max_examples=50)
@given(scenario=scenarios())
def test_any_scenario(scenario: Scenario, tmp_path_factory) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name in ("any.json", "any.toml"):
        save_scenario(scenario, folder / name)
        assert load_scenario(folder / name) == scenario
    assert (folder / "any.json").read_text(encoding="utf-8") == scenario_to_json(scenario)
    assert json.loads(scenario_to_json(scenario)) == json.loads(json.dumps(scenario.expanded()))


NUMBERS = st.sampled_from([0.0, -0.0, 0.5, 1.0, 1, 7, 1e300, 5e-324, -1.0, True, "2", None])
UNBOUNDED = st.sampled_from([float("inf"), float("nan")])
INTEGERS = st.sampled_from([0, 1, 8, 2**53, 2**53 + 1, 10**7, True, 1.0, "1", None])
NAMES = st.sampled_from(["a", "", "  ", "a\n", "ä b", 7, None])
USUAL = {
    "name": "usual",
    "gpus": 2,
    "iterations": 100,
    "minibatch": 4,
    "gradient_mb": 9.5,
    "forward_ms": 1.5,
    "backward_ms": 7.0,
    "submit_s": 3.0,
}
CHANGES = {
    "name": NAMES,
    **dict.fromkeys(["gpus", "iterations", "minibatch", "done_iterations"], INTEGERS),
    **dict.fromkeys(["gradient_mb", "forward_ms", "backward_ms", "submit_s"], NUMBERS | UNBOUNDED),
    **dict.fromkeys(["weight", "server_slack", "estimate_s"], NUMBERS | UNBOUNDED),
}


@given(changes=st.sets(st.sampled_from(sorted(CHANGES)), max_size=2), data=st.data())
def test_the_glance_at_a_job_never_differs_from_the_close_look(
    changes: set[str], data: st.DataObject
) -> None:
    fields: Any = USUAL | {name: data.draw(CHANGES[name], name) for name in sorted(changes)}

    def made() -> object:
        try:
            return repr(Job(**fields))
        except InputError as error:
            return str(error)

    at_a_glance = made()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Job, "_is_usual", lambda _: False)
        assert made() == at_a_glance
