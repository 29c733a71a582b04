"""`ringsched simulate`: what it prints, what it writes, what it refuses, how it ends."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from tests.cli.helpers import FULL, OLD_BYTES, edited, run, sentence, users_environment, write_json

import ringsched
from ringsched.formats.plan import plan_to_json


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    """Everything the model knows, with a queue."""
    late = [
        {**FULL["jobs"][0], "name": f"late {at}", "gpus": 1 + 3 * at % 8, "submit_s": at / 2}
        for at in range(12)
    ]
    return write_json(tmp_path, edited({("jobs",): [*FULL["jobs"], *late]}))


def simulation_of(scenario: Path, *options: object) -> dict[str, Any]:
    result = run("simulate", scenario, "--json", *options)
    assert result.exit_code == 0, result.stderr
    figures: dict[str, Any] = json.loads(result.stdout)["simulation"]
    return figures


def rows_in(path: Path) -> list[dict[str, Any]]:
    """Rows with numbers as numbers, an empty field as None."""
    if path.suffix == ".parquet":
        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
        return rows
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _value(text: str) -> Any:
    if text in ("", "True", "False"):
        return None if text == "" else text == "True"
    try:
        return float(text)
    except ValueError:
        return text


def refused(scenario: Path, *options: object) -> str:
    """The sentence with which it refuses; no file is written or left."""
    before = {path: path.read_bytes() for path in scenario.parent.iterdir()}
    said = sentence(run("simulate", scenario, *options))
    assert {path: path.read_bytes() for path in scenario.parent.iterdir()} == before
    return said


# --- what comes out ---------------------------------------------------------------------------


def test_table(queue: Path) -> None:
    result = run("simulate", queue, "--policy", "contention-aware", "--backfill", "easy", "--seed", 3)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == (
        "16 jobs on 4 servers with 13 GPUs, policy contention-aware (order fifo, backfill easy, seed 3)"
    )
    assert lines[1].split() == ["mean", "95th"] * 3
    assert lines[2].split()[:4] == ["GPUs", "jobs", "waiting", "pct."]
    words = [line.split()[0] for line in lines[3:] if line]
    summary = ["makespan", "mean", "longest", "queue", "GPU", "links", "backfilled", "promises"]
    assert words[words.index("makespan") :][:8] == summary


@pytest.mark.parametrize("policy", [policy.name for policy in ringsched.list_policies(online=True)])
def test_plan_and_json(queue: Path, policy: str) -> None:
    """Both load as a plan that verifies; the JSON has the figures besides."""
    written, printed = queue.with_name("plan.json"), queue.with_name("printed.json")
    result = run("simulate", queue, "--policy", policy, "--backfill", "easy", "--json", "-o", written)
    assert (result.exit_code, result.stderr) == (0, "")
    printed.write_text(result.stdout, encoding="utf-8")
    assert ringsched.load_plan(printed) == ringsched.load_plan(written)
    assert run("verify", queue, written).exit_code == 0
    figures = json.loads(result.stdout)["simulation"]
    simulation = ringsched.simulate(ringsched.load_scenario(queue), policy, backfill="easy")
    assert figures["num_jobs"] == 16
    assert figures["makespan_s"] == ringsched.load_plan(written).makespan_s == simulation.makespan_s
    assert sum(size["num_jobs"] for size in figures["by_size"]) == 16
    assert plan_to_json(simulation.plan()) == written.read_text(encoding="utf-8")


def test_csv_and_parquet_say_the_same(queue: Path) -> None:
    for options in ((), ("--series-step", 2.5)):
        tables = {}
        for suffix in ("csv", "parquet"):
            jobs, series = queue.with_name(f"jobs.{suffix}"), queue.with_name(f"series.{suffix}")
            arguments = ("--backfill", "easy", "--jobs-csv", jobs, "--series-csv", series, *options)
            result = run("simulate", queue, *arguments)
            assert result.exit_code == 0, result.stderr
            assert result.stdout.splitlines()[-2:] == [
                f"jobs written to {jobs}",
                f"series written to {series}",
            ]
            tables[suffix] = rows_in(jobs), rows_in(series)
        assert tables["csv"] == tables["parquet"]
    jobs_table = tables["csv"][0]
    simulation = ringsched.simulate(ringsched.load_scenario(queue), backfill="easy")
    assert [row["job"] for row in jobs_table] == [job.name for job in simulation.scenario.jobs]
    assert [row["start_s"] for row in jobs_table] == simulation.start_s.tolist()
    assert [row["backfilled"] for row in jobs_table] == simulation.backfilled.tolist()
    assert None in {row["promised_s"] for row in jobs_table}
    for row in jobs_table:
        assert row["completion_s"] == row["finish_s"] - row["submit_s"]
        assert row["waiting_s"] == row["start_s"] - row["submit_s"]
        assert row["slowdown"] == row["completion_s"] / row["best_case_s"]


@pytest.mark.parametrize("step", [0.4, 1.0, 3.0, 7.25, 1000.0])
def test_steps_have_means_and_maxima(queue: Path, step: float) -> None:
    """Against a sum over the pieces of each step."""
    changes, steps = queue.with_name("changes.csv"), queue.with_name("steps.csv")
    for path, options in ((changes, ()), (steps, ("--series-step", step))):
        assert run("simulate", queue, "--series-csv", path, *options).exit_code == 0
    records = rows_in(changes)
    ends = [row["time_s"] for row in records[1:]] + [float("inf")]
    rows = rows_in(steps)
    assert [row["time_s"] for row in rows] == pytest.approx([at * step for at in range(len(rows))])
    assert rows[-1]["time_s"] <= records[-1]["time_s"] < rows[-1]["time_s"] + step
    for at, row in enumerate(rows):
        first, last = at * step, (at + 1) * step
        inside = [(r, e) for r, e in zip(records, ends, strict=True) if r["time_s"] < last and e > first]
        for name in ("queue_length", "busy_gpus", "contended_links"):
            area = sum(r[name] * (min(e, last) - max(r["time_s"], first)) for r, e in inside if r[name])
            assert row[f"mean_{name}"] == pytest.approx(area / step, abs=1e-9)
            assert row[f"max_{name}"] == max(r[name] for r, _ in inside)


def test_no_jobs(tmp_path: Path) -> None:
    empty = write_json(tmp_path, edited({("jobs",): []}))
    outputs = [
        "-o",
        tmp_path / "plan.json",
        "--jobs-csv",
        tmp_path / "jobs.csv",
        "--series-csv",
        tmp_path / "s.parquet",
    ]
    for policy in ("fifo", "sjf-bco", "rolling"):
        result = run(
            "simulate", empty, "--policy", policy, "--backfill", "easy", *outputs, "--series-step", 1
        )
        assert (result.exit_code, result.stderr) == (0, "")
        assert rows_in(tmp_path / "jobs.csv") == []
    assert simulation_of(empty)["by_size"] == []


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--policy", "contention-awar"], "did you mean 'contention-aware'?"),
        (["--policy", "sjf-bco", "--order", "fifo"], "--order is not allowed with policy 'sjf-bco'"),
        (["--order", "shortest"], "did you mean 'shortest-first'?"),
        (["--estimate-error", "-1"], "--estimate-error"),
        (["--estimate-error", "nan"], "--estimate-error"),
        (["--replan-every", "10"], "--replan-every is not allowed with policy 'fifo'"),
        (["--max-schedules", "10"], "--max-schedules is not allowed with policy 'fifo'"),
        (["--policy", "rolling", "--max-schedules", "-1"], "--max-schedules"),
        (["--policy", "rolling", "--replan-every", "-1"], "--replan-every"),
        (["--backfill", "eazy"], "--backfill"),
        (["--seed", "-1"], "--seed"),
        (["--series-step", "5"], "--series-step is only allowed with --series-csv"),
        (["--jobs-csv", "jobs.txt"], "jobs.txt: must end in .csv or .parquet"),
        (["--series-csv", "series"], "series: must end in .csv or .parquet"),
        (["--jobs-csv", "a.csv", "--series-csv", "a.csv"], "a.csv: is given for two different outputs"),
        (["--jobs-csv", "b.csv", "--series-csv", "b.csv"], "b.csv: is given for two different outputs"),
        (["-o", "-"], "--json prints the plan"),
        (["-o", "nowhere/plan.json"], "nowhere"),
        (["--series-csv", "s.csv", "--series-step", "0"], "--series-step"),
        (["--series-csv", "s.csv", "--series-step", "1e-9"], "--series-step"),
        (["-o", "queue.json"], "is the scenario itself"),
    ],
)
def test_refused(queue: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], said: str) -> None:
    monkeypatch.chdir(queue.parent)
    assert said in refused(queue, *options)


def test_a_table_over_the_jobs_of_the_scenario(tmp_path: Path) -> None:
    fields = [*FULL["jobs"][0]]
    jobs = tmp_path / "jobs.csv"
    jobs.write_text(f"{','.join(fields)}\n{','.join(str(FULL['jobs'][0][field]) for field in fields)}\n")
    scenario = write_json(
        tmp_path, {**{k: v for k, v in FULL.items() if k != "jobs"}, "jobs_file": "jobs.csv"}
    )
    assert "itself; write to another file" in refused(scenario, "--jobs-csv", jobs)


def test_parquet_without_pyarrow(queue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    said = refused(queue, "--jobs-csv", queue.with_name("jobs.parquet"))
    assert "needs pyarrow; in a clone of ringsched: pip install '.[parquet]'" in said


def test_infeasible_within_the_horizon(tmp_path: Path) -> None:
    jobs = [{**job, "submit_s": 0.0} for job in FULL["jobs"]]
    tight = write_json(tmp_path, edited({("time", "horizon_s"): 2.0, ("jobs",): jobs}))
    output = tmp_path / "plan.json"
    result = run("simulate", tight, "--policy", "sjf-bco", "-o", output)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: infeasible within the horizon of 2 s")
    assert not output.exists()
    assert run("simulate", tight, "--policy", "fifo", "-o", output).exit_code == 0


# --- how it ends ------------------------------------------------------------------------------

# A real signal, the first time that progress is told.
INTERRUPTED = """
import os, signal, sys
import ringsched
import ringsched.cli.simulate as command
from ringsched.cli.main import main

