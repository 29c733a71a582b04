"""`ringsched check`, `ringsched example` and `ringsched models`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.helpers import FULL, edited, run, sentence, write_json

from ringsched.analysis.check import check
from ringsched.formats.catalogue import CATALOGUE
from ringsched.formats.examples import example_names
from ringsched.formats.scenario import load_scenario

FIRST = "examples/first.toml"
MIXED_UP = {"name": "a", "gpus": 4, "iterations": 10}


def test_what_was_understood() -> None:
    said = run("check", FIRST).stdout
    assert "servers     4 (4 with 8 GPUs): 32 GPUs" in said
    assert "links       4 uplinks of a server, 100 Gbit/s" in said
    assert "Warning: bert-pretrain: 12 GPUs do not fit one server" in said


def test_times_are_those_of_the_formula() -> None:
    """Eq. (8) by hand: lstm has 2 GPUs, so it exchanges m and reduces m/2."""
    content = json.loads(run("check", FIRST, "--json").stdout)
    kind = next(kind for kind in content["kinds"] if kind["jobs"] == ["lstm"])
    compute_s, gbit, servers_s = 0.079, 251.8 * 8e-3, 0.2e-3
    assert kind["alone_s"] == pytest.approx(compute_s + gbit / 200 + gbit / 2 / 400 + servers_s)
    assert kind["spread_s"] == pytest.approx(compute_s + gbit / 100 + gbit / 2 / 400 + 2 * servers_s)
    assert kind["exchange_share"] == pytest.approx(1 - compute_s / kind["spread_s"])
    assert kind["num_servers"] == 2
    assert kind["hidden_share"] == 0


def test_hidden_share_is_that_of_the_formula(tmp_path: Path) -> None:
    """(1 - 1/n) min(b, X) of X is hidden: with 4 buckets 3/4 of a short exchange, less of a long one."""
    job = {"name": "a", "gpus": 2, "iterations": 10, "minibatch": 1, "forward_ms": 10, "buckets": 4}
    jobs = [{**job, "name": f"b-{ms}", "gradient_mb": 250, "backward_ms": ms} for ms in (1000, 100)]
    path = write_json(tmp_path, edited({("jobs",): jobs, ("time",): {"model": "continuous"}}))
    first, second = json.loads(run("check", path, "--json").stdout)["kinds"]
    communication_s = 250 * 8e-3 / 10 + 250 * 4e-3 / 400 + 2 * 0.2e-3
    assert first["hidden_share"] == pytest.approx(0.75)
    assert second["hidden_share"] == pytest.approx(0.75 * 0.1 / communication_s)
    assert first["spread_s"] == pytest.approx(1.01 + communication_s / 4)
    assert "75 %" in run("check", path).stdout


def test_a_job_without_communication_hides_nothing(tmp_path: Path) -> None:
    job = {"name": "a", "gpus": 1, "iterations": 9, "parameters_m": 9, "iteration_ms": 50, "bucket_mib": 1}
    path = write_json(tmp_path, edited({("jobs",): [job], ("contention",): {}}))
    assert json.loads(run("check", path, "--json").stdout)["kinds"][0]["hidden_share"] == 0


def test_levels_and_oversubscription(tmp_path: Path) -> None:
    content = json.loads(run("check", write_json(tmp_path, FULL), "--json").stdout)
    assert [
        (link["level"], link["count"], link["uplink_gbps"], link["oversubscription"])
        for link in content["links"]
    ] == [
        (0, 3, 10.0, None),
        (0, 1, 25.0, None),
        (1, 1, 20.0, 1.25),
        (1, 1, 40.0, 0.5),
    ]


@pytest.mark.parametrize(
    ("edits", "warning"),
    [
        ({("jobs", 0, "forward_ms"): 50.0, ("jobs", 0, "minibatch"): 16}, "forward_ms is per sample"),
        ({("jobs", 0, "forward_ms"): 2.0, ("jobs", 0, "minibatch"): 64}, "multiply the other"),
        ({("jobs", 0, "forward_ms"): 0.001, ("jobs", 0, "minibatch"): 64}, "neither is scaled twice"),
        ({("jobs", 0, "forward_ms"): 0.01, ("jobs", 0, "backward_ms"): 0.02}, "multiply seconds by 1000"),
        ({("jobs", 0): MIXED_UP | {"iteration_ms": 0.35, "parameters_m": 304}}, "multiply seconds by 1000"),
        ({("jobs", 0): MIXED_UP | {"iteration_ms": 350, "gradient_mb": 1.2e9}}, "not in bytes"),
        ({("jobs", 0): MIXED_UP | {"iteration_ms": 350, "parameters_m": 3.04e8}}, "parameters_m in millions"),
        (
            {("jobs", 0): MIXED_UP | {"name": "bert-large-7", "iteration_ms": 350, "gradient_mb": 340}},
            "write parameters_m = 340 instead",
        ),
        ({("jobs", 0, "gradient_mb"): 40_000.0, ("time", "slot_s"): 500.0}, "is exchange; check gradient_mb"),
        (
            {("cluster", "intra_server_gbps"): 1.0, ("time", "slot_s"): 100.0},
            "links inside servers are usually faster",
        ),
        (
            {("cluster", "racks", "r1", "uplink_gbps"): 0.5, ("time", "slot_s"): 100.0},
            "40 times as much; check uplink_gbps",
        ),
        ({("contention", "degradation"): 1.5}, "lose more than its whole speed"),
        ({("jobs", 0, "backward_ms"): 600.0}, "a slot holds fewer than 2 iterations"),
        ({("jobs", 2, "gpus"): 1, ("jobs", 3, "gpus"): 1}, "are idle in every plan"),
    ],
)
def test_warnings(tmp_path: Path, edits: Any, warning: str) -> None:
    path = write_json(tmp_path, edited(edits))
    result = run("check", path, *(["--set", "time.model=continuous"] if ("jobs", 0) in edits else []))
    assert result.exit_code == 0, result.stderr
    assert any(warning in line for line in result.stdout.splitlines() if line.startswith("Warning: "))
    if "is exchange" not in warning:
        assert not any(warning in each for each in check(load_scenario("examples/one-link.toml")).warnings)


def test_wrong_input_is_refused(tmp_path: Path) -> None:
    assert "gpus must be an integer" in sentence(
        run("check", write_json(tmp_path, edited({("jobs", 0, "gpus"): 0})))
    )


def test_an_overridden_scenario_can_be_written(tmp_path: Path) -> None:
    output, plan = tmp_path / "faster.toml", tmp_path / "plan.json"
    override = ("--set", "inter_server_gbps=400")
    assert run("check", FIRST, *override, "-o", output).exit_code == 0
    assert load_scenario(output).sha256() == load_scenario(FIRST, ["inter_server_gbps=400"]).sha256()
    assert run("plan", FIRST, *override, "--policy", "fifo", "-o", plan).exit_code == 0
    assert run("verify", output, plan).exit_code == 0
    assert run("verify", FIRST, plan).exit_code == 1


def test_examples_are_listed_printed_and_written(tmp_path: Path) -> None:
    listed = run("example").stdout
    assert all(name in listed for name in example_names())
    assert run("example", "first").stdout == Path(FIRST).read_text(encoding="utf-8")
    output = tmp_path / "mine.toml"
    assert f"written to {output}" in run("example", "delay", "-o", output).stdout
    assert load_scenario(output).name == "delay"
    assert "unknown example 'frist' (did you mean 'first'?)" in sentence(run("example", "frist"))
    assert "must end in .toml" in sentence(run("example", "first", "-o", tmp_path / "mine.json"))
    assert "--output is only allowed with the NAME" in sentence(run("example", "-o", output))


def test_examples_are_in_the_wheel() -> None:
    import tomllib

    build = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    included = build["targets"]["wheel"]["force-include"]
    assert included == {
        f"examples/{name}.toml": f"ringsched/examples/{name}.toml" for name in example_names()
    }


def test_models_are_the_catalogue() -> None:
    listed = json.loads(run("models", "--json").stdout)
    assert [model["name"] for model in listed] == list(CATALOGUE)
    assert listed[0]["forward_ms"] == CATALOGUE["resnet50"].fields()["forward_ms"]
    assert "bert-base" in run("models").stdout
