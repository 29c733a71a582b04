"""Whatever a file holds, the command line ends with 0, 1 or 2 and never with a traceback."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.cli.helpers import FULL, plan_of, run, write_json
from tests.cli.mutations import CSV_JOBS, POLICY_OPTIONS, SCENARIOS, TOML, spoiled, spoiled_text, stretched

from ringsched.errors import InputError
from ringsched.formats.scenario import load_scenario

MOST_GPUS = 2_000  # a cluster that fuzzing made larger than this is left out: it would only take long

FEW = settings(max_examples=250, suppress_health_check=list(HealthCheck))
MANY = settings(FEW, max_examples=5_000, derandomize=False, print_blob=True)

# A scenario file's name and bytes, and the bytes of its jobs file.
Files = tuple[str, bytes, bytes]


@st.composite
def scenario_files(draw: st.DrawFn) -> Files:
    """A scenario in TOML or JSON, perhaps with a CSV file, of which one is spoiled."""
    kind = draw(
        st.sampled_from(
            ["numbers", "numbers", "numbers", "json", "json", "json-text", "toml-text", "csv-text"]
        )
    )
    content = draw(st.sampled_from(SCENARIOS))
    if kind in ("numbers", "json"):
        changed = draw(stretched(content) if kind == "numbers" else spoiled(content))
        return "queue.json", json.dumps(changed).encode(), CSV_JOBS.encode()
    if kind == "json-text":
        return "queue.json", draw(spoiled_text(json.dumps(content, indent=1))), CSV_JOBS.encode()
    if kind == "toml-text":
        return "queue.toml", draw(spoiled_text(TOML)), b""
    return "queue.json", json.dumps(SCENARIOS[2]).encode(), draw(spoiled_text(CSV_JOBS))


def survives_plan(files: Files, options: tuple[str, ...]) -> None:
    name, scenario_bytes, jobs_bytes = files
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        scenario, output = folder / name, folder / "plan.json"
        scenario.write_bytes(scenario_bytes)
        (folder / "jobs.csv").write_bytes(jobs_bytes)
        if is_large(scenario):
            return
        result = run("plan", scenario, *options, "-o", output)
        event(f"plan ends with {result.exit_code}")
        assert result.exit_code in (0, 1, 2)
        assert output.exists() == (result.exit_code == 0)
        if result.exit_code == 0:
            assert result.stderr == ""
            verdict = run("verify", scenario, output)
            assert (verdict.exit_code, verdict.stderr) == (0, ""), verdict.output
        else:
            assert result.stdout == ""
            assert len(result.stderr.splitlines()) == 1
            assert result.stderr.startswith("Error: ")


def is_large(scenario: Path) -> bool:
    try:
        return sum(server.gpus for server in load_scenario(scenario).cluster.servers) > MOST_GPUS
    except InputError:
        return False


def survives_verify(scenario: Path, plan_bytes: bytes) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        plan_file = Path(temporary) / "plan.json"
        plan_file.write_bytes(plan_bytes)
        result = run("verify", scenario, plan_file)
        event(f"verify ends with {result.exit_code}")
        assert result.exit_code in (0, 1, 2)
        if result.exit_code == 2:
            assert result.stdout == ""
            assert len(result.stderr.splitlines()) == 1
            assert result.stderr.startswith("Error: ")
        else:
            assert result.stderr == ""
            assert run("verify", scenario, plan_file, "--json").exit_code == result.exit_code


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, dict[str, Any]]]:
    """Scenarios and their plans, slotted and continuous."""
    folder = tmp_path_factory.mktemp("planned")
    (folder / "queue.toml").write_text(TOML)
    scenarios = [write_json(folder, FULL), folder / "queue.toml"]
    return [(scenario, plan_of(scenario, "--policy", "sjf-bco")) for scenario in scenarios]


PLANS = given(files=scenario_files(), options=st.sampled_from(POLICY_OPTIONS))
VERDICTS = given(data=st.data(), at=st.integers(0, 1), kind=st.sampled_from(["numbers", "json", "text"]))


def spoiled_plan(data: st.DataObject, plan: dict[str, Any], kind: str) -> bytes:
    if kind == "text":
        return data.draw(spoiled_text(json.dumps(plan, indent=1)))
    return json.dumps(data.draw(stretched(plan) if kind == "numbers" else spoiled(plan))).encode()


@PLANS
@FEW
def test_plan_survives_any_scenario(files: Files, options: tuple[str, ...]) -> None:
    survives_plan(files, options)


@VERDICTS
@FEW
def test_verify_survives_any_plan(
    planned: list[tuple[Path, dict[str, Any]]], data: st.DataObject, at: int, kind: str
) -> None:
    scenario, plan = planned[at]
    survives_verify(scenario, spoiled_plan(data, plan, kind))


@pytest.mark.slow
@PLANS
@MANY
def test_plan_survives_many_scenarios(files: Files, options: tuple[str, ...]) -> None:
    survives_plan(files, options)


@pytest.mark.slow
@VERDICTS
@MANY
def test_verify_survives_many_plans(
    planned: list[tuple[Path, dict[str, Any]]], data: st.DataObject, at: int, kind: str
) -> None:
    scenario, plan = planned[at]
    survives_verify(scenario, spoiled_plan(data, plan, kind))
