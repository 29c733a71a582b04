"""`ringsched compare`: what it prints, what it refuses, how it ends."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.cli.helpers import FULL, edited, run, run_process, sentence, users_environment, write_json

from ringsched.analysis.compare.summary import PAIRED, SHARES

HEAVY = {"joblib", "pyarrow", "dask", "distributed", "numba", "numpy", "rich"}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Three scenarios that differ in the iterations of one job."""
    return [
        write_json(tmp_path, edited({("jobs", 0, "iterations"): number}), f"{number}.json")
        for number in (100, 200, 300)
    ]


@pytest.fixture
def tight(tmp_path: Path) -> Path:
    """A scenario in which policies that bisect find nothing."""
    return write_json(tmp_path, edited({("time", "horizon_s"): 2.0}), "tight.json")


def summary_of(*arguments: object) -> list[dict[str, Any]]:
    result = run("compare", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    summary: list[dict[str, Any]] = json.loads(result.stdout)["summary"]
    return summary


def rows_in(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_table(files: list[Path]) -> None:
    result = run("compare", *files, "--policies", "first-fit,random,longest-first", "--seeds", 2)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "12 runs, 3 scenarios; means over the feasible runs"
    assert [line.split()[:2] for line in lines[3:6]] == [
        ["first-fit", "3"],
        ["random", "6"],
        ["longest-first", "3"],
    ]
    assert lines[7] == "makespan against first-fit, in pairs; below 1 is better"
    assert [line.split()[:3] for line in lines[9:11]] == [["random", "6", "0"], ["longest-first", "3", "0"]]
    assert " to " in lines[9]
    assert max(map(len, lines)) <= 100


def test_infeasible_runs_are_seen(files: list[Path], tight: Path) -> None:
    result = run("compare", *files, tight, "--policies", "longest-first,first-fit")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[:2] for line in lines[3:5]] == [["longest-first", "4"], ["first-fit", "3"]]
    assert lines[5] == "infeasible, in no mean and no pair: first-fit 1 of 4"
    assert lines[-1].split()[:3] == ["first-fit", "3", "1"]


def test_only_infeasible_runs(tight: Path) -> None:
    result = run("compare", tight, "--policies", "longest-first,first-fit", "--metrics", "makespan_s,gap")
    lines = result.stdout.splitlines()
    assert lines[3].split() == ["first-fit", "0", "-", "-"]
    assert lines[4].endswith("first-fit 1 of 1")
    assert lines[-1].split() == ["first-fit", "0", "1", "-", "-"]


def test_json_has_summary_and_rows(files: list[Path]) -> None:
    result = run("compare", *files, "--policies", "first-fit,longest-first", "--json")
    content = json.loads(result.stdout)
    assert content["baseline"] == "first-fit"
    assert [row["policy"] for row in content["rows"]] == ["first-fit"] * 3 + ["longest-first"] * 3
    assert [row["scenario"] for row in content["rows"][:3]] == list(map(str, files))
    first, second = content["summary"]
    assert first["pairs"] == {}
    assert second["pairs"].keys() == set(PAIRED)
    for metric, pairs in second["pairs"].items():
        assert pairs.keys() == {"measure", "mean", "low", "high", "num_pairs", "num_left_out"}
        assert pairs["measure"] == ("difference" if metric in SHARES else "ratio")
        assert pairs["low"] <= pairs["mean"] <= pairs["high"]


def test_pairs_of_other_metrics_on_request(files: list[Path]) -> None:
    options = (
        "--policies",
        "first-fit,random",
        "--pairs",
        "mean_completion_s,contention_loss,gpu_utilisation",
    )
    lines = run("compare", *files, *options).stdout.splitlines()
    titles = [at for at, line in enumerate(lines) if ", in pairs" in line]
    assert [lines[at] for at in titles] == [
        "mean completion against first-fit, in pairs; below 1 is better",
        "share lost to contention less that of first-fit, in pairs, percentage points; below 0 is better",
        "GPU utilisation less that of first-fit, in pairs, percentage points",
    ]
    assert [lines[at + 1].split()[4] for at in titles] == ["ratio", "difference", "difference"]
    for at in titles:
        assert lines[at + 2].split()[:3] == ["random", "3", "0"]
        assert " to " in lines[at + 2]


def test_metrics_and_orders(files: list[Path]) -> None:
    options = ("--policies", "first-fit", "--orders", "own,longest-first", "--metrics", "gap")
    lines = run("compare", *files, *options).stdout.splitlines()
    assert lines[1].split() == ["policy", "n", "gap"]
    assert lines[2].startswith("first-fit (fifo) ")
    assert lines[3].startswith("first-fit (longest-first) ")
    assert lines[5].startswith("makespan against first-fit (fifo), ")


def test_output_is_resumed_or_replaced(files: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "rows.csv"
    options = ("--policies", "first-fit,random", "-o", output)
    assert run("compare", *files, *options).stdout.endswith(f"6 rows in {output}\n")
    before = output.read_bytes()
    assert run("compare", *files, *options).stdout.endswith(f"6 rows in {output}, 6 of them from before\n")
    assert output.read_bytes() == before
    assert run("compare", files[0], *options, "--no-resume").stdout.endswith(f"2 rows in {output}\n")
    assert len(rows_in(output)) == 2


def test_workers_change_nothing(files: list[Path]) -> None:
    one, two = (
        summary_of(*files, "--policies", "first-fit,random", "--seeds", 3, "--workers", number)
        for number in (1, 2)
    )
    for summary in (*one, *two):
        summary["means"].pop("planning_s")
        summary["pairs"].pop("planning_s", None)
    assert one == two


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--policies", "fist-fit"], "unknown policy 'fist-fit' (did you mean 'first-fit'?)"),
        (["--policies", " , "], "--policies must name at least one"),
        (["--policies", "first-fit", "--orders", "lifo"], "unknown order 'lifo'"),
        (["--policies", "first-fit", "--seeds", "0"], "--seeds must be an integer >= 1"),
        (["--policies", "first-fit", "--first-seed", "-1"], "--first-seed must be an integer >= 0"),
        (["--policies", "first-fit", "--workers", "0"], "--workers must be an integer >= 1"),
        (["--policies", "first-fit", "--metrics", "gab"], "did you mean 'gap'?"),
        (["--policies", "first-fit", "--pairs", "lower_bound_s"], "--pairs must be one of makespan_s, "),
        (["--policies", "first-fit", "-o", "rows.xlsx"], "rows.xlsx: must end in .csv or .parquet"),
        (["--policies", "first-fit", "-o", "no/rows.csv"], "there is no directory 'no'"),
        (["--policies", "first-fit", "--dask", "nowhere"], "--dask = nowhere: no Dask scheduler responds"),
        (["--policies", "first-fit", "--contention-models", "papr"], "did you mean 'paper'?"),
        (
            ["--policies", "exact", "--contention-models", "max-min"],
            "--contention-models names 'max-min', which policy 'exact' does not support",
        ),
        (
            ["--policies", "first-fit", "--contention-models", "reserved"],
            "100.json: contention: lanes is required",
        ),
        (["--policies", "first-fit", "--draws", "5"], "--draws needs a calibration"),
        (["--policies", "first-fit", "--calibration", "none.toml"], "none.toml: there is no such file"),
        ([], "--policies is missing"),
    ],
)
def test_wrong_options(files: list[Path], options: list[str], complaint: str) -> None:
    assert complaint in sentence(run("compare", *files, *options))


