"""Comparisons: metrics by hand, pairs and intervals, files that are taken up again, other processes."""

from __future__ import annotations

import csv
import errno
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios import cluster, job, scenario
from tests.workloads import paper_mix

import ringsched
from ringsched import InputError, Plan, RingschedError, Scenario, compare, metrics_of
from ringsched.analysis.compare import runs, workers
from ringsched.analysis.compare.rows import sole_writer
from ringsched.analysis.compare.runs import ComparisonRow, code_version
from ringsched.analysis.compare.summary import (
    METRICS,
    PAIRED,
    interval,
    student_quantile,
    summaries,
)
from ringsched.analysis.metrics import percentile
from ringsched.errors import UnknownName
from ringsched.model import Placement, PlannedJob

NAMES = ["sjf-bco", "random", "longest-first"]


def small(iterations: int = 30, **time: Any) -> Scenario:
    return scenario(
        cluster(2, 2),
        job("a", gpus=2, iterations=iterations),
        job("b", iterations=20),
        job("c", gpus=2),
        time=time,
    )


SMALL = [small(30), small(40), small(50)]
# Whatever bisects finds nothing below this horizon; random and longest-first do not look at it.
TIGHT = small(60, horizon_s=2.0)


class FirstIdle:
    """First fit without theta."""

    name = "first-idle"

    def place(self, job: Any, cluster: Any) -> Any:
        chosen: dict[str, Any] = {}
        missing = job.gpus
        for server in cluster.servers:
            if missing and server.idle:
                chosen[server.name] = server.idle[:missing]
                missing -= len(chosen[server.name])
        return None if missing else chosen


class Unpicklable(FirstIdle):
    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle this")


# metrics

# 1 Gbit an iteration. Best case: 0.1 + 1/200 + 0.5/400 s, 9 iterations a slot; spread over two servers and
# alone: 0.1 + 1/10 + 0.5/400 s, 4 a slot; two of them on the same links: 0.1 + 2/10 + 0.5/400 s, 3 a slot.
EXCHANGE = {"gpus": 2, "iterations": 36, "gradient_mb": 125}


def spread_plan(crossing: Scenario, *jobs: tuple[str, float, float, dict[str, list[int]]]) -> Plan:
    finishes = [finish_s for _, _, finish_s, _ in jobs]
    submits = [job.submit_s for job in crossing.jobs]
    bound_s = ringsched.lower_bounds(crossing)[0].value_s
    return Plan(
        scenario_sha256=crossing.sha256(),
        policy="by-hand",
        makespan_s=max(finishes),
        mean_completion_s=(sum(finishes) - sum(submits)) / len(jobs),
        lower_bound_s=bound_s,
        gap=max(finishes) / bound_s,
        bounds=ringsched.lower_bounds(crossing),
        jobs=tuple(
            PlannedJob(
                name=name,
                start_s=start_s,
                finish_s=finish_s,
                gpus=Placement(gpus),
                ring=tuple((server, gpu) for server, held in gpus.items() for gpu in held),
            )
            for name, start_s, finish_s, gpus in jobs
        ),
    )


def test_losses_by_hand() -> None:
    crossing = scenario(cluster(2, 2), job("a", **EXCHANGE), job("b", **EXCHANGE))
    plan = spread_plan(crossing, ("a", 0, 12, {"s0": [0], "s1": [0]}), ("b", 0, 12, {"s0": [1], "s1": [1]}))
    assert ringsched.verify(crossing, plan).valid
    metrics = metrics_of(crossing, plan)
    assert (metrics.makespan_s, metrics.mean_completion_s, metrics.p95_completion_s) == (12, 12, 12)
    assert metrics.gpu_utilisation == 1
    # 36 iterations, each 0.1 s longer than on an idle link; an idle link costs each 0.1 s - 0.005 s more.
    assert metrics.contention_loss == pytest.approx(36 * 0.1 / 12)
    assert metrics.spreading_loss == pytest.approx(36 * 0.095 / 12)
    assert (metrics.lower_bound_s, metrics.gap) == (4, 3)


