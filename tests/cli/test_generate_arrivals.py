"""`ringsched generate poisson` and `diurnal`, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.helpers import OLD_BYTES, run, sentence

import ringsched
from ringsched import Cluster, Time, Workload, generate
from ringsched.cli.generate import generate_command
from ringsched.workloads import offered_load

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"
KINDS = ["poisson", "diurnal"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", ["json", "toml"])
def test_scenario_in_a_file_plans_and_verifies(kind: str, suffix: str, tmp_path: Path) -> None:
    output, plan = tmp_path / f"scenario.{suffix}", tmp_path / "plan.json"
    result = run("generate", kind, "--jobs", 40, "-o", output)
    assert (result.exit_code, result.stderr) == (0, "")
    first, second, third = result.stdout.splitlines()
    assert first.endswith("on 64 servers with 512 GPUs")
    assert "load 0.8" in second
    assert third.startswith(f"scenario written to {output}")
    assert run("plan", output, "-o", plan).exit_code == 0
    assert run("verify", output, plan).exit_code == 0


@pytest.mark.parametrize("kind", KINDS)
def test_summary_as_json_and_none(kind: str, tmp_path: Path) -> None:
    output = tmp_path / "scenario.json"
    summary = json.loads(run("generate", kind, "--jobs", 40, "-o", output, "--json").stdout)
    scenario = ringsched.load_scenario(output)
    assert summary["scenario_sha256"] == scenario.sha256()
    assert summary["load"] == offered_load(scenario)
    quiet = run("generate", kind, "--jobs", 40, "-q")
    assert (quiet.stdout, quiet.stderr) == (output.read_text(encoding="utf-8"), "")


def test_options_reach_the_workload() -> None:
    options = (
        *(
            "--servers",
            6,
            "--gpus-per-server",
            4,
            "--racks",
            2,
            "--jobs",
            9,
            "--size-mix",
            "2",
            "--load",
            0.5,
        ),
        *("--model-mix", "vision", "--min-duration", "2h", "--max-duration", "3h", "--inter-server-gbps", 25),
        *("--rack-uplink-gbps", 50, "--slot", 60, "--seed", 8),
    )
    fields = {
        "jobs": 9,
        "sizes": "2",
        "models": "vision",
        "min_hours": 2,
        "max_hours": 3,
        "cluster": Cluster.of_servers(6, 4, switches=2, inter_server_gbps=25, switch_uplink_gbps=50),
        "time": Time(slot_s=60),
    }
    printed = json.loads(run("generate", "poisson", *options, "-q").stdout)
    assert ringsched.scenario_from_dict(printed) == generate(Workload.poisson(0.5, **fields), seed=8)
    printed = json.loads(run("generate", "diurnal", *options, "--swing", 0.3, "--peak-hour", 9, "-q").stdout)
    expected = generate(Workload.diurnal(0.5, 0.3, 9, **fields), seed=8)
    assert ringsched.scenario_from_dict(printed) == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["poisson", "--load", 0], "--load must be a number > 0 and <= 1e+06, not 0.0"),
        (["poisson", "--load", "nan"], "--load must be a number"),
        (["poisson", "--jobs", 0], "--jobs must be an integer >= 1, not 0"),
        (["poisson", "--servers", 1], "--size-mix asks for a job of 128 GPUs, but the cluster has 8"),
        (["poisson", "--slot", 0.01, "--jobs", 9], "--slot = 0.01 is shorter than an iteration"),
        (["diurnal", "--swing", 1.5], "--swing must be a number >= 0 and <= 1, not 1.5"),
        (["diurnal", "--peak-hour", 25], "--peak-hour must be a number >= 0 and <= 24, not 25.0"),
    ],
)
def test_wrong_input_writes_nothing(tmp_path: Path, arguments: list[object], said: str) -> None:
    output = tmp_path / "scenario.json"
    output.write_bytes(OLD_BYTES)
    assert said in sentence(run("generate", *arguments, "-o", output))
    assert output.read_bytes() == OLD_BYTES


@pytest.mark.parametrize("kind", KINDS)
def test_help_and_reference_name_every_option(kind: str) -> None:
    result = run("generate", kind, "--help")
    assert (result.exit_code, result.stderr) == (0, "")
    section = REFERENCE.read_text(encoding="utf-8").split("\n## `ringsched generate ")[1].split("\n## ")[0]
    common, *parts = section.split("\n### ")
    (own,) = [part for part in parts if part.startswith("`poisson`, `diurnal`")]
    for parameter in generate_command.commands[kind].params:
        for option in parameter.opts:
            assert option in result.stdout
            assert f"`{option}" in common + own