real = command.simulate
class Interrupting(ringsched.Observer):
    def progress(self, standing):
        os.kill(os.getpid(), signal.SIGINT)
def interrupted(*arguments, observer, **options):
    return real(*arguments, observer=Interrupting(), **options)

command.simulate = interrupted
main(sys.argv[1:])
"""


def test_ctrl_c_leaves_no_file(queue: Path) -> None:
    outputs = [queue.with_name(name) for name in ("plan.json", "jobs.csv", "series.csv")]
    outputs[0].write_bytes(OLD_BYTES)
    before = sorted(queue.parent.iterdir())
    options = ["-o", outputs[0], "--jobs-csv", outputs[1], "--series-csv", outputs[2]]
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "simulate", str(queue), *map(str, options)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=users_environment(),
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "Error: interrupted\n")
    assert outputs[0].read_bytes() == OLD_BYTES
    assert sorted(queue.parent.iterdir()) == before


def test_an_overloaded_cluster_is_a_warning(tmp_path: Path) -> None:
    job = {**FULL["jobs"][0], "gpus": 4, "iterations": 500}
    jobs = [{**job, "name": f"j{at}", "submit_s": float(at)} for at in range(200)]
    scenario = write_json(tmp_path, edited({("jobs",): jobs}))
    said = run("simulate", scenario).stdout.splitlines()[-1]
    assert said.startswith("Warning: the load is ")
    assert "even without contention, so the queue only grows; use at least" in said
    as_json = run("simulate", scenario, "--json")
    assert as_json.stderr.strip() == said
    json.loads(as_json.stdout)