def test_no_loss_inside_servers() -> None:
    inside = scenario(cluster(2, 4), job("a", **EXCHANGE), job("b", **EXCHANGE, submit_s=2))
    plan = spread_plan(inside, ("a", 0, 4, {"s0": [0, 1]}), ("b", 2, 6, {"s1": [0, 1]}))
    assert ringsched.verify(inside, plan).valid
    metrics = metrics_of(inside, plan)
    assert (metrics.contention_loss, metrics.spreading_loss) == (0, 0)
    assert metrics.gpu_utilisation == pytest.approx((2 * 4 + 2 * 4) / (6 * 6))
    assert (metrics.mean_completion_s, metrics.p95_completion_s) == (4, 4)


def test_unavailable_gpus_are_not_counted_and_a_running_job_has_no_choice_of_place() -> None:
    running = job("a", **EXCHANGE, running_on={"s0": [0], "s1": [0]})
    servers = tuple(server.replace(unavailable=(1,)) for server in cluster(2, 2).servers)
    held = scenario(cluster(2, 2, servers=servers), running)
    metrics = metrics_of(held, ringsched.plan(held))
    assert metrics.makespan_s == 9
    assert (metrics.gpu_utilisation, metrics.contention_loss, metrics.spreading_loss) == (1, 0, 0)


def test_metrics_of_no_jobs() -> None:
    empty = scenario(cluster(1))
    metrics = metrics_of(empty, ringsched.plan(empty))
    assert (metrics.makespan_s, metrics.gpu_utilisation, metrics.p95_completion_s) == (0, 0, 0)
    assert (metrics.contention_loss, metrics.spreading_loss, metrics.gap) == (0, 0, 1)


def test_metrics_of_another_scenario() -> None:
    with pytest.raises(InputError, match="was made for another scenario"):
        metrics_of(scenario(cluster(2, 2), job("x")), ringsched.plan(SMALL[0]))


@pytest.mark.parametrize("model", ["slotted", "continuous"])
def test_shares_are_shares(model: str) -> None:
    mix = paper_mix(3).replace(time=ringsched.Time(model=model))
    for policy in ringsched.list_policies():
        if policy.name in NAMES:
            metrics = metrics_of(mix, ringsched.plan(mix, policy.name))
            assert 0 < metrics.gpu_utilisation <= 1
            assert 0 <= metrics.contention_loss + metrics.spreading_loss < 1


def test_percentile_is_the_nearest_rank() -> None:
    assert percentile([float(value) for value in range(1, 21)], 0.95) == 19
    assert percentile([float(value) for value in range(1, 22)], 0.95) == 20
    assert percentile([7.0], 0.95) == 7


# intervals and pairs


@pytest.mark.parametrize(
    ("degrees", "known"),
    [
        (1, 12.7062047364),
        (2, 4.3026527297),
        (3, 3.1824463053),
        (4, 2.7764451052),
        (5, 2.5705818356),
        (10, 2.2281388520),
        (19, 2.0930240544),
        (30, 2.0422724563),
        (100, 1.9839715185),
        (1000, 1.9623390808),
        (10**9, 1.9599639869),
    ],
)
def test_studenstudent_quantiles(degrees: int, known: float) -> None:
    assert student_quantile(degrees) == pytest.approx(known, abs=1e-9)


def test_interval_by_hand() -> None:
    # Mean 2, variance 1, three values: 2 +- 4.3027 / sqrt(3).
    assert interval([1.0, 2.0, 3.0]) == pytest.approx((2, 2 - 2.4841377, 2 + 2.4841377))


def row(policy: str, at: int, makespan_s: float | None, seed: int | None = None) -> ComparisonRow:
    numbers = ("mean_completion_s", "p95_completion_s", "gpu_utilisation", "contention_loss")
    numbers += ("spreading_loss", "lower_bound_s", "gap", "max_slowdown", "planning_s")
    return ComparisonRow(
        scenario=f"s{at}",
        scenario_sha256=f"digest-{at}",
        policy=policy,
        order="fifo",
        seed=seed,
        ringsched_version="1",
        status="infeasible" if makespan_s is None else "ok",
        makespan_s=makespan_s,
        **({} if makespan_s is None else dict.fromkeys(numbers, 1.0)),
    )


