"""`ringsched generate`, as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.helpers import OLD_BYTES, run, run_process, sentence, users_environment

import ringsched
from ringsched import Cluster, Time, Workload, generate
from ringsched.cli.generate import generate_command
from ringsched.formatting import duration
from ringsched.workloads import contention_share

SMALL = ("uniform", "--servers", 4, "--jobs", 12, "--size-mix", "1:3,4")
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"


def test_scenario_on_stdout_and_summary_on_stderr() -> None:
    result = run("generate", "paper")
    assert result.exit_code == 0
    scenario = ringsched.scenario_from_dict(json.loads(result.stdout))
    assert scenario == generate(Workload.paper())
    first, share, bound = result.stderr.splitlines()
    gpus = sum(job.gpus for job in scenario.jobs)
    assert first == f"160 jobs that ask for {gpus} GPUs, on 20 servers with {scenario.cluster.capacity} GPUs"
    reached = contention_share(scenario)
    assert share == f"contention share  {reached:.3f} of the jobs' time under list-scheduling"
    assert bound == f"lower bound       {duration(ringsched.lower_bounds(scenario)[0].value_s)}"


@pytest.mark.parametrize("kind", [("paper", "--servers", 12, "--seed", 3), SMALL], ids=["paper", "uniform"])
def test_scenario_in_a_file_plans_and_verifies(tmp_path: Path, kind: tuple[object, ...]) -> None:
    scenario, plan = tmp_path / "scenario.json", tmp_path / "plan.json"
    result = run("generate", *kind, "-o", scenario)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1] == f"scenario written to {scenario}"
    assert scenario.read_text(encoding="utf-8") == run("generate", *kind, "--quiet").stdout
    assert run("plan", scenario, "--max-schedules", 500, "-o", plan).exit_code == 0
    assert run("verify", scenario, plan).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.json", "scenario.json"]


@pytest.mark.parametrize("kind", [("paper", "--servers", 12), SMALL], ids=["paper", "uniform"])
def test_toml_has_the_same_scenario(tmp_path: Path, kind: tuple[object, ...]) -> None:
    output = tmp_path / "scenario.toml"
    written = run("generate", *kind, "-o", output).stdout.splitlines()[-1]
    assert written == f"scenario written to {output}, its jobs to {tmp_path / 'scenario.jobs.csv'}"
    printed = json.loads(run("generate", *kind, "-q").stdout)
    assert ringsched.load_scenario(output) == ringsched.scenario_from_dict(printed)


def test_summary_as_json(tmp_path: Path) -> None:
    output = tmp_path / "scenario.json"
    summary = json.loads(run("generate", *SMALL, "-o", output, "--json").stdout)
    scenario = ringsched.load_scenario(output)
    assert summary == {
        "name": "uniform, seed 0",
        "scenario_sha256": scenario.sha256(),
        "num_jobs": 12,
        "job_gpus": 21,
        "num_servers": 4,
        "server_gpus": 32,
        "contention_share": contention_share(scenario),
        "lower_bound_s": ringsched.lower_bounds(scenario)[0].value_s,
        "output": str(output),
    }
    printed = run("generate", *SMALL, "--json")
    del summary["output"]
    assert json.loads(printed.stderr) == summary
    assert printed.stdout == output.read_text(encoding="utf-8")


def test_quiet(tmp_path: Path) -> None:
    output = tmp_path / "scenario.json"
    result = run("generate", *SMALL, "-q", "-o", output)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert output.exists()
    assert run("generate", *SMALL, "-q").stderr == ""


def test_options_reach_the_workload() -> None:
    options = (
        "--contention-share",
        0,
        "--servers",
        9,
        "--jobs",
        16,
        "--horizon",
        "none",
        "--share-servers",
        12,
    )
    printed = json.loads(run("generate", "paper", "--seed", 4, *options, "-q").stdout)
    expected = generate(Workload.paper(9, 0, horizon_s=None, share_servers=12, jobs=16), seed=4)
    assert ringsched.scenario_from_dict(printed) == expected
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
            "--model-mix",
            "vision",
        ),
        *("--min-duration", "2h", "--max-duration", "3h", "--submit-span", "1h", "--inter-server-gbps", 25),
        *("--rack-uplink-gbps", 50, "--slot", 60, "--seed", 8),
    )
    printed = json.loads(run("generate", "uniform", *options, "-q").stdout)
    workload = Workload.uniform(
        submit_hours=1,
        jobs=9,
        sizes="2",
        models="vision",
        min_hours=2,
        max_hours=3,
        cluster=Cluster.of_servers(6, 4, switches=2, inter_server_gbps=25, switch_uplink_gbps=50),
        time=Time(slot_s=60),
    )
    assert ringsched.scenario_from_dict(printed) == generate(workload, seed=8)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["paper", "--contention-share", 0.9], "--contention-share = 0.9 cannot be reached: at about 0.5"),
        (
            ["paper", "--contention-share", "nan"],
            "--contention-share must be a number >= 0 and <= 1, not nan",
        ),
        (
            ["paper", "--contention-share", -0.1],
            "--contention-share must be a number >= 0 and <= 1, not -0.1",
        ),
        (["paper", "--servers", 1], "--servers = 1 is too few: with seed 0 they hold 4 GPUs"),
        (["paper", "--share-servers", 1], "--share-servers = 1 is too few"),
        (["paper", "--servers", 0], "--servers must be an integer >= 1, not 0"),
        (["paper", "--servers", 2.5], "generate paper: --servers must be an integer, not '2.5'"),
        (["paper", "--seed", -1], "--seed must be an integer >= 0, not -1"),
        (["paper", "--horizon", "soon"], "--horizon must be a duration such as 20min, or none, not 'soon'"),
        (["paper", "--horizon", 0], "--horizon must be a number > 0, not 0.0"),
        (["paper", "--jobs", 10**9], "--jobs must be at most"),
        (["papr"], "no such command 'papr'"),
        (
            [*SMALL, "--size-mix", "phily"],
            "--size-mix names the unknown mix of sizes 'phily' (did you mean 'philly'?)",
        ),
        ([*SMALL, "--size-mix", "1:x"], "--size-mix: the weight of 1 must be a number"),
        ([*SMALL, "--size-mix", "64"], "--size-mix asks for a job of 64 GPUs, but the cluster has 32"),
        (
            [*SMALL, "--model-mix", "resnet"],
            "--model-mix names the unknown mix or model 'resnet' (did you mean",
        ),
        ([*SMALL, "--racks", 9], "--racks = 9 are more than the servers, 4"),
        ([*SMALL, "--rack-uplink-gbps", 9], "--rack-uplink-gbps is only allowed with at least one switch"),
        ([*SMALL, "--min-duration", "30h"], "--min-duration = 30 h is above the longest, 8 h"),
        ([*SMALL, "--slot", 0.01], "--slot = 0.01 is shorter than an iteration of jobs[0]"),
        ([*SMALL, "--inter-server-gbps", 1e-300, "--size-mix", 16], "jobs[0]"),
    ],
)
def test_wrong_input_writes_nothing(tmp_path: Path, arguments: list[object], said: str) -> None:
    output = tmp_path / "scenario.json"
    output.write_bytes(OLD_BYTES)
    assert said in sentence(run("generate", *arguments, *(["-o", output] if len(arguments) > 1 else [])))
    assert output.read_bytes() == OLD_BYTES
    assert list(tmp_path.iterdir()) == [output]


def test_outputs_that_cannot_be_written(tmp_path: Path) -> None:
    assert "there is no directory" in sentence(
        run("generate", *SMALL, "-o", tmp_path / "no" / "scenario.json")
    )
    assert "is a directory" in sentence(run("generate", *SMALL, "-o", tmp_path))
    assert "-o - names no file" in sentence(run("generate", *SMALL, "-o", "-"))


@pytest.mark.parametrize("kind", ["paper", "uniform"])
def test_help_and_reference_name_every_option(kind: str) -> None:
    result = run("generate", kind, "--help")
    assert (result.exit_code, result.stderr) == (0, "")
    section = REFERENCE.read_text(encoding="utf-8").split("\n## `ringsched generate ")[1].split("\n## ")[0]
    common, *parts = section.split("\n### ")
    (own,) = [part for part in parts if part.startswith(f"`{kind}")]
    for parameter in generate_command.commands[kind].params:
        for option in parameter.opts:
            assert option in result.stdout
            assert f"`{option}" in common + own


def test_help_of_the_group() -> None:
    printed = run("generate", "--help").stdout
    assert printed.startswith("Usage: ringsched generate")
    assert "paper" in printed
    assert "uniform" in printed


def test_processes_write_the_same_bytes() -> None:
    outputs = {
        run_process(
            "generate", "paper", "--seed", 7, "-q", env=users_environment(PYTHONHASHSEED=hash_seed)
        ).stdout
        for hash_seed in ("0", "1")
    }
    assert len(outputs) == 1


def test_networks_of_several_levels(tmp_path: Path) -> None:
    output = tmp_path / "deep.json"
    levels = ("--levels", "4:2:2", "--oversubscription", "1:2", "--inter-server-gbps", 10)
    jobs = ("uniform", "--jobs", 5, "--size-mix", "4", "-o", output)
    assert run("generate", *jobs, *levels).exit_code == 0
    cluster = ringsched.load_scenario(output).cluster
    assert cluster == Cluster.of_levels((4, 2, 2), inter_server_gbps=10, oversubscription=(1, 2))
    assert len(cluster.servers) == 16
    assert [(switch.name, switch.uplink_gbps, switch.parent) for switch in cluster.switches] == [
        ("leaf-0", 40, "spine-0"), ("leaf-1", 40, "spine-0"), ("leaf-2", 40, "spine-1"),
        ("leaf-3", 40, "spine-1"), ("spine-0", 40, "core-0"), ("spine-1", 40, "core-0"),
        ("core-0", None, None),
    ]  # fmt: skip
    # More servers than one highest switch has: there are several, and the last need not be full.
    assert run("generate", *jobs, *levels, "--servers", 33).exit_code == 0
    cluster = ringsched.load_scenario(output).cluster
    assert [server.switch for server in cluster.servers][31:] == ["leaf-7", "leaf-8"]
    assert [switch.uplink_gbps for switch in cluster.switches if switch.parent is None] == [80, 80, 80]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--levels", "8:x"), "--levels must be numbers from the servers up, such as 8:4:2, not '8:x'"),
        (("--levels", "8:0"), "--levels must be an integer >= 1, not 0"),
        (("--levels", "8", "--racks", 2), "--racks cannot be combined with --levels; keep one of them"),
        (("--levels", "8", "--rack-uplink-gbps", 2), "--rack-uplink-gbps cannot be combined with --levels"),
        (("--oversubscription", "2"), "--oversubscription is only allowed with --levels"),
        (("--levels", "8", "--oversubscription", "1:2"), "--oversubscription has 2 ratios for 1 level"),
        (("--levels", "8", "--oversubscription", "0"), "--oversubscription must be a number > 0, not 0"),
        (("--levels", "10000:10000"), "--levels = 100000000 of 8 GPUs are more than 1000000 GPUs"),
    ],
)
def test_levels_that_cannot_be(options: tuple[object, ...], said: str) -> None:
    assert sentence(run("generate", "poisson", *options)).startswith(f"Error: {said}")
