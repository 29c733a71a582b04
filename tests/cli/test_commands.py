"""The commands when all is well, and how they end when it is not."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.cli.helpers import (
    CSV_HEADER,
    DELETE,
    FULL,
    JOB,
    OLD_BYTES,
    csv_text,
    edited,
    plan_of,
    run,
    run_process,
    sentence,
    users_environment,
    write_json,
)
from tests.cli.mutations import POLICY_OPTIONS, TOML

from ringsched import __version__, api
from ringsched.formats.scenario import load_scenario
from ringsched.formatting import duration

CONTINUOUS = {("time", "model"): "continuous"}


def servers_of(scenario: Path) -> list[str]:
    return [server.name for server in load_scenario(scenario).cluster.servers]


# plan and verify


@pytest.mark.parametrize("options", POLICY_OPTIONS, ids=" ".join)
@pytest.mark.parametrize("edits", [{}, CONTINUOUS], ids=["slotted", "continuous"])
def test_json_is_what_the_file_holds_and_it_is_valid(
    tmp_path: Path, edits: dict[Any, Any], options: tuple[str, ...]
) -> None:
    scenario, output = write_json(tmp_path, edited(edits)), tmp_path / "plan.json"
    printed = run("plan", scenario, *options, "--json")
    assert printed.exit_code == 0, printed.stderr
    assert run("plan", scenario, *options, "-o", output).exit_code == 0
    assert output.read_bytes() == printed.stdout_bytes
    verdict = run("verify", scenario, output)
    assert verdict.exit_code == 0, verdict.output
    assert verdict.stdout.startswith(f"valid: {output}, 4 jobs, makespan ")


def test_table_names_every_job_and_where_the_plan_went(tmp_path: Path) -> None:
    output = tmp_path / "plan.json"
    result = run("plan", write_json(tmp_path, FULL), "-o", output)
    assert result.stderr == ""
    for word in ("first", "running", "late", "known", "makespan", "lower bound", "gap"):
        assert word in result.stdout
    assert result.stdout.splitlines()[0].startswith(
        "4 jobs on 4 servers with 13 GPUs, policy search (order any"
    )
    assert result.stdout.endswith(f"plan written to {output}\n")


def test_running_jobs_stay_where_they_are(tmp_path: Path) -> None:
    running = plan_of(write_json(tmp_path, FULL), "--policy", "sjf-bco")["jobs"][1]
    assert running["start_s"] == 0
    assert running["gpus"] == {"a-0": [0], "b": [1]}


def test_verify_as_json(tmp_path: Path) -> None:
    scenario = write_json(tmp_path, FULL)
    plan = plan_of(scenario)
    valid = run("verify", scenario, write_json(tmp_path, plan, "plan.json"), "--json")
    assert (valid.exit_code, json.loads(valid.stdout)) == (0, {"valid": True, "violations": []})
    wrong = write_json(tmp_path, plan | {"makespan_s": 1}, "wrong.json")
    invalid = run("verify", scenario, wrong, "--json")
    verdict = json.loads(invalid.stdout)
    assert (invalid.exit_code, verdict["valid"]) == (1, False)
    assert [violation["constraint"] for violation in verdict["violations"]] == ["makespan"]


@pytest.mark.parametrize("policy", ["sjf-bco", "first-fit", "list-scheduling"])
def test_infeasible_horizon(tmp_path: Path, policy: str) -> None:
    scenario, output = write_json(tmp_path, edited({("time", "horizon_s"): 2.0})), tmp_path / "plan.json"
    output.write_bytes(OLD_BYTES)
    bound_s = plan_of(write_json(tmp_path, FULL, "open.json"))["lower_bound_s"]
    result = run("plan", scenario, "--policy", policy, "-o", output)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: infeasible within the horizon of 2 s: policy '{policy}'")
    step = "raise time.horizon_s, or remove it"
    assert result.stderr.endswith(f"no plan can end before {duration(bound_s)}; {step}\n")
    assert output.read_bytes() == OLD_BYTES
    answer = json.loads(run("plan", scenario, "--policy", policy, "--json").stdout)
    assert (answer["status"], answer["lower_bound_s"]) == ("infeasible", bound_s)
    assert f"Error: {answer['message']}\n" == result.stderr


@pytest.mark.parametrize("jobs", [[], DELETE], ids=["empty", "absent"])
@pytest.mark.parametrize("policy", [policy.name for policy in api.list_policies()])
def test_no_jobs_no_work(tmp_path: Path, jobs: Any, policy: str) -> None:
    scenario, output = write_json(tmp_path, edited({("jobs",): jobs})), tmp_path / "plan.json"
    plan = plan_of(scenario, "--policy", policy, "-o", output)
    totals = {key: plan[key] for key in ("makespan_s", "mean_completion_s", "lower_bound_s", "gap", "jobs")}
    assert totals == {
        "makespan_s": 0,
        "mean_completion_s": 0,
        "lower_bound_s": 0,
        "gap": 1,
        "jobs": [],
    }
    assert run("verify", scenario, output).exit_code == 0
    assert run("plan", scenario, "--policy", policy).stdout.startswith("0 jobs on 4 servers")


# scenario files


def test_toml_and_json_twins_are_the_same_scenario(tmp_path: Path) -> None:
    import tomllib

    toml = tmp_path / "twin.toml"
    toml.write_text(TOML)
    twin = write_json(tmp_path, tomllib.loads(TOML), "twin.json")
    first, second = plan_of(toml), plan_of(twin)
    assert first["scenario_sha256"] == second["scenario_sha256"]
    assert first == second


def test_whole_floats_and_defaults_do_not_change_the_scenario(tmp_path: Path) -> None:
    plain = plan_of(write_json(tmp_path, FULL))["scenario_sha256"]
    spelt_out = edited(
        {
            ("cluster", "inter_server_gbps"): 10,
            ("jobs", 0, "submit_s"): 0,
            ("jobs", 0, "weight"): 1,
            ("cluster", "servers", 2, "name"): "s3",
        }
    )
    assert plan_of(write_json(tmp_path, spelt_out))["scenario_sha256"] == plain
    other = edited({("jobs", 0, "weight"): 3})
    assert plan_of(write_json(tmp_path, other))["scenario_sha256"] != plain


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ([{"gpus": 1}, {"gpus": 1}], ["s0", "s1"]),
        ([{"gpus": 1, "count": 2}, {"gpus": 1}], ["s0", "s1", "s2"]),
        ([{"name": "a", "gpus": 1, "count": 2}], ["a-0", "a-1"]),
        ([{"name": "a", "gpus": 1, "count": 1}], ["a-0"]),
        ([{"name": "a", "gpus": 1}], ["a"]),
        ([{"name": "a", "gpus": 1, "count": 2}, {"gpus": 1, "count": 1}], ["a-0", "a-1", "s2"]),
    ],
)
def test_names_of_servers(tmp_path: Path, servers: list[dict[str, Any]], expected: list[str]) -> None:
    content = edited({("cluster", "servers"): servers, ("cluster", "racks"): DELETE, ("jobs",): []})
    assert servers_of(write_json(tmp_path, content)) == expected


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({}, (99.2, 16, 25 / 16, 37.0)),
        ({"gradient_mb": 1.5}, (1.5, 16, 25 / 16, 37.0)),
        ({"backward_ms": 3}, (99.2, 16, 25 / 16, 3.0)),
        (
            {"minibatch": 32},
            (99.2, 32, 25 / 16, 37.0),
        ),  # forward is per sample, so it doubles; backward stays
    ],
    ids=["all", "gradient", "backward", "minibatch"],
)
def test_catalogue_fills_what_a_job_does_not_state(
    tmp_path: Path, stated: dict[str, Any], expected: tuple[float, ...]
) -> None:
    job = {"name": "j", "gpus": 1, "iterations": 10, "model": "resnet50"} | stated
    (loaded,) = load_scenario(write_json(tmp_path, edited({("jobs",): [job]}))).jobs
    assert (loaded.gradient_mb, loaded.minibatch, loaded.forward_ms, loaded.backward_ms) == expected


ROWS = [("a", 2, 100, 40.0, 2, 5.0, 20.0), ("b, the second", 3, 50, 1.5, 1, 0, 30)]


@pytest.mark.parametrize(
    "encode",
    {
        "plain": str.encode,
        "lf": lambda text: text.replace("\r\n", "\n").encode(),
        "no-last-newline": lambda text: text.rstrip().encode(),
        "bom": lambda text: b"\xef\xbb\xbf" + text.encode(),
        "blank-lines": lambda text: text.replace("\r\n", "\r\n\r\n").encode(),
        "spaces": lambda text: text.replace(",2,", " , 2 ,").replace("name,", " name ,").encode(),
    }.items(),
    ids=lambda item: item[0],
)
def test_jobs_file_equals_inline_jobs(tmp_path: Path, encode: Any) -> None:
    inline = [dict(zip(CSV_HEADER, row, strict=True)) for row in ROWS]
    scenario = write_json(tmp_path, edited({("jobs",): inline}), "inline.json")
    (tmp_path / "jobs.csv").write_bytes(encode[1](csv_text(ROWS)))
    by_file = write_json(tmp_path, edited({("jobs",): DELETE, ("jobs_file",): "jobs.csv"}))
    assert plan_of(by_file) == plan_of(scenario)


def test_jobs_file_may_name_models_and_running_jobs(tmp_path: Path) -> None:
    inline = [
        {
            "name": "a",
            "gpus": 2,
            "iterations": 9,
            "model": "vgg16",
            "running_on": {"b": [0, 1]},
            "done_iterations": 3,
        },
        {"name": "b", "gpus": 1, "iterations": 5, "model": "resnet18", "submit_s": 2.5},
    ]
    header = ("name", "gpus", "iterations", "model", "running_on", "done_iterations", "submit_s")
    rows = [
        [json.dumps(job[key]) if key == "running_on" and key in job else job.get(key, "") for key in header]
        for job in inline
    ]
    (tmp_path / "jobs.csv").write_text(csv_text(rows, header), newline="")
    by_file = write_json(tmp_path, edited({("jobs",): DELETE, ("jobs_file",): "jobs.csv"}))
    assert plan_of(by_file) == plan_of(write_json(tmp_path, edited({("jobs",): inline}), "inline.json"))


def test_jobs_file_with_nothing_but_a_header(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("name,gpus,iterations\n")
    scenario = write_json(tmp_path, edited({("jobs",): DELETE, ("jobs_file",): "jobs.csv"}))
    assert plan_of(scenario)["jobs"] == []


def test_jobs_file_is_looked_for_beside_the_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "jobs.csv").write_text(csv_text(ROWS))
    write_json(folder, edited({("jobs",): DELETE, ("jobs_file",): "jobs.csv"}))
    monkeypatch.chdir(tmp_path)
    assert len(plan_of(Path("inner/queue.json"))["jobs"]) == 2


@pytest.mark.parametrize("name", ["twin.toml", "twin.json"])
def test_byte_order_mark_and_crlf_are_fine(tmp_path: Path, name: str) -> None:
    text = TOML if name.endswith("toml") else json.dumps(FULL, indent=1)
    plain, marked = tmp_path / name, tmp_path / f"marked-{name}"
    plain.write_bytes(text.encode())
    marked.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert plan_of(marked) == plan_of(plain)


def test_suffix_in_capitals(tmp_path: Path) -> None:
    assert plan_of(write_json(tmp_path, FULL, "QUEUE.JSON")) == plan_of(write_json(tmp_path, FULL))


# output files


def test_output_goes_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "plan.json", tmp_path / "plan.json"
    target.write_bytes(OLD_BYTES)
    link.symlink_to(target)
    assert run("plan", write_json(tmp_path, FULL), "-o", link).exit_code == 0
    assert link.is_symlink()
    assert json.loads(target.read_bytes())["format"] == "ringsched-plan/1"
    assert [path.name for path in target.parent.iterdir()] == ["plan.json"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
def test_output_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    output = tmp_path / "plan.json"
    output.write_bytes(OLD_BYTES)
    output.chmod(mode)
    assert run("plan", write_json(tmp_path, FULL), "-o", output).exit_code == 0
    assert stat.S_IMODE(output.stat().st_mode) == mode


def test_new_output_has_the_usual_mode(tmp_path: Path) -> None:
    output, other = tmp_path / "plan.json", tmp_path / "other"
    other.touch()
    assert run("plan", write_json(tmp_path, FULL), "-o", output).exit_code == 0
    assert output.stat().st_mode == other.stat().st_mode


@pytest.mark.parametrize("old", [OLD_BYTES, None], ids=["over-a-file", "new"])
@pytest.mark.parametrize(("owner", "function"), [(os, "replace"), (os, "fsync"), (tempfile, "mkstemp")])
def test_a_failing_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, function: str, old: bytes | None
) -> None:
    scenario, output = write_json(tmp_path, FULL), tmp_path / "plan.json"
    if old is not None:
        output.write_bytes(old)
    before = sorted(tmp_path.iterdir())

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(owner, function, fail)
    said = sentence(run("plan", scenario, "-o", output))
    monkeypatch.undo()
    assert said.endswith("plan.json: cannot be written: no space left on device")
    assert sorted(tmp_path.iterdir()) == before
    assert old is None or output.read_bytes() == old


def test_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario, output = write_json(tmp_path, FULL), tmp_path / "plan.json"
    output.write_bytes(OLD_BYTES)
    before = sorted(tmp_path.iterdir())

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    result = run("plan", scenario, "-o", output)
    monkeypatch.undo()
    assert result.exit_code == 130
    assert output.read_bytes() == OLD_BYTES
    assert sorted(tmp_path.iterdir()) == before


def test_interrupted_search_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario, output = write_json(tmp_path, FULL), tmp_path / "plan.json"

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "plan", interrupt)
    result = run("plan", scenario, "-o", output)
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "Error: interrupted\n"
    assert not output.exists()


# the command itself


@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("command", [[], ["plan"], ["verify"], ["policies"]], ids=" ".join)
def test_help(command: list[str], option: str) -> None:
    result = run(*command, option)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(" ".join(["Usage: ringsched", *command]))
    assert "\\b" not in result.stdout


def test_help_says_what_exit_codes_mean() -> None:
    assert "Exit codes: 0 success; 1 negative result; 2 wrong input or usage." in run("--help").stdout


def test_version() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"ringsched, version {__version__}\n")


def test_unknown_command() -> None:
    assert "no such command 'plna' (did you mean 'plan'?)" in sentence(run("plna"))


def test_policies() -> None:
    rows = json.loads(run("policies", "--json").stdout)
    assert [row["name"] for row in rows] == [policy.name for policy in api.list_policies()]
    table = run("policies").stdout
    for row in rows:
        assert row["name"] in table
        assert all(f"--{option}" in table for option in row["options"])
    assert all(order in table for order in api.ORDERS)


# names


NAMES = [
    "[red]x",
    "[/red]",
    "[bold]",
    ":cat:",
    "x\\",
    "ß→日本",
    "'\"",
    "--json",
    "1e5",
    "{}",
    "[link=http://a]",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_printed_as_they_are(tmp_path: Path, name: str) -> None:
    content = edited({("jobs", 0, "name"): name, ("cluster", "servers", 1, "name"): f"{name}2"})
    content["jobs"] = [content["jobs"][0] | {"running_on": {f"{name}2": [0, 1]}}]
    scenario, output = write_json(tmp_path, content), tmp_path / "plan.json"
    printed = run("plan", scenario, "-o", output).stdout
    assert printed.splitlines()[2].startswith(f"{name} ")
    assert f" {name}2:0-1" in printed
    assert run("verify", scenario, output).exit_code == 0
    wrong = write_json(tmp_path, json.loads(output.read_bytes()) | {"jobs": []}, "wrong.json")
    assert f"job {name!r} is in the scenario" in run("verify", scenario, wrong).stdout


def test_terminal_that_cannot_show_a_name(tmp_path: Path) -> None:
    scenario = write_json(tmp_path, edited({("jobs",): [{**JOB, "name": "ß"}]}))
    result = run_process("plan", scenario, env=users_environment(PYTHONIOENCODING="ascii", PYTHONUTF8="0"))
    assert (result.returncode, result.stderr) == (0, "")
    assert r"\xdf" in result.stdout


# as a process


def piped(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A line of shell in which $RINGSCHED is the command line."""
    return subprocess.run(
        ["sh", "-c", command.replace("$RINGSCHED", f"'{sys.executable}' -m ringsched")],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        timeout=300,
        env=users_environment(),
    )