def test_pairs_over_scenarios() -> None:
    base = [row("base", at, value) for at, value in enumerate([10.0, 100.0, 1000.0])]
    other = [row("other", at, value) for at, value in enumerate([20.0, 100.0, 4000.0])]
    first, second = summaries([*base, *other])
    assert first.makespan_ratio is None
    ratio = second.makespan_ratio
    assert ratio is not None
    half = 4.3026527297 * math.log(2) / math.sqrt(3)  # the logs are 1, 0 and 2 times log 2
    assert (ratio.num_pairs, ratio.num_left_out) == (3, 0)
    assert (ratio.mean, ratio.low, ratio.high) == pytest.approx((2, 2 * math.exp(-half), 2 * math.exp(half)))


def test_infeasible_runs_are_counted_and_left_out_of_pairs() -> None:
    base = [row("base", 0, 10.0), row("base", 1, None), row("base", 2, 10.0), row("base", 3, 10.0)]
    other = [row("other", 0, 20.0), row("other", 1, 5.0), row("other", 2, None), row("other", 3, 20.0)]
    first, second = summaries([*base, *other])
    assert (first.num_runs, first.num_infeasible, first.means["makespan_s"]) == (4, 1, 10)
    assert (second.num_runs, second.num_infeasible, second.means["makespan_s"]) == (4, 1, 15)
    ratio = second.makespan_ratio
    assert ratio is not None
    assert (ratio.num_pairs, ratio.num_left_out) == (2, 2)
    assert (ratio.mean, ratio.low, ratio.high) == pytest.approx((2, 2, 2))


def test_nothing_feasible() -> None:
    _, second = summaries([row("base", 0, 10.0), row("other", 0, None)])
    ratio = second.makespan_ratio
    assert second.means == {}
    assert ratio is not None
    assert (ratio.mean, ratio.low, ratio.num_pairs, ratio.num_left_out) == (None, None, 0, 1)


def test_one_pair_has_no_interval() -> None:
    ratio = summaries([row("base", 0, 10.0), row("other", 0, 5.0)])[1].makespan_ratio
    assert ratio is not None
    assert (ratio.mean, ratio.low, ratio.high) == (pytest.approx(0.5), None, None)


def test_seeds_of_one_scenario_are_the_sample() -> None:
    rows = [row("base", 0, 10.0), *(row("other", 0, value, seed) for seed, value in enumerate([10.0, 40.0]))]
    ratio = summaries(rows)[1].makespan_ratio
    assert ratio is not None
    assert (ratio.mean, ratio.num_pairs) == (pytest.approx(2), 2)
    assert ratio.low is not None


def test_seeds_of_several_scenarios_do_not_feign_more_scenarios() -> None:
    rows = [row("base", at, 10.0) for at in range(3)]
    once = [row("other", at, 10.0 * 2**at, 0) for at in range(3)]
    often = [replace(each, seed=seed) for each in once for seed in range(50)]
    one, many = (summaries([*rows, *others])[1].makespan_ratio for others in (once, often))
    assert one is not None
    assert many is not None
    assert (one.num_pairs, many.num_pairs) == (3, 150)
    assert (one.low, one.high) == pytest.approx((many.low, many.high))


def test_two_policies_with_seeds_meet_seed_by_seed() -> None:
    rows = [row("base", 0, value, seed) for seed, value in enumerate([10.0, 1000.0])]
    rows += [row("other", 0, value, seed) for seed, value in enumerate([20.0, 2000.0])]
    ratio = summaries(rows)[1].makespan_ratio
    assert ratio is not None
    assert (ratio.low, ratio.high) == pytest.approx((2, 2))


