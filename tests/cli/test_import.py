"""`ringsched import`, as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.helpers import OLD_BYTES, run, run_process, sentence

import ringsched
from ringsched.formats.traces.formats import FORMATS

SAMPLES = Path(__file__).parents[1] / "traces"
TIRESIAS = SAMPLES / "tiresias.csv"
PHILLY_JSON = SAMPLES / "philly.json"


FILES = {"csv": "any.csv", "philly-json": "philly.json", "sacct": "sacct.txt"}
FILES |= {"jobcomp": "jobcomp.txt", "swf": "swf.swf"}
MAP = "submit=queued at,duration=run_min,gpus=gpus,name=job id,model=net"
NEEDED: dict[str, tuple[object, ...]] = {
    "csv": ("--map", MAP),
    "lingjun": ("--worker-table", SAMPLES / "lingjun_worker.csv"),
}
ARGUMENTS: dict[str, dict[str, object]] = {
    "csv": {"columns": MAP},
    "lingjun": {"worker_table": SAMPLES / "lingjun_worker.csv"},
}


def sample(name: str) -> Path:
    return SAMPLES / FILES.get(name, f"{name}.csv")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("suffix", ["json", "toml"])
def test_a_trace_becomes_a_scenario_that_can_be_planned(name: str, suffix: str, tmp_path: Path) -> None:
    output, plan = tmp_path / f"scenario.{suffix}", tmp_path / "plan.json"
    result = run("import", name, sample(name), *NEEDED.get(name, ()), "-o", output)
    assert (result.exit_code, result.stderr) == (0, "")
    expected: Any = ringsched.import_trace(sample(name), name, **ARGUMENTS.get(name, {}))
    assert ringsched.load_scenario(output) == expected.scenario
    assert run("plan", output, "-o", plan).exit_code == 0
    assert run("verify", output, plan).exit_code == 0


def test_the_report(tmp_path: Path) -> None:
    output = tmp_path / "queue.toml"
    result = run("import", "muri", SAMPLES / "muri.csv", "-o", output)
    assert result.stdout.splitlines() == [
        "7 rows read, 3 kept",
        "  dropped 1 row: malformed duration (first on line 7)",
        "  dropped 1 row: no GPU (first on line 5)",
        "  dropped 1 row: no duration (first on line 6)",
        "  dropped 1 row: wrong number of cells (first on line 8)",
        "3 jobs over 3 min 22 s, load 0.22 on 64 servers with 512 GPUs",
        "models: 2 from the trace, 0 drawn, 1 not in the catalogue",
        "  taken for a similar one: bert as bert-base, gpt2 as gpt2-small",
        "  not in the catalogue: a2c (1 job); they communicate as the trace says",
        f"scenario written to {output}, its jobs to {tmp_path / 'queue.jobs.csv'}",
    ]


def test_the_report_as_json(tmp_path: Path) -> None:
    output = tmp_path / "scenario.json"
    report = json.loads(run("import", "tiresias", TIRESIAS, "-o", output, "--json").stdout)
    assert report["scenario_sha256"] == ringsched.load_scenario(output).sha256()
    assert (report["format"], report["rows_read"], report["rows_kept"]) == ("tiresias", 14, 5)
    assert {"reason": "no GPU", "count": 1, "first_line": 8} in report["dropped"]
    assert report["output"] == str(output)


def test_scenario_on_stdout_and_report_on_stderr() -> None:
    result = run("import", "tiresias", TIRESIAS)
    assert ringsched.scenario_from_dict(json.loads(result.stdout)).jobs[0].name == "0"
    assert result.stderr.startswith("14 rows read, 5 kept\n")


def test_options_reach_the_importer() -> None:
    spec = SAMPLES / "tiresias_cluster_spec.csv"
    options = ("--cluster", spec, "--model-mix", "language", "--seed", 5)
    printed = json.loads(run("import", "tiresias", TIRESIAS, *options).stdout)
    expected = ringsched.import_trace(TIRESIAS, "tiresias", cluster=spec, models="language", seed=5)
    assert ringsched.scenario_from_dict(printed) == expected.scenario


def test_what_really_happened_verifies(tmp_path: Path) -> None:
    output, plan = tmp_path / "scenario.json", tmp_path / "plan.json"
    result = run("import", "philly-json", PHILLY_JSON, "-o", output, "--as-plan", plan)
    assert "  dropped 1 row: overlaps another record (first on line 23)" in result.stdout
    assert "largest difference of the plan to the record: 0.001 ms" in result.stdout
    assert result.stdout.splitlines()[-1] == f"plan written to {plan}"
    verdict = run("verify", output, plan)
    assert (verdict.exit_code, verdict.stdout.split(":")[0]) == (0, "valid")
    assert ringsched.load_plan(plan).policy == "recorded"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["philly", "none.csv"], "none.csv: there is no such file"),
        (["phily", TIRESIAS], "FORMAT names the unknown format 'phily' (did you mean 'philly'?)"),
        (["philly", TIRESIAS], "line 1: column 'timestamp' is missing"),
        (["tiresias", TIRESIAS, "--strict"], "tiresias.csv: line 11: num_gpu must be a number, not 'one'"),
        (["tiresias", TIRESIAS, "--seed", -1], "--seed must be an integer >= 0, not -1"),
        (
            ["tiresias", TIRESIAS, "--model-mix", "visio"],
            "--model-mix names the unknown mix or model 'visio'",
        ),
        (["tiresias", TIRESIAS, "--cluster", "none.toml"], "none.toml: there is no such file"),
        (["tiresias", TIRESIAS, "--as-plan", "plan.json"], "no such option '--as-plan'"),
        (["philly", TIRESIAS], "this looks like tiresias: ringsched import tiresias"),
        ([TIRESIAS], "FORMAT must come before FILE; this looks like tiresias: ringsched import tiresias"),
        (["csv", TIRESIAS], "this looks like tiresias: ringsched import tiresias"),
        (["csv", SAMPLES / "any.csv"], "--map 'submit=Queued at,gpus=GPUs,duration=run_min,"),
        (["csv", TIRESIAS, "--map", "submit"], "--map must be written as submit=COLUMN"),
        (["csv", TIRESIAS, "--map", MAP, "--time-unit", "sec"], "--time-unit names the unknown unit 'sec'"),
        (["itp", SAMPLES / "itp.csv", "--where", "x=1"], "--where names the column 'x'"),
        (["itp", SAMPLES / "itp.csv", "--time-zone", "Mars"], "--time-zone must be a time zone"),
        (["muri", SAMPLES / "muri.csv", "--unknown-models", "x"], "--unknown-models names the unknown model"),
        (["lingjun", SAMPLES / "lingjun.csv"], "--worker-table is required"),
        (
            ["philly-json", PHILLY_JSON, "--as-plan", "plan.json", "--cluster", "examples/first.toml"],
            "--cluster cannot be given",
        ),
    ],
)
def test_wrong_input_writes_nothing(tmp_path: Path, arguments: list[object], said: str) -> None:
    output = tmp_path / "scenario.json"
    output.write_bytes(OLD_BYTES)
    assert said in sentence(run("import", *arguments, "-o", output))
    assert output.read_bytes() == OLD_BYTES
    assert list(tmp_path.iterdir()) == [output]


def test_outputs_that_cannot_be_written(tmp_path: Path) -> None:
    here = ("import", "philly-json", PHILLY_JSON)
    assert "there is no directory" in sentence(run(*here, "-o", tmp_path / "no" / "scenario.json"))
    assert "-o - names no file" in sentence(run(*here, "-o", "-"))
    same = tmp_path / "same.json"
    assert "is the file of the scenario" in sentence(run(*here, "-o", same, "--as-plan", same))
    (tmp_path / "queue.jobs.csv").mkdir()
    assert "queue.jobs.csv: is a directory" in sentence(run(*here, "-o", tmp_path / "queue.toml"))


def test_the_trace_itself_is_never_written_over(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    trace.write_bytes(PHILLY_JSON.read_bytes())
    assert "is the trace itself" in sentence(run("import", "philly-json", trace, "-o", trace))
    plan = tmp_path / "scenario.json"
    assert "is the trace itself" in sentence(
        run("import", "philly-json", trace, "-o", plan, "--as-plan", trace)
    )
    assert trace.read_bytes() == PHILLY_JSON.read_bytes()


def test_a_trace_can_come_through_a_pipe() -> None:
    result = run_process("import", "tiresias", "/dev/stdin", input=TIRESIAS.read_text(encoding="utf-8"))
    assert result.stderr.startswith("14 rows read, 5 kept\n")


def test_a_table_with_its_units_and_conditions(tmp_path: Path) -> None:
    log, output = tmp_path / "log.csv", tmp_path / "scenario.json"
    rows = "".join(
        f"{at * 60000},{1000 * 600 * (at + 1)},{2 ** (at % 3)},{'ok' if at % 2 else 'bad'}\n"
        for at in range(6)
    )
    log.write_text(f"arrived,ran,g,outcome\n{rows}", encoding="utf-8")
    options = ("--map", "submit=arrived,duration=ran,gpus=g", "--time-unit", "ms", "--where", "outcome=ok")
    result = run("import", "csv", log, *options, "-o", output)
    assert result.stdout.splitlines()[:3] == [
        "6 rows read, 3 kept",
        "  dropped 3 rows: not outcome=ok (first on line 2)",
        "3 jobs over 4 min, load 0.16 on 64 servers with 512 GPUs",
    ]


def test_the_overload_is_a_warning(tmp_path: Path) -> None:
    log, output = tmp_path / "log.csv", tmp_path / "scenario.json"
    rows = "".join(f"{at * 60},3600,16\n" for at in range(600))
    log.write_text(f"submit,duration,gpus\n{rows}", encoding="utf-8")
    spec = SAMPLES / "tiresias_cluster_spec.csv"
    mapped = ("--map", "submit=submit,duration=duration,gpus=gpus")
    said = run("import", "csv", log, *mapped, "--cluster", spec, "-o", output).stdout.splitlines()[-1]
    assert said.startswith("Warning: the load is 30.05 even without contention, so the queue only grows; use")