@pytest.mark.parametrize("options", ["", "--json", "-o plan.json"])
def test_output_into_a_pipe_that_closes(tmp_path: Path, options: str) -> None:
    jobs = [{**JOB, "name": f"job-{at}"} for at in range(600)]
    write_json(tmp_path, edited({("jobs",): jobs}))
    result = piped(f"$RINGSCHED plan queue.json {options} | head -1", tmp_path)
    assert len(result.stdout.splitlines()) == 1
    assert result.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "command", ["policies", "policies --json", "plan queue.json", "plan queue.json --json"]
)
def test_output_onto_a_full_disk(tmp_path: Path, command: str) -> None:
    write_json(tmp_path, FULL)
    said = sentence(piped(f"$RINGSCHED {command} > /dev/full", tmp_path))
    assert said == "Error: standard output cannot be written: No space left on device"


def test_plan_file_into_a_pipe(tmp_path: Path) -> None:
    write_json(tmp_path, FULL)
    result = piped("$RINGSCHED plan queue.json -o /dev/stderr", tmp_path)
    assert result.returncode == 0
    assert json.loads(result.stderr)["format"] == "ringsched-plan/1"


def test_runs_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    scenario = write_json(tmp_path, FULL)
    outputs = {
        run_process(
            "plan", scenario, "--policy", "random", "--json", env=users_environment(PYTHONHASHSEED=seed)
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1