def test_every_metric_has_its_interval_over_pairs() -> None:
    """Times as ratios, shares, which may be 0, as differences."""
    base = [replace(row("base", at, 10.0), mean_completion_s=4.0, contention_loss=0.25) for at in range(3)]
    other = [
        replace(row("other", at, 20.0), mean_completion_s=1.0 + at, contention_loss=0.0) for at in range(3)
    ]
    first, second = summaries([*base, *other])
    assert first.pairs == {}
    assert set(second.pairs) == set(PAIRED) == set(METRICS) - {"lower_bound_s"}
    assert second.pairs["makespan_s"] == second.makespan_ratio
    loss, mean = second.pairs["contention_loss"], second.pairs["mean_completion_s"]
    assert (loss.measure, loss.mean, loss.low, loss.high) == ("difference", -0.25, -0.25, -0.25)
    logs = [math.log((1.0 + at) / 4.0) for at in range(3)]
    expected = tuple(math.exp(end) for end in interval(logs) if end is not None)
    assert (mean.measure, mean.mean, mean.low, mean.high) == ("ratio", *expected)


# compare


def test_runs_are_policies_by_scenarios_by_seeds() -> None:
    result = compare(SMALL, NAMES, seeds=2, seed=5)
    found = [(row.policy, row.scenario, row.seed) for row in result.rows]
    assert found == [
        *(("sjf-bco", f"scenario-{at}", None) for at in range(3)),
        *(("random", f"scenario-{at}", seed) for at in range(3) for seed in (5, 6)),
        *(("longest-first", f"scenario-{at}", None) for at in range(3)),
    ]
    assert [summary.num_runs for summary in result.summary] == [3, 6, 3]
    for at, row in enumerate(result.rows[:3]):
        plan = ringsched.plan(SMALL[at], "sjf-bco")
        assert (row.makespan_s, row.gap) == (plan.makespan_s, plan.gap)
        assert row.scenario_sha256 == SMALL[at].sha256()


def test_orders_are_crossed_with_policies_each_once() -> None:
    result = compare(SMALL[:1], ["first-fit", "longest-first"], orders=["own", "longest-first"])
    found = [(row.policy, row.order) for row in result.rows]
    assert found == [
        ("first-fit", "fifo"),
        ("first-fit", "longest-first"),
        ("longest-first", "longest-first"),
    ]


def test_seed_and_order_reach_the_policy() -> None:
    mix = paper_mix(1)
    result = compare([mix], ["random"], orders=["own", "longest-first"], seeds=2, seed=3, workers=1)
    expected = [
        ringsched.plan(mix, "random", order=order, seed=seed).makespan_s
        for order in ("fifo", "longest-first")
        for seed in (3, 4)
    ]
    assert [row.makespan_s for row in result.rows] == expected
    assert len(set(expected)) == 4


def test_scenarios_of_one_name_are_told_apart() -> None:
    result = compare([each.replace(name="queue") for each in SMALL], ["first-fit"])
    assert [row.scenario for row in result.rows] == ["queue", "queue-1", "queue-2"]


def test_infeasible_is_a_row() -> None:
    result = compare([TIGHT, SMALL[0]], ["longest-first", "first-fit"])
    tight = result.rows[2]
    assert (tight.policy, tight.status, tight.makespan_s, tight.gap) == (
        "first-fit",
        "infeasible",
        None,
        None,
    )
    assert tight.lower_bound_s == ringsched.lower_bounds(TIGHT)[0].value_s
    summary = result.summary[1]
    assert (summary.num_runs, summary.num_infeasible) == (2, 1)


def test_a_policy_of_ones_own(tmp_path: Path) -> None:
    result = compare(SMALL, ["first-fit", FirstIdle()], workers=2)
    assert [row.policy for row in result.rows[3:]] == ["first-idle"] * 3
    assert [row.makespan_s for row in result.rows[3:]] == [row.makespan_s for row in result.rows[:3]]


def test_results_that_nobody_takes_are_not_warned_about(recwarn: pytest.WarningsRecorder) -> None:
    """After Ctrl-C, joblib once advised to compute less."""
    results = workers.on_cores(abs, range(1000), 2)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert list(recwarn) == []


def test_a_policy_that_cannot_travel() -> None:
    with pytest.raises(InputError, match="cannot be sent to another process"):
        compare(SMALL, [Unpicklable()], workers=2)
    assert len(compare(SMALL, [Unpicklable()], workers=1).rows) == 3