def test_wrong_scenarios(files: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "rows.csv"
    bad = write_json(tmp_path, edited({("jobs", 0, "gpus"): 0}), "bad.json")
    slow = write_json(tmp_path, edited({("jobs", 0, "backward_ms"): 5000.0}), "slow.json")
    for path, complaint in (
        (tmp_path / "absent.json", "absent.json: there is no such file"),
        (tmp_path, "is a directory"),
        (bad, "bad.json: jobs[0] 'first': gpus must be"),
        (slow, "slow.json: jobs[0] 'first': an iteration can take"),
        (files[0], "100.json: is given twice; it would count twice, so remove one"),
    ):
        said = sentence(run("compare", *files, path, "--policies", "first-fit", "-o", output))
        assert complaint in said
    assert not output.exists()


def test_inputs_and_files_of_others_are_not_written_over(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("name,gpus,iterations,model\na,1,10,resnet50\n")
    content = {key: value for key, value in FULL.items() if key != "jobs"} | {"jobs_file": "jobs.csv"}
    scenario, before = write_json(tmp_path, content), jobs.read_bytes()
    for option, complaint in (
        ("--no-resume", "is also a jobs_file"),
        ("--resume", "is also a jobs_file"),
    ):
        said = sentence(run("compare", scenario, "--policies", "first-fit", "-o", jobs, option))
        assert complaint in said
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    said = sentence(run("compare", scenario, "--policies", "first-fit", "-o", other))
    assert "was not written by `ringsched compare`" in said
    assert (jobs.read_bytes(), other.read_text()) == (before, "a,b\n1,2\n")


ONE_LINK = ("examples/one-link.toml", "--policies", "longest-first,free-links", "--metrics", "makespan_s")


def test_a_ranking_that_does_not_survive_another_model(tmp_path: Path) -> None:
    output = tmp_path / "rows.csv"
    result = run("compare", *ONE_LINK, "--contention-models", "paper, max-min", "-o", output)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert [line for line in lines if line.startswith("contention model ")] == [
        "contention model paper",
        "contention model max-min",
    ]
    at = lines.index("ratio of makespan, all pairs, under paper and max-min")
    assert [line.split() for line in lines[at + 2 : at + 4]] == [
        ["free-links", "longest-first", "paper", "0.975", "-", "change", "places"],
        ["max-min", "1.213", "-"],
    ]
    assert lines[at + 4 : at + 7] == [
        "paper: free-links, longest-first",
        "max-min: longest-first, free-links",
        "the ranking by makespan does not survive: free-links and longest-first change places "
        "(one run each: the result holds for this scenario only)",
    ]
    assert [(row["contention"], row["draw"]) for row in rows_in(output)] == [("paper", "")] * 2 + [
        ("max-min", "")
    ] * 2
    assert "in pairs" not in result.stdout  # the ranking has them all


def test_a_ranking_that_survives_and_metrics_that_are_none(files: list[Path]) -> None:
    options = ("--policies", "random,longest-first", "--contention-models", "paper,max-min")
    lines = run("compare", *files, *options, "--pairs", "makespan_s,gpu_utilisation").stdout.splitlines()
    assert sum("GPU utilisation less that of random, in pairs" in line for line in lines) == 2
    assert sum(line.startswith("difference in") for line in lines) == 0
    assert lines[-1].startswith(("the ranking by makespan survives", "whether the ranking by makespan"))


def test_draws_from_a_calibration(tmp_path: Path) -> None:
    fitted = tmp_path / "c.toml"
    fitted.write_text(
        "[cluster]\ninter_server_gbps = 10\n[contention]\ndegradation = 0.22\n"
        "[intervals]\ndegradation = [0.12, 0.32]\n"
    )
    options = (*ONE_LINK, "--calibration", fitted, "--draws", 10)
    result = run("compare", *options)
    assert (result.exit_code, result.stderr) == (0, "")
    assert run("compare", *options).stdout == result.stdout
    assert run("compare", *options, "--first-seed", 1).stdout != result.stdout
    lines = result.stdout.splitlines()
    assert lines[0] == "22 runs, 1 scenario; means over the feasible runs, with the fitted values"
    at = lines.index("ratio of makespan, all pairs, over 10 draws")
    cells = lines[at + 2].split()
    better, equal, worse = map(int, cells[6:])
    assert (cells[:3], better + equal + worse) == (["free-links", "longest-first", "0.997"], 10)
    assert 0 < worse < 10
    assert lines[at + 3] == (
        f"the ranking by makespan is that of the fitted values in {better} of 10 draws; "
        f"free-links and longest-first are otherwise in {worse}"
    )
    assert lines[-1] == "not drawn, because they have no interval: inter_server_gbps"
    content = json.loads(run("compare", *options, "--json").stdout)
    assert [each["draw"] for each in content["drawn"]] == list(range(1, 11))
    stability = content["models"][0]["stability"][0]
    assert (stability["num_draws"], stability["num_same"]) == (10, better)
    assert content["notes"] == [lines[-1]]
    assert [row["draw"] for row in content["rows"]][:3] == [None, None, 1]


def uncertain(tmp_path: Path, name: str, value: float, low: float, high: float) -> Path:
    section = "cluster" if name.endswith("gbps") else "contention"
    path = tmp_path / "c.toml"
    path.write_text(f"[{section}]\n{name} = {value}\n[intervals]\n{name} = [{low}, {high}]\n")
    return path


def test_what_is_left_out_is_counted_in_rankings_and_draws(
    files: list[Path], tight: Path, tmp_path: Path
) -> None:
    fitted = uncertain(tmp_path, "inter_server_gbps", 10.0, 9.9, 10.1)
    options = ("--contention-models", "paper,max-min", "--metrics", "makespan_s")
    draws = ("--calibration", fitted, "--draws", 2)
    both = ("--policies", "longest-first,first-fit")
    lines = run("compare", files[0], tight, *both, *options, *draws).stdout.splitlines()
    at = lines.index("ratio of makespan, all pairs, under paper and max-min")
    assert lines[at + 1].split()[:5] == ["policy", "against", "model", "left", "out"]
    assert [lines[at + 2].split()[3], lines[at + 3].split()[1]] == ["1", "1"]
    assert lines[at + 6] == (
        "whether the ranking by makespan survives is undecided: "
        "first-fit and longest-first have too few feasible pairs of runs to tell under paper and max-min"
    )
    left_out = "pairs of runs left out, one of the two being infeasible: first-fit and longest-first 2 of 4"
    assert lines.count(left_out) == 2
    lines = run("compare", tight, *both, *options, *draws).stdout.splitlines()
    assert any(
        line.endswith("longest-first have no feasible pair of runs under paper and max-min") for line in lines
    )
    at = lines.index("ratio of makespan, all pairs, over 2 draws under paper")
    assert lines[at + 1].split()[-1] == "infeasible"
    assert lines[at + 2].split()[-4:] == ["0", "0", "0", "2"]
    assert lines[at + 4] == (
        "the ranking by makespan is that of the fitted values in 0 of 2 draws; "
        "first-fit and longest-first have no feasible pair of runs with the fitted values"
    )


def test_draws_that_do_not_matter_are_no_stability(tmp_path: Path) -> None:
    fitted = uncertain(tmp_path, "degradation", 0.2, 0.1, 0.3)
    options = ("--contention-models", "paper,max-min", "--calibration", fitted, "--draws", 2)
    lines = run("compare", *ONE_LINK, *options).stdout.splitlines()
    at = lines.index("ratio of makespan, all pairs, over 2 draws under max-min")
    assert lines[at + 1] == (
        "nothing that was drawn matters under max-min: every draw is the fitted values again"
    )
    assert sum("of 2 draws" in line for line in lines) == 1


def test_equal_is_not_too_close(tmp_path: Path) -> None:
    """At the degradation where waiting takes as long as sharing, by the paper's rule."""
    text = Path(ONE_LINK[0]).read_text().replace("degradation = 0.2745", "degradation = 0.2125")
    scenario = tmp_path / "s.toml"
    scenario.write_text(text)
    shown = run("compare", scenario, *ONE_LINK[1:], "--contention-models", "paper,max-min").stdout
    assert shown.splitlines()[-1] == (
        "whether the ranking by makespan survives is undecided: "
        "free-links and longest-first are equal under paper, but not elsewhere"
    )


def test_long_names_are_folded_not_squeezed(tmp_path: Path) -> None:
    fitted = tmp_path / "c.toml"
    fitted.write_text("[contention]\ndegradation = 0.22\n[intervals]\ndegradation = [0.12, 0.32]\n")
    options = ("--orders", "own,longest-first", "--calibration", fitted, "--draws", 1, "--metrics", "gap")
    shown = run("compare", ONE_LINK[0], "--policies", "adaptive-overlap,lwf", *options).stdout
    table = shown.partition("all pairs, over 1 draw\n")[2]
    assert "adaptive-overlap" in table
    assert all("adaptive-overl" not in line or "adaptive-overlap" in line for line in table.splitlines())
    assert len(table.splitlines()) < 20


def test_json_has_the_rankings() -> None:
    content = json.loads(run("compare", *ONE_LINK, "--contention-models", "paper,max-min", "--json").stdout)
    assert [model["contention"] for model in content["models"]] == ["paper", "max-min"]
    ranking = content["rankings"][0]
    assert (ranking["metric"], ranking["verdict"]) == ("makespan_s", "changes")
    assert ranking["orders"]["paper"] == ["free-links", "longest-first"]
    assert ranking["pairs"][0]["under"]["max-min"]["mean"] > 1
    assert content["summary"] == content["models"][0]["summary"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_is_no_place_for_rows(files: list[Path], tmp_path: Path) -> None:
    link = tmp_path / "full.csv"
    link.symlink_to("/dev/full")
    assert "is not a regular file" in sentence(run("compare", *files, "--policies", "first-fit", "-o", link))


HANGS_S = 300.0  # what takes longer never ends
# The command line, which also writes a letter for each row: a Parquet file is written at the end only.
COUNTING = """
import sys
from ringsched.analysis.compare.rows import ParquetRows
from ringsched.cli.main import main

counted = open(sys.argv[1], "w", buffering=1)
ParquetRows.add = lambda *_: counted.write("x") and counted.flush()
main(sys.argv[2:])
"""


@contextmanager
def started(
    *arguments: object, by: Sequence[object] = ("-m", "ringsched")
) -> Iterator[subprocess.Popen[str]]:
    """The command line in a process group of its own, as a terminal would start it."""
    with subprocess.Popen(
        [sys.executable, *map(str, by), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=users_environment(),
        start_new_session=True,
        # A shell starts its background work deaf to Ctrl-C, and so would be all that it starts.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def wait_until(process: subprocess.Popen[str], happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 600  # the kernels may have to be compiled first
    while not happened():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("number", [1, 2])
def test_interrupted_work_is_kept(files: list[Path], tmp_path: Path, number: int) -> None:
    output = tmp_path / "rows.csv"
    options = ("--policies", "random", "--seeds", 100_000, "--workers", number, "-o", output)
    with started("compare", *files, *options) as process:
        wait_until(process, lambda: output.exists() and output.read_bytes().count(b"\n") > 5)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
        stdout, stderr = process.communicate(timeout=HANGS_S)
    assert (process.returncode, stdout, stderr) == (130, "", "Error: interrupted\n")
    kept = rows_in(output)
    assert len(kept) >= 5
    assert all(row["status"] == "ok" for row in kept)


@pytest.mark.parametrize("number", [1, 2])
def test_sigterm_lost_the_rows_of_a_parquet_file(files: list[Path], tmp_path: Path, number: int) -> None:
    from pyarrow import parquet

    output, counted = tmp_path / "rows.parquet", tmp_path / "counted"
    options = ("--policies", "random", "--seeds", 100_000, "--workers", number, "-o", output)
    with started("compare", *files, *options, by=("-c", COUNTING, counted)) as process:
        wait_until(process, lambda: counted.exists() and counted.stat().st_size > 5)
        os.kill(process.pid, signal.SIGTERM)  # as `kill` and batch systems do: to the process alone
        stdout, stderr = process.communicate(timeout=HANGS_S)
    assert (process.returncode, stdout, stderr) == (143, "", "stopped by SIGTERM\n")
    assert parquet.read_table(output).num_rows > 0
    assert not list(tmp_path.glob(".rows.parquet*"))


def test_a_second_command_with_the_same_output_is_refused(files: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "rows.csv"
    options = ("--policies", "random", "--seeds", 100_000, "--workers", 1, "-o", output)
    with started("compare", *files, *options) as process:
        wait_until(process, lambda: output.exists() and output.read_bytes().count(b"\n") > 5)
        said = sentence(run("compare", *files, "--policies", "first-fit", "-o", output))
        assert "rows.csv: another comparison is writing this file" in said
        process.send_signal(signal.SIGKILL)
        process.communicate()
    # What is killed holds nothing any more.
    assert run("compare", *files, "--policies", "first-fit", "-o", output).exit_code == 0
    assert [row["policy"] for row in rows_in(output)][:4] == ["first-fit"] * 3 + ["random"]
    assert not list(tmp_path.glob(".*"))


def test_as_a_user_starts_it(files: list[Path]) -> None:
    done = run_process("compare", *files, "--policies", "longest-first,sjf-bco", "--workers", 2)
    assert (done.returncode, done.stderr) == (0, "")
