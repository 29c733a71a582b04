"""Bugs of the command line and of file reading, each once met and mended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.helpers import DELETE, FULL, JOB, edited, plan_of, refused, run, sentence, write_json


@pytest.mark.parametrize("policy", ["sjf-bco", "first-fit", "random"])
def test_estimate_beyond_all_counting_overflowed(tmp_path: Path, policy: str) -> None:
    scenario = write_json(tmp_path, edited({("jobs", 3, "estimate_s"): 1.7e308}))
    said = refused(tmp_path, scenario, "--policy", policy)
    assert said.endswith("jobs[3] 'known': estimate_s = 1.7e+308 is too long to be counted exactly")


@pytest.mark.parametrize("model", ["slotted", "continuous"])
def test_compute_time_that_rounds_to_nothing_divided_by_zero(tmp_path: Path, model: str) -> None:
    job = {**JOB, "gpus": 1, "forward_ms": 0, "backward_ms": 5e-324}
    scenario = write_json(tmp_path, edited({("jobs",): [job], ("time", "model"): model}))
    assert "jobs[0] 'first': forward_ms must not be 0 together with backward_ms" in refused(
        tmp_path, scenario
    )


def test_output_through_a_link_to_itself_ended_in_a_traceback(tmp_path: Path) -> None:
    output = tmp_path / "plan.json"
    output.symlink_to(output)
    said = sentence(run("plan", write_json(tmp_path, FULL), "-o", output))
    assert said.endswith("plan.json: cannot be written: too many levels of symbolic links")


def test_output_with_a_long_name_ended_in_a_traceback(tmp_path: Path) -> None:
    said = sentence(run("plan", write_json(tmp_path, FULL), "-o", tmp_path / ("x" * 300)))
    assert said.endswith("cannot be written: file name too long")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_output_onto_a_full_device_ended_in_a_traceback(tmp_path: Path) -> None:
    said = sentence(run("plan", write_json(tmp_path, FULL), "-o", "/dev/full"))
    assert said == "Error: /dev/full: cannot be written: no space left on device"


def test_emoji_code_in_a_name_was_printed_as_a_picture(tmp_path: Path) -> None:
    printed = run("plan", write_json(tmp_path, edited({("jobs",): [{**JOB, "name": ":cat:"}]}))).stdout
    assert ":cat:" in printed


def test_null_was_taken_for_absent_in_some_fields(tmp_path: Path) -> None:
    for path in [("jobs", 0, "estimate_s"), ("cluster", "servers", 1, "rack"), ("contention", "share")]:
        said = refused(tmp_path, write_json(tmp_path, edited({path: None})))
        assert f"{path[-1]} must not be null" in said


def test_speed_out_of_range_did_not_say_that_it_stands_in_the_cluster(tmp_path: Path) -> None:
    said = refused(tmp_path, write_json(tmp_path, edited({("cluster", "reduce_gbps"): 0})))
    assert "queue.json: cluster: reduce_gbps must be" in said


def test_duplicate_server_was_placed_by_its_position_after_expansion(tmp_path: Path) -> None:
    servers = [{"name": "a", "gpus": 1, "count": 5}, {"name": "a-4", "gpus": 1}]
    edits: dict[Any, Any] = {("cluster", "servers"): servers, ("cluster", "racks"): DELETE, ("jobs",): []}
    said = refused(tmp_path, write_json(tmp_path, edited(edits)))
    assert said.endswith("cluster.servers[1]: name duplicates the server name 'a-4' of cluster.servers[0]")


def test_unprintable_rack_broke_the_sentence_in_two(tmp_path: Path) -> None:
    rack = {"uplink_gbps": 1.0, "speed": 2}
    said = refused(tmp_path, write_json(tmp_path, edited({("cluster", "racks", "a\nb"): rack})))
    assert r"cluster.racks.'a\nb': unknown key 'speed'" in said


def test_sentence_listed_every_server_of_a_large_cluster(tmp_path: Path) -> None:
    edits: dict[Any, Any] = {
        ("cluster", "servers", 0, "count"): 2000,
        ("jobs", 1, "running_on"): {"nowhere": [0, 1]},
    }
    said = refused(tmp_path, write_json(tmp_path, edited(edits)))
    assert said.endswith("a-10, a-11 and 1990 more")


def test_plan_was_written_over_the_jobs_file(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("name,gpus,iterations,model\na,1,9,vgg16\n")
    scenario = write_json(tmp_path, edited({("jobs",): DELETE, ("jobs_file",): "jobs.csv"}))
    before = jobs.read_bytes()
    assert "jobs.csv: plans are written as JSON" in sentence(run("plan", scenario, "-o", jobs))
    assert jobs.read_bytes() == before


def test_key_twice_in_a_cell_was_taken_as_the_last(tmp_path: Path) -> None:
    cell = '"{""b"": [0], ""b"": [1]}"'
    (tmp_path / "jobs.csv").write_text(f"name,gpus,iterations,model,running_on\na,1,9,vgg16,{cell}\n")
    said = refused(tmp_path, write_json(tmp_path, edited({("jobs",): DELETE, ("jobs_file",): "jobs.csv"})))
    assert "jobs.csv: line 2 'a': running_on must map server names" in said


def test_help_showed_a_stray_backslash() -> None:
    assert "\\b" not in run("--help").stdout


def test_bound_with_a_name_that_is_no_text_was_valid(tmp_path: Path) -> None:
    scenario = write_json(tmp_path, FULL)
    plan = write_json(tmp_path, edited({("bounds", 0, "name"): 3}, plan_of(scenario)), "plan.json")
    assert "bounds[0]: name must be a string, not 3" in sentence(run("verify", scenario, plan))


def test_slack_beyond_all_servers_warned_of_an_overflow(tmp_path: Path) -> None:
    """It means all servers, like any other that is too large."""
    plans = [
        plan_of(write_json(tmp_path, edited({("jobs", 2, "server_slack"): slack})), "--policy", "sjf-bco")
        for slack in (1e9, 1.7e308)
    ]
    assert plans[0]["jobs"] == plans[1]["jobs"]