def test_a_policy_that_errs_ends_the_work_with_its_own_error() -> None:
    class Wrong(FirstIdle):
        def place(self, job: Any, cluster: Any) -> Any:
            return {"s9": [0]}

    with pytest.raises(ringsched.PolicyError, match="there is no server 's9'"):
        compare(SMALL, [Wrong()], workers=2)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"policies": []}, "policies must name at least one"),
        ({"scenarios": []}, "scenarios must name at least one"),
        ({"orders": []}, "orders must name at least one"),
        ({"seeds": 0}, "seeds must be an integer >= 1"),
        ({"seed": -1}, "seed must be an integer >= 0"),
        ({"workers": 0}, "workers must be an integer >= 1"),
        ({"scenarios": [SMALL[0], SMALL[1], SMALL[0]]}, "scenario-2: is the same scenario as scenario-0"),
        ({"scenarios": [7]}, r"scenarios\[0\] must be a Scenario"),
        ({"policies": [FirstIdle(), FirstIdle()]}, "two policies named 'first-idle'"),
        ({"output": "rows.txt"}, r"rows.txt: must end in .csv or .parquet"),
    ],
)
def test_what_is_wrong_with_the_question(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        compare(**({"scenarios": SMALL, "policies": NAMES} | arguments))


def test_unknown_names() -> None:
    with pytest.raises(UnknownName, match="unknown policy 'fist-fit'"):
        compare(SMALL, ["fist-fit"])
    with pytest.raises(UnknownName, match="unknown order 'lifo'"):
        compare(SMALL, NAMES, orders=["lifo"])


def test_a_job_that_would_not_move_is_found_before_anything_runs(tmp_path: Path) -> None:
    stuck, output = scenario(cluster(1), job("slow", backward_ms=2000)), tmp_path / "rows.csv"
    with pytest.raises(InputError, match="'slow': an iteration can take 2 s"):
        compare([*SMALL, stuck], NAMES, output=output)
    assert not output.exists()


# files and resuming


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[runs.Task]:
    """The runs that are done in this process."""
    done: list[runs.Task] = []
    original = runs.run_task

    def counted(task: runs.Task) -> ComparisonRow:
        done.append(task)
        return original(task)

    monkeypatch.setattr(workers, "run_task", counted)
    return done


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file without the times, which differ from run to run."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            rows: list[dict[str, Any]] = list(csv.DictReader(file))
    else:
        from pyarrow import parquet

        rows = parquet.read_table(path).to_pylist()
    return [{key: value for key, value in row.items() if key != "planning_s"} for row in rows]


@pytest.fixture(params=["rows.csv", "rows.parquet"])
def output(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / request.param


def test_file_holds_the_rows(output: Path) -> None:
    result = compare([*SMALL, TIGHT], NAMES, seeds=2, output=output)
    assert len(read(output)) == len(result.rows)
    again = compare([*SMALL, TIGHT], NAMES, seeds=2, output=output)
    assert again.rows == result.rows
    assert again.num_resumed == len(result.rows)
    assert list(output.parent.iterdir()) == [output]


def test_nothing_is_computed_twice(output: Path, calls: list[runs.Task]) -> None:
    compare(SMALL, NAMES, seeds=2, output=output, workers=1)
    whole, number = output.read_bytes(), len(calls)
    calls.clear()
    compare(SMALL, NAMES, seeds=2, output=output, workers=1)
    assert (calls, output.read_bytes()) == ([], whole)
    compare(SMALL, [*NAMES, "first-fit"], seeds=3, output=output, workers=1)
    assert [(task.row.policy, task.row.seed) for task in calls] == [("random", 2)] * 3 + [
        ("first-fit", None)
    ] * 3
    calls.clear()
    compare(SMALL, NAMES, seeds=2, output=output, workers=1, resume=False)
    assert len(calls) == number == len(read(output))


@pytest.mark.parametrize("cut", [1, 7, 150])
def test_a_truncated_file_is_taken_up_again(tmp_path: Path, calls: list[runs.Task], cut: int) -> None:
    path = tmp_path / "rows.csv"
    compare(SMALL, NAMES, output=path, workers=1)
    whole = read(path)
    path.write_bytes(path.read_bytes()[:-cut])
    left = path.read_text().count("\n") - 1
    calls.clear()
    compare(SMALL, NAMES, output=path, workers=1)
    assert len(calls) == len(whole) - left
    assert 0 < left < len(whole)
    assert read(path) == whole


def test_rows_of_other_comparisons_stay(output: Path) -> None:
    compare(SMALL, ["first-fit"], output=output)
    compare(SMALL[:1], ["longest-first"], output=output)
    assert [row["policy"] for row in read(output)] == ["longest-first", *["first-fit"] * 3]


def made_by_another_version(path: Path) -> None:
    path.write_text(path.read_text().replace(f",{code_version()},", ",0.0.0,"))


def interrupt_after(number: int) -> Callable[[int, int], None]:
    """Ctrl-C once so many rows are there that were not there from before."""
    seen: list[int] = []

    def on_row(done: int, _total: int) -> None:
        seen.append(done)
        if done == seen[0] + number:
            raise KeyboardInterrupt

    return on_row


def test_rows_of_another_version_give_way(tmp_path: Path, calls: list[runs.Task]) -> None:
    path = tmp_path / "rows.csv"
    compare(SMALL, ["first-fit"], output=path, workers=1)
    made_by_another_version(path)
    calls.clear()
    compare(SMALL, ["first-fit"], output=path, workers=1)
    assert len(calls) == 3
    assert [row["ringsched_version"] for row in read(path)] == [code_version()] * 3


def test_rows_of_another_version_stay_until_they_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    compare(SMALL, ["first-fit"], output=path, workers=1)
    made_by_another_version(path)
    with pytest.raises(KeyboardInterrupt):
        compare(SMALL, ["first-fit"], output=path, workers=1, on_row=interrupt_after(1))
    assert [row["ringsched_version"] for row in read(path)] == [code_version(), "0.0.0", "0.0.0"]
    assert len({row["scenario_sha256"] for row in read(path)}) == 3
    result = compare(SMALL, ["first-fit"], output=path, workers=1)
    assert (len(result.rows), result.num_resumed) == (3, 1)
    assert {row.ringsched_version for row in result.rows} == {code_version()}
    assert [row["ringsched_version"] for row in read(path)] == [code_version()] * 3


def test_rows_of_ones_own_policies_stay_until_they_are_replaced(output: Path) -> None:
    compare(SMALL, [FirstIdle()], output=output, workers=1)
    with pytest.raises(KeyboardInterrupt):
        compare(SMALL, [FirstIdle()], output=output, workers=1, on_row=interrupt_after(1))
    assert len({row["scenario_sha256"] for row in read(output)}) == len(read(output)) == 3


def test_a_row_that_a_crash_left_beside_its_replacement_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    compare(SMALL, [FirstIdle()], output=path, workers=1)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines, lines[1]]))
    compare(SMALL, ["first-fit"], output=path, workers=1)
    assert [row["policy"] for row in read(path)] == ["first-fit"] * 3 + ["first-idle"] * 3


