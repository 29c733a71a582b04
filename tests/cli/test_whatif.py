"""`ringsched whatif`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.helpers import FULL, run, sentence, write_json

from ringsched import Cluster, Scenario
from ringsched.analysis.whatif.changes import LevelSpeed, LinkFactor
from ringsched.contention.network import network_of

FIRST = "examples/first.toml"
JOB = "gpus=12,iterations=20000,model=resnet50"


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whatif") / "plan.json"
    assert run("plan", FIRST, "--policy", "first-fit", "-o", path).exit_code == 0
    return path


def test_a_row_for_every_change() -> None:
    result = run(
        "whatif", FIRST, "--add-servers", "2", "--add-servers", "1x16", "--link-factor", 0.25,
        "--set", "inter_server_gbps=400", "--remove-server", "node-3",
        "--set", "contention={model='reserved', lanes=2}", "--set", "time.slot_s=30",
    )  # fmt: skip
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "11 jobs on 4 servers with 32 GPUs, variants planned by longest-first"
    assert re.split(r"\s{2,}", lines[3]) == ["as it is", "1 h 34 min", "1 h 8 min", "1 h 27 min", "8.1 %"]
    assert lines[4].startswith("2 more servers of 8 GPUs")
    assert "-23.4 %" in lines[4]
    labels = (
        "1 more server of 16 GPUs",
        "without server node-3",
        "links 0.25 times as fast",
        "server uplinks 400 Gbit/s, not 100",
        "contention model reserved, lanes 2",
        "time.slot_s = 30",
    )
    assert all(line.startswith(label) for line, label in zip(lines[5:11], labels, strict=True))
    assert any(line.startswith("vgg-sweep-1") and line.endswith("-58 min") for line in lines)


def test_together_is_one_row(plan_file: Path) -> None:
    result = run("whatif", FIRST, plan_file, "--add-servers", 2, "--link-factor", 2, "--together", "--json")
    content = json.loads(result.stdout)
    assert [variant["label"] for variant in content["variants"]] == [
        "2 more servers of 8 GPUs, links 2 times as fast"
    ]
    assert content["policy"] == content["present"]["policy"] == "first-fit"
    assert content["replanned"] is None
    change = content["variants"][0]["changes"][0]
    assert change["change_s"] == change["after_s"] - change["before_s"]


def test_a_job_in_words_and_in_json(plan_file: Path) -> None:
    said = run("whatif", FIRST, plan_file, "--add-job", JOB).stdout
    assert "new: 12 GPUs, 20000 iterations, at best 27 min; beside the plan of 11 jobs by first-fit" in said
    assert (
        "start it at 1 h 20 min on node-2:0-3 node-3:0-7, it ends at 1 h 53 min and delays 1 job by 4 min"
        in said
    )
    assert "it cannot start at once: too few GPUs are idle" in said
    content = json.loads(run("whatif", FIRST, plan_file, "--add-job", JOB, "--json").stdout)
    assert content["best"]["changes"] == [
        {"job": "inception", "before_s": 6720, "after_s": 6960, "change_s": 240}
    ]
    assert content["best"]["gpus"] == {"node-2": [0, 1, 2, 3], "node-3": list(range(8))}
    assert content["at_once"] is None
    assert content["harmless"]["total_delay_s"] == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("job.toml", 'gpus = 2\niterations = 100\nmodel = "resnet50"\n'),
        ("job.json", '{"jobs": [{"name": "mine", "gpus": 2, "iterations": 100, "model": "resnet50"}]}'),
        ("job.csv", "name,gpus,iterations,model\nmine,2,100,resnet50\n"),
    ],
)
def test_a_job_in_a_file(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    result = run("whatif", FIRST, "--add-job", path)
    assert result.exit_code == 0
    assert result.stdout.startswith(("new: 2 GPUs, 100 iter", "mine: 2 GPUs, 100 iter"))
    assert "waiting would be no better" in result.stdout


def test_waiting_is_weighed(tmp_path: Path) -> None:
    """Beside a job that spans both servers, waiting for a whole one is better; also in the unit tests."""
    job = {
        "gpus": 2,
        "iterations": 10,
        "gradient_mb": 1000,
        "minibatch": 1,
        "forward_ms": 290,
        "backward_ms": 600,
    }
    content = {
        "time": {"model": "continuous"},
        "cluster": {
            "inter_server_gbps": 8,
            "intra_server_gbps": 80,
            "reduce_gbps": 400,
            "servers": [{"gpus": 2, "count": 2}],
        },
        "jobs": [{"name": "a", **job, "running_on": {"s0": [0], "s1": [0]}}],
    }
    result = run("whatif", write_json(tmp_path, content), "--add-job", write_json(tmp_path, job, "b.json"))
    lines = result.stdout.splitlines()
    assert lines[1] == "start it at 19 s on s0:0-1, it ends at 29 s and delays no job"
    assert lines[2] == "waiting is better: at once it would cost 10 s more, see below"
    assert next(line for line in lines if line.startswith("at once")).split()[2:8] == [
        "0",
        "s",
        "29",
        "s",
        "10",
        "s",
    ]


def test_every_feature_at_once(tmp_path: Path) -> None:
    job = "gpus=6,iterations=400,gradient_mb=40,minibatch=2,forward_ms=5,backward_ms=20"
    result = run("whatif", write_json(tmp_path, FULL), "--add-job", job, "--policy", "random")
    assert result.exit_code == 0
    assert "\nre-planned by random: it ends at " in result.stdout
    result = run(
        "whatif", tmp_path / "queue.json", "--add-servers", 1, "--link-factor", 3, "--policy", "sjf-bco"
    )
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ([], "nothing to ask: give --add-job"),
        (["--add-job", JOB, "--link-factor", 2], "--add-job cannot be combined with other changes"),
        (
            ["--add-servers", "four"],
            "--add-servers must be a number, or a number and GPUs such as 4x8, not 'four'",
        ),
        (["--add-servers", "0"], "--add-servers must be an integer >= 1, not 0"),
        (["--add-servers", "1x9999999"], "--add-servers must be at most 1000000"),
        (["--remove-server", "node-11"], "unknown server 'node-11' (did you mean 'node-1'?)"),
        (["--link-factor", "-1"], "--link-factor must be a number > 0, not -1"),
        (["--link-factor", "nan"], "--link-factor must be a number > 0"),
        (
            ["--set", "inter_server_gbps=0"],
            "--set inter_server_gbps=0: inter_server_gbps must be a number > 0",
        ),
        (["--set", "contention.shar=1"], "unknown key 'contention.shar' (did you mean 'contention.share'?)"),
        (["--set", "share"], "--set share: must be written as KEY=VALUE, such as contention.share=0.5, not"),
        (["--set", "contention.share=2"], "contention share 2: share must be a number > 0 and <= 1"),
        (["--link-factor", 2, "--policy", "best"], "unknown policy 'best'"),
        (["--link-factor", 2, "--time-limit", 1], "--time-limit is not allowed with policy 'longest-first'"),
        (["--link-factor", 2, "--seed", -1], "--seed must be an integer >= 0"),
        (["--add-job", "x"], "--add-job: must be written as gpus=8,iterations=20000,..."),
        (["--add-job", "gpus=8,gpus=9"], "--add-job: states gpus twice"),
        (["--add-job", "gpus=8"], "--add-job: the job 'new': iterations is missing"),
        (["--add-job", "gpu=8,iterations=1"], "unknown key 'gpu' (did you mean 'gpus'?)"),
        (["--add-job", "gpus=2.5,iterations=1,model=vgg16"], "gpus must be an integer >= 1, not 2.5"),
        (
            ["--add-job", "gpus=33,iterations=1,model=vgg16"],
            "the new job 'new': gpus = 33 is more than the 32 GPUs",
        ),
        (["--add-job", "name=lstm,gpus=3,iterations=1,model=vgg16"], "duplicates the job name 'lstm'"),
        (["--add-job", "no.toml"], "no.toml: there is no such file"),
        (["--add-job", FIRST], "unknown key 'time'"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(options: list[object], complaint: str) -> None:
    assert complaint in sentence(run("whatif", FIRST, *options))


def test_wrong_plans_are_refused_in_one_sentence(plan_file: Path, tmp_path: Path) -> None:
    scenario = write_json(tmp_path, FULL)
    for question in (["--link-factor", 2], ["--add-job", "gpus=1,iterations=9,model=vgg16"]):
        assert f"{plan_file}: the plan was made for another" in sentence(
            run("whatif", scenario, plan_file, *question)
        )
        plan = json.loads(plan_file.read_text(encoding="utf-8")) | {"policy": "mine"}
        other = write_json(tmp_path, plan, "mine.json")
        assert "--policy must be given, such as longest-first: the plan was made by 'mine'" in sentence(
            run("whatif", FIRST, other, *question)
        )
        plan["jobs"][3]["start_s"] += 60
        late = write_json(tmp_path, plan | {"policy": "first-fit"}, "late.json")
        assert "late.json: job 'vgg-sweep-2' does not run" in sentence(run("whatif", FIRST, late, *question))


def test_two_jobs_are_one_too_many(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("name,gpus,iterations,model\na,2,100,resnet50\nb,2,100,resnet50\n", encoding="utf-8")
    assert "jobs.csv: must hold one job, not 2" in sentence(run("whatif", FIRST, "--add-job", path))


def test_a_plan_by_a_policy_that_cannot_plan_anew_asks_for_one_that_can(tmp_path: Path) -> None:
    path = tmp_path / "simulated.json"
    assert run("simulate", FIRST, "--policy", "rolling", "--max-schedules", 10, "-o", path).exit_code == 0
    said = sentence(run("whatif", FIRST, path, "--link-factor", 2))
    assert said == (
        "Error: --policy must be given, such as longest-first: the plan was made by 'rolling', "
        "which cannot re-plan"
    )
    result = run("whatif", FIRST, path, "--link-factor", 2, "--policy", "longest-first")
    assert "as it is, re-planned" in result.stdout


@pytest.mark.parametrize("question", [("--link-factor", "2"), ("--add-job", JOB)])
@pytest.mark.parametrize("field", ["makespan_s", "mean_completion_s"])
def test_nothing_is_compared_with_totals_that_are_not_true(
    plan_file: Path, tmp_path: Path, field: str, question: tuple[str, str]
) -> None:
    plan = json.loads(plan_file.read_text(encoding="utf-8")) | {field: 1e300}
    said = sentence(run("whatif", FIRST, write_json(tmp_path, plan, "wrong.json"), *question))
    assert said.endswith(
        f"wrong.json: plan: {field} does not follow from the plan's jobs; "
        "`ringsched verify` lists the violations"
    )


def test_links_of_one_level(tmp_path: Path) -> None:
    file = tmp_path / "deep.json"
    deep = ("--levels", "2:2:2", "--oversubscription", "1:4", "--inter-server-gbps", 10)
    assert run("generate", "uniform", "--jobs", 6, "--size-mix", "16", *deep, "-o", file).exit_code == 0
    result = run(
        "whatif", file, "--link-factor", "2@0", "--link-factor", "2@2", "--link-gbps", "40@2", "--json"
    )
    labels = [variant["label"] for variant in json.loads(result.stdout)["variants"]]
    assert labels == [
        "server links 2 times as fast",
        "level-2 links 2 times as fast",
        "40 Gbit/s level-2 links, not 10",
    ]
    levels = "0 (servers), 1 (level-1 switches) and 2 (level-2 switches)"
    for option, said in {
        (
            "--link-factor",
            "2@3",
        ): f"level-3 links 2 times as fast: there are no such links, only those of level {levels}",
        ("--link-factor", "2@x"): "--link-factor must be a number, or with a level such as 2@1, not '2@x'",
        ("--link-gbps", "40"): "--link-gbps must be a speed and a level such as 400@1, not '40'",
        ("--link-gbps", "-1@0"): "--link-gbps must be a number > 0, not -1",
    }.items():
        assert said in sentence(run("whatif", file, *option)), option


@pytest.mark.parametrize("level", [None, 0, 1, 2])
def test_a_factor_and_a_speed_change_only_their_level(level: int | None) -> None:
    cluster = Cluster.of_levels((2, 2, 2), inter_server_gbps=10)
    own = cluster.servers[0].replace(uplink_gbps=40.0)
    scenario = Scenario(cluster=cluster.replace(servers=(own, *cluster.servers[1:])), jobs=())
    before, after = (
        network_of(each.cluster).uplink_gbps
        for each in (scenario, LinkFactor(factor=3.0, level=level).apply(scenario))
    )
    levels = [0] * 8 + [1] * 4 + [2] * 2 + [3]
    for speed, new, at in zip(before, after, levels, strict=True):
        assert new == (3 * speed if level in (None, at) else speed)
    if level is not None:
        after = network_of(LevelSpeed(gbps=7.0, level=level).apply(scenario).cluster).uplink_gbps
        for speed, new, at in zip(before, after, levels, strict=True):
            assert new == (7.0 if level == at else speed)
