"""`ringsched explain`."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from tests.cli.helpers import FULL, edited, run, sentence, write_json
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Server

FIRST = "examples/first.toml"


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "plan.json"
    assert run("plan", FIRST, "--policy", "first-fit", "-o", path).exit_code == 0
    return path


def test_tables_name_victims_links_and_culprits(plan_file: Path) -> None:
    result = run("explain", FIRST, plan_file)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("11 jobs, policy first-fit: they run for 8 h 31 min in all, 1 h 16 min more")
    worst = next(line for line in lines if line.startswith("vgg-sweep-1"))
    times = ["0 s", "1 h 10 min", "35 min 45 s", "9 min 25 s", "23 min 51 s", "59 s"]
    assert re.split(r"\s{2,}", worst) == ["vgg-sweep-1", *times, "gpt2-finetune"]
    assert any(line.startswith("node-1 ") and "█" in line for line in lines)
    assert any(line.startswith("gpt2-finetune") and "42 min" in line for line in lines)


def test_one_job_in_words(plan_file: Path) -> None:
    said = run("explain", FIRST, plan_file, "--job", "vgg-sweep-1").stdout
    assert "without gpt2-finetune it would end at 46 min, 24 min sooner" in said
    assert "starts when it is submitted" in said
    said = run("explain", FIRST, plan_file, "--job", "resnet-a").stdout
    assert "waits 1 h 7 min, from 0 s to 1 h 7 min, until bert-pretrain left its GPUs" in said
    assert "none: it crosses no link" in said
    said = run("explain", FIRST, plan_file, "--job", "gpt2-finetune").stdout
    assert "without bert-pretrain it would end no sooner" in said
    said = run("explain", FIRST, plan_file, "--job", "bert-pretrain").stdout
    assert "+ spreading           0 s   0.0 %  none: no place is faster" in said


@pytest.mark.parametrize(
    ("held_back", "said", "gain_s"),
    [
        # All have 0.5 Gbit/s but the victim, which has the rest of 10 Gbit/s; without wide 1 Gbit/s.
        (("s1",), "without wide it would end no sooner\n", None),
        (
            ("s1", "s2"),
            "without wide it would end at 17 min 42 s, 1 min 2 s later: others would take more",
            -62.5,
        ),
    ],
)
def test_on_fair_links_one_may_lose_without_the_worst_culprit(
    tmp_path: Path, held_back: tuple[str, ...], said: str, gain_s: float | None
) -> None:
    exchange = {"gradient_mb": 1250, "backward_ms": 1e-6}
    gbps = {"s0": 10.0, "s1": 1.0, "s2": 1.0, "s3": 10.0}
    wide = {"s0": [0]} | {server: [0] for server in held_back}
    setting = scenario(
        cluster(
            servers=tuple(Server(name=name, gpus=4, uplink_gbps=speed) for name, speed in gbps.items()),
            reduce_gbps=1e15,
        ),
        job("wide", len(wide), 1000, running_on=wide, **exchange),
        job("victim", 2, 850, running_on={"s0": [1], "s3": [0]}, **exchange),
        *(
            job(f"on-{server}", 2, 1000, running_on={"s0": [2 + at], server: [1]}, **exchange)
            for at, server in enumerate(held_back)
        ),
        contention={"model": "max-min"},
        time={"model": "continuous"},
    )
    scenario_file, plan_file = tmp_path / "scenario.json", tmp_path / "plan.json"
    ringsched.save_scenario(setting, scenario_file)
    assert run("plan", scenario_file, "--policy", "longest-first", "-o", plan_file).exit_code == 0
    assert said in run("explain", scenario_file, plan_file, "--job", "victim").stdout
    one = json.loads(run("explain", scenario_file, plan_file, "--job", "victim", "--json").stdout)
    gains = {gain["job"]: gain["gain_s"] for gain in one["without_worst_culprit"]["gains"]}
    assert gains.get("victim") == (None if gain_s is None else pytest.approx(gain_s))
    assert "a job may end later without it; the sum counts this as negative" in run(
        "explain", scenario_file, plan_file
    ).stdout.replace("\n", " ")


def test_json_adds_up(plan_file: Path) -> None:
    content = json.loads(run("explain", FIRST, plan_file, "--json").stdout)
    for account in content["jobs"]:
        parts = [account[f"{part}_s"] for part in ("best_case", "spreading", "contention", "rounding")]
        assert math.fsum(parts) == account["duration_s"]
    lost = sum(blame["seconds"] for blame in content["attributions"])
    assert lost == pytest.approx(sum(link["contention_s"] for link in content["links"]))
    one = json.loads(run("explain", FIRST, plan_file, "--job", "vgg-sweep-1", "--json").stdout)
    assert one["job"] == next(each for each in content["jobs"] if each["name"] == "vgg-sweep-1")
    assert one["without_worst_culprit"]["gains"][0] == {
        "job": "vgg-sweep-1",
        "finish_s": 2760,
        "gain_s": 1440,
    }
    assert {blame["victim"] for blame in one["attributions"]} == {"vgg-sweep-1"}


def test_every_feature_at_once_and_nothing_at_all(tmp_path: Path) -> None:
    for name, content in (("full", FULL), ("empty", edited({("jobs",): []}))):
        scenario, plan = write_json(tmp_path, content, f"{name}.json"), tmp_path / f"{name}-plan.json"
        assert run("plan", scenario, "--policy", "list-scheduling", "-o", plan).exit_code == 0
        result = run("explain", scenario, plan)
        assert result.exit_code == 0
        assert run("explain", scenario, plan, "--json").exit_code == 0
        assert result.stdout.startswith(f"{len(content['jobs'])} jobs, policy list-scheduling")
    said = run("explain", tmp_path / "full.json", tmp_path / "full-plan.json", "--job", "running").stdout
    assert "runs already, with 70 iterations left at time 0" in said
    early = edited({("cluster", "servers", 0, "count"): 9})
    scenario, plan = write_json(tmp_path, early, "early.json"), tmp_path / "early-plan.json"
    assert run("plan", scenario, "--policy", "longest-first", "-o", plan).exit_code == 0
    said = run("explain", scenario, plan, "--job", "late").stdout
    assert "waits 0.5 s, from 3.5 s to 4 s, for the next slot to begin" in said


def test_wrong_input_is_refused_in_one_sentence(plan_file: Path, tmp_path: Path) -> None:
    said = sentence(run("explain", FIRST, plan_file, "--job", "vgg-sweep1"))
    assert "--job names the unknown job 'vgg-sweep1' (did you mean 'vgg-sweep-1'?)" in said
    said = sentence(run("explain", "examples/delay.toml", plan_file))
    assert said.startswith(f"Error: {plan_file}: the plan was made for another scenario, or ")
    assert "is a scenario, not a plan" in sentence(run("explain", FIRST, write_json(tmp_path, FULL)))
    plan = json.loads(plan_file.read_text(encoding="utf-8"))
    plan["jobs"][0]["finish_s"] += 60
    said = sentence(run("explain", FIRST, write_json(tmp_path, plan, "late.json")))
    assert "late.json: job 'bert-pretrain' does not run as the plan states" in said
    slow = write_json(tmp_path, edited({("time", "slot_s"): 0.001}), "slow.json")
    assert "slow.json: jobs[0] 'first': an iteration" in sentence(run("explain", slow, plan_file))


def test_one_job_and_none_are_told_as_such(tmp_path: Path) -> None:
    for jobs, said in (
        ([], "0 jobs, policy longest-first: there is nothing to explain"),
        ([FULL["jobs"][0]], "1 job, policy longest-first: it runs for "),
    ):
        scenario_file = write_json(tmp_path, edited({("jobs",): jobs}))
        plan_file = tmp_path / "plan.json"
        assert run("plan", scenario_file, "--policy", "longest-first", "-o", plan_file).exit_code == 0
        assert run("explain", scenario_file, plan_file).stdout.startswith(said)


def test_a_name_stands_in_the_line_of_its_figures(tmp_path: Path) -> None:
    """Where the culprit's name takes two lines, the victim's stood in the second, figures in the first."""
    scenario = ringsched.load_scenario(FIRST)
    jobs = tuple(job.replace(name=job.name.replace("gpt2", "g" * 60)) for job in scenario.jobs)
    scenario_file, plan_file = tmp_path / "scenario.json", tmp_path / "plan.json"
    ringsched.save_scenario(scenario.replace(jobs=jobs), scenario_file)
    assert run("plan", scenario_file, "--policy", "first-fit", "-o", plan_file).exit_code == 0
    lines = run("explain", scenario_file, plan_file).stdout.splitlines()
    row = next(line for line in lines if line.startswith("vgg-sweep-1"))
    assert row.startswith("vgg-sweep-1")
    assert "1 h 10 min" in row
    assert row.split()[-1].startswith("ggg")