def test_rows_of_code_that_has_changed_are_computed_anew(
    output: Path, calls: list[runs.Task], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compare(SMALL, ["first-fit"], output=output, workers=1)
    package = tmp_path / "package"
    shutil.copytree(Path(ringsched.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(runs, "PACKAGE", package)
    monkeypatch.setattr(runs, "LEFT_OUT", package / "cli")
    try:
        for name, num_runs in (("cli/main.py", 3), ("rules/first_fit.py", 6)):
            (package / name).write_text((package / name).read_text() + "# changed\n")
            code_version.cache_clear()
            compare(SMALL, ["first-fit"], output=output, workers=1)
            assert len(calls) == num_runs
    finally:
        monkeypatch.undo()
        code_version.cache_clear()


def test_policies_of_ones_own_are_always_computed_anew(output: Path, calls: list[runs.Task]) -> None:
    for _ in range(2):
        compare(SMALL, ["first-fit", FirstIdle()], output=output, workers=1)
    assert [task.row.policy for task in calls] == ["first-fit"] * 3 + ["first-idle"] * 6
    assert len(read(output)) == 6


def test_what_was_done_before_an_interruption_is_kept(
    output: Path, calls: list[runs.Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(done: int, _total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(SMALL, NAMES, output=output, workers=1, on_row=interrupt)
    assert len(read(output)) == 4
    compare(SMALL, NAMES, output=output, workers=1)
    assert len(calls) == 9


def test_rows_are_in_the_csv_file_as_they_come(tmp_path: Path) -> None:
    path, seen = tmp_path / "rows.csv", []
    compare(SMALL, NAMES, output=path, workers=1, on_row=lambda *_: seen.append(path.exists() and read(path)))
    assert [len(rows or []) for rows in seen] == [0, *range(1, 10)]


def test_two_comparisons_with_one_output_lost_each_others_rows(output: Path) -> None:
    compare(SMALL[:1], ["first-fit"], output=output, workers=1)
    refusals: list[str] = []

    def meanwhile(done: int, _total: int) -> None:
        if done == 1:
            with pytest.raises(InputError, match="another comparison is writing this file") as refused:
                compare(SMALL, ["longest-first"], output=output, workers=1)
            refusals.append(str(refused.value))

    compare(SMALL, ["first-fit"], output=output, workers=1, on_row=meanwhile)
    assert refusals == [
        f"{output}: another comparison is writing this file; wait until it ends, or write to another file"
    ]
    compare(SMALL, ["longest-first"], output=output, workers=1)
    assert len(read(output)) == 6
    assert list(output.parent.iterdir()) == [output]


def test_another_name_for_the_output_is_the_same_output(tmp_path: Path) -> None:
    path, link = tmp_path / "rows.csv", tmp_path / "link.csv"
    link.symlink_to(path)
    with sole_writer(path), pytest.raises(InputError, match="another comparison"), sole_writer(link):
        pass
    with sole_writer(link):
        pass
    assert list(tmp_path.iterdir()) == [link]


HOLDER = """
import sys, time
from pathlib import Path
from ringsched.analysis.compare.rows import sole_writer
with sole_writer(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(300)
"""


def test_a_comparison_that_was_killed_keeps_nobody_away(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="another comparison"), sole_writer(path):
            pass
        holder.kill()
    assert len(list(tmp_path.iterdir())) == 1  # its lock file is still there
    with sole_writer(path):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_where_a_file_system_has_no_locks_nobody_is_kept_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: int
) -> None:
    def flock(_handle: int, _operation: int) -> None:
        raise OSError(missing, os.strerror(missing))

    monkeypatch.setattr("fcntl.flock", flock)
    with sole_writer(tmp_path / "rows.csv"), sole_writer(tmp_path / "rows.csv"):
        pass


def test_two_files_with_one_beginning_of_their_names_are_two_files(tmp_path: Path) -> None:
    with sole_writer(tmp_path / f"{'x' * 240}1.csv"), sole_writer(tmp_path / f"{'x' * 240}2.csv"):
        pass


def test_the_temporary_parquet_file_has_a_name_of_its_own(tmp_path: Path) -> None:
    path, theirs = tmp_path / "rows.parquet", tmp_path / ".rows.parquet.new"
    theirs.write_text("somebody's")
    compare(SMALL, ["first-fit"], output=path, workers=1)
    assert theirs.read_text() == "somebody's"
    assert path.stat().st_mode & 0o777 == theirs.stat().st_mode & 0o777


@pytest.mark.parametrize(
    "content",
    [b"a,b\n1,2\n", b"\x00\x01\n", b"PAR1 or not", b"\n\n", ",".join(["scenario"] * 16).encode() + b"\n"],
)
def test_files_of_others_are_left_alone(output: Path, content: bytes) -> None:
    output.write_bytes(content)
    with pytest.raises(InputError, match=f"{output.name}: "):
        compare(SMALL, NAMES, output=output)
    assert output.read_bytes() == content


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    compare(SMALL, NAMES, output=path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:2], lines[2].replace(",ok,", ",fine,"), *lines[3:]]))
    with pytest.raises(InputError, match=r"rows.csv: line 3: was not written by"):
        compare(SMALL, NAMES, output=path)


# other processes and machines


@pytest.fixture
def always_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "SMALL_WORK", 0)


@pytest.mark.usefixtures("always_pool")
def test_same_file_for_any_number_of_workers(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one.csv", "two.csv", "all.csv")]
    for path, number in zip(paths, (1, 2, None), strict=True):
        compare([*SMALL, TIGHT], NAMES, seeds=3, output=path, workers=number)
    assert read(paths[0]) == read(paths[1]) == read(paths[2])
    assert len(read(paths[0])) == 4 + 12 + 4


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a real Dask cluster in this process, reached over TCP."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address=None,
    ) as local:
        yield local.scheduler_address


def test_same_rows_from_a_dask_cluster(tmp_path: Path, scheduler: str) -> None:
    here, there = tmp_path / "here.csv", tmp_path / "there.csv"
    compare([*SMALL, TIGHT], [*NAMES, FirstIdle()], seeds=2, output=here)
    compare([*SMALL, TIGHT], [*NAMES, FirstIdle()], seeds=2, output=there, dask=scheduler)
    assert read(here) == read(there)


def test_errors_come_back_from_a_dask_cluster(scheduler: str) -> None:
    class Wrong(FirstIdle):
        def place(self, job: Any, cluster: Any) -> Any:
            return {"s9": [0]}

    with pytest.raises(ringsched.PolicyError, match="there is no server 's9'"):
        compare(SMALL, [Wrong()], dask=scheduler)


@pytest.mark.parametrize("address", ["", "nowhere", "tcp://127.0.0.1:1", "smoke://signals:1"])
def test_no_dask_cluster_there(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "CONNECT_S", 0.2)
    with pytest.raises(InputError, match="no Dask scheduler responds"):
        compare(SMALL, NAMES, dask=address, output=tmp_path / "rows.csv")
    assert not list(tmp_path.iterdir())


def test_a_worker_of_another_version_is_refused() -> None:
    row = ComparisonRow(
        scenario="s",
        scenario_sha256="",
        policy="first-fit",
        order="fifo",
        seed=None,
        ringsched_version="99",
    )
    with pytest.raises(RingschedError, match="this machine has 99; install the same"):
        runs.run_task(runs.Task(row=row, scenario=SMALL[0], policy="first-fit", order=None))


def test_missing_extras_name_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InputError, match=r"needs Dask; in a clone of ringsched: pip install '\.\[dask\]'"):
        compare(SMALL, NAMES, dask="tcp://127.0.0.1:1")
    with pytest.raises(
        InputError, match=r"needs pyarrow; in a clone of ringsched: pip install '\.\[parquet\]'"
    ):
        compare(SMALL, NAMES, output=tmp_path / "rows.parquet")


def test_bound_and_gap_of_a_row_are_those_of_the_objective(tmp_path: Path) -> None:
    problem = scenario(cluster(2), job("a", iterations=30), job("b", iterations=20), job("c", iterations=10))
    path = tmp_path / "rows.csv"
    for objective in ringsched.OBJECTIVES:
        found = ringsched.compare([problem], ["longest-first"], objective=objective, output=path).rows[0]
        plan = ringsched.plan(problem, "longest-first", objective=objective)
        assert (found.objective, found.lower_bound_s, found.gap) == (objective, plan.lower_bound_s, plan.gap)
    assert [line["objective"] for line in read(path)] == [*reversed(ringsched.OBJECTIVES)]
    again = ringsched.compare([problem], ["longest-first"], objective="mean-completion", output=path)
    assert again.num_resumed == 1


def test_an_infeasible_row_has_the_bound_of_its_objective() -> None:
    row = ringsched.compare([TIGHT], ["first-fit"], objective="mean-completion").rows[0]
    assert row.status == "infeasible"
    assert row.lower_bound_s == ringsched.lower_bounds(TIGHT, "mean-completion")[0].value_s


def test_an_unknown_objective_is_refused() -> None:
    with pytest.raises(InputError, match="objective must be"):
        ringsched.compare([TIGHT], ["first-fit"], objective="cost")
