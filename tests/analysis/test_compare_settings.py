"""Comparisons under several models of contention, and over draws from a calibration."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import InputError, Scenario, compare
from ringsched.analysis.compare import runs, workers
from ringsched.analysis.compare.compare import Comparison
from ringsched.analysis.compare.ranking import Ranking, doubts, rankings, side, stabilities
from ringsched.analysis.compare.rows import ADDED, COLUMNS
from ringsched.analysis.compare.runs import ComparisonRow
from ringsched.analysis.compare.settings import drawn
from ringsched.analysis.compare.summary import Paired
from ringsched.model.calibration import Calibration, apply_calibration

ONE_LINK = ringsched.load_scenario("examples/one-link.toml")
POLICIES = ["longest-first", "free-links"]
MODELS = ["paper", "max-min"]
# With 20 ms of computation and 1.25 ms of summing up to 100 ms of exchange: two jobs on the link take
# 221.25 ms + 100 ms x degradation, one after the other 242.5 ms.
TURN = 0.2125


def one_link(degradation: float = 0.2745, iterations: int = 1000) -> Scenario:
    jobs = tuple(job.replace(iterations=iterations) for job in ONE_LINK.jobs)
    return ONE_LINK.replace(jobs=jobs, contention=ONE_LINK.contention.replace(degradation=degradation))


def links(degradation: float) -> list[Scenario]:
    return [one_link(degradation, iterations) for iterations in (1000, 1500, 3000)]


def by_makespan(result: Comparison) -> Ranking:
    found = result.rankings[0]
    assert found.metric == "makespan_s"
    return found


# models


def test_to_wait_or_to_share_depends_on_the_model() -> None:
    """Wang's degradation: waiting wins by the paper's rule, sharing if links are shared fairly."""
    result = compare([ONE_LINK], POLICIES, contention_models=MODELS)
    ranking = by_makespan(result)
    assert ranking.verdict == "changes"
    assert ranking.orders == {
        "paper": ("free-links", "longest-first"),
        "max-min": ("longest-first", "free-links"),
    }
    (pair,) = ranking.pairs
    assert (pair.policy, pair.against) == ("free-links", "longest-first")
    assert pair.under["paper"].mean == pytest.approx(242.5 / (221.25 + 27.45))
    assert pair.under["max-min"].mean == pytest.approx(242.5 / 200)
    assert [(row.contention, row.policy) for row in result.rows] == [
        (model, policy) for model in MODELS for policy in POLICIES
    ]
    for row in result.rows:
        changed = ONE_LINK.replace(contention=ONE_LINK.contention.replace(model=row.contention))
        assert row.scenario_sha256 == changed.sha256()
        assert row.makespan_s == ringsched.plan(changed, row.policy).makespan_s


def test_a_ranking_that_survives() -> None:
    ranking = by_makespan(compare(links(degradation=0.1), POLICIES, contention_models=MODELS))
    assert ranking.verdict == "survives"
    assert set(ranking.orders.values()) == {("longest-first", "free-links")}
    assert [pair.verdict for pair in ranking.pairs] == ["survives"]


def test_a_change_within_the_interval_is_undecided() -> None:
    mixed = [one_link(0.2745, 1000), one_link(0.0, 2000), one_link(0.5, 3000)]
    result = compare(mixed, POLICIES, contention_models=MODELS)
    ranking = by_makespan(result)
    paper = ranking.pairs[0].under["paper"]
    assert paper.low is not None
    assert paper.high is not None
    assert paper.low < 1 < paper.high
    assert ranking.verdict == "undecided"


def test_the_first_model_is_the_summary_and_each_has_its_own() -> None:
    result = compare(links(0.2745), POLICIES, contention_models=["max-min", "paper"])
    assert [model.contention for model in result.models] == ["max-min", "paper"]
    assert result.summary == result.models[0].summary
    ratios = [model.summary[1].makespan_ratio for model in result.models]
    assert [ratio is not None and ratio.mean for ratio in ratios] == [
        pytest.approx(242.5 / 200),
        pytest.approx(242.5 / 248.7),
    ]
    assert [summary.num_runs for model in result.models for summary in model.summary] == [3, 3, 3, 3]


def test_without_models_every_scenario_has_its_own() -> None:
    fair = ONE_LINK.replace(contention=ringsched.Contention(model="max-min"))
    result = compare([ONE_LINK, fair], POLICIES)
    assert [row.contention for row in result.rows] == MODELS * 2
    assert [model.contention for model in result.models] == [None]
    assert result.rankings == ()


def pair(mean: float | None, low: float | None = None, high: float | None = None, **other: Any) -> Paired:
    given = {"measure": "ratio", "num_pairs": 3, "num_left_out": 0} | other
    return Paired(mean=mean, low=low, high=high, **given)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (pair(0.9, 0.8, 0.99), -1),
        (pair(1.1, 1.01, 1.2), 1),
        (pair(0.9, 0.8, 1.01), None),
        (pair(0.9, 0.8, 1.0), None),
        (pair(1.0, 1.0, 1.0), 0),
        (pair(0.9), -1),
        (pair(1 - 1e-15), 0),  # rounding
        (pair(1e-17, measure="difference"), 0),
        (pair(None), None),
        (pair(0.9, num_pairs=1, num_left_out=3), None),  # what is left of four
        (pair(0.02, 0.01, 0.03, measure="difference"), 1),
        (pair(-0.02, -0.03, -0.01, measure="difference"), -1),
    ],
)
def test_sides(found: Paired, expected: int | None) -> None:
    assert side(found) == expected


def rows(policy: str, makespans: Sequence[float | None]) -> list[ComparisonRow]:
    numbers = [
        name
        for name in COLUMNS
        if name.endswith(("_s", "_loss")) or name in ("gap", "gpu_utilisation", "max_slowdown")
    ]
    return [
        ComparisonRow(
            scenario=f"s{at}",
            scenario_sha256=f"digest-{at}",
            policy=policy,
            order="fifo",
            seed=None,
            ringsched_version="1",
            status="infeasible" if makespan_s is None else "ok",
            **({} if makespan_s is None else dict.fromkeys(numbers, makespan_s)),
        )
        for at, makespan_s in enumerate(makespans)
    ]


def test_one_pair_that_changes_changes_the_ranking_and_others_still_survive() -> None:
    under = {
        "paper": [*rows("a", [10.0, 20.0]), *rows("b", [11.0, 22.0]), *rows("c", [30.0, 60.0])],
        "max-min": [*rows("a", [12.0, 24.0]), *rows("b", [11.0, 22.0]), *rows("c", [30.0, 60.0])],
    }
    ranking = rankings(under)[0]
    assert [(each.policy, each.against, each.verdict) for each in ranking.pairs] == [
        ("b", "a", "changes"),
        ("c", "a", "survives"),
        ("c", "b", "survives"),
    ]
    assert ranking.verdict == "changes"
    assert ranking.orders == {"paper": ("a", "b", "c"), "max-min": ("b", "a", "c")}


def test_a_policy_that_is_never_feasible_is_undecided_and_last() -> None:
    under = {model: [*rows("a", [10.0, 20.0]), *rows("b", [None, None])] for model in MODELS}
    ranking = rankings(under)[0]
    assert ranking.verdict == "undecided"
    assert ranking.orders["paper"] == ("a", "b")


def test_a_single_pair_left_of_several_decides_nothing() -> None:
    """b was behind in four scenarios, then ahead in the one it was feasible in: "change places"."""
    behind = [*rows("a", [10.0, 20.0, 30.0, 40.0]), *rows("b", [11.0, 22.1, 33.2, 44.1])]
    ahead = [*rows("a", [10.0, 20.0, 30.0, 40.0]), *rows("b", [9.9, None, None, None])]
    under = rankings({"paper": behind, "max-min": ahead})[0].pairs[0]
    assert (under.under["max-min"].num_left_out, under.verdict) == (3, "undecided")
    assert doubts(under.under) == {"max-min": "left alone"}
    assert rankings({"paper": ahead, "max-min": ahead})[0].verdict == "undecided"
    single = [*rows("a", [10.0]), *rows("b", [9.9])]  # nothing left out, but no interval beside one
    assert rankings({"paper": behind, "max-min": single})[0].verdict == "undecided"
    assert rankings({"paper": single, "max-min": single})[0].verdict == "survives"


def test_every_doubt_is_told_apart() -> None:
    equal, close = pair(1.0), pair(1.0, 0.9, 1.1)
    assert doubts({"paper": pair(0.9), "max-min": equal}) == {"max-min": "equal"}
    assert doubts({"paper": close, "max-min": pair(None)}) == {"paper": "close", "max-min": "infeasible"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"contention_models": ["paper", "fair"]}, "contention-models must be one of paper,"),
        ({"contention_models": ["paper", "paper"]}, "contention-models names 'paper' twice"),
        ({"contention_models": ["paper", "reserved"]}, "contention: lanes is required with model"),
        (
            {"contention_models": MODELS, "policies": ["search", "exact"]},
            "names 'max-min', which policy 'exact' does not support; leave out one of them",
        ),
        (
            {"contention_models": MODELS, "policies": ["adaptive-overlap"]},
            "contention-models names 'max-min', which policy 'adaptive-overlap' does not support",
        ),
        (
            {"contention_models": ["max-min"], "scenarios": [one_link(0.1), one_link(0.2)]},
            "is the same scenario as one-link under contention model max-min",
        ),
        ({"draws": 3}, "draws needs a calibration; `ringsched calibrate fit -o FILE` writes one"),
        ({"draws": -1}, "draws must be an integer >= 0"),
        (
            {"draws": 3, "calibration": Calibration(degradation=0.2)},
            "calibration has no intervals to draw from",
        ),
        ({"calibration": {"degradation": 0.2}}, "calibration must be a Calibration"),
        ({"calibration": "nowhere.toml"}, "nowhere.toml: there is no such file"),
    ],
)
def test_what_is_wrong_with_the_question(arguments: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    output = tmp_path / "rows.csv"
    with pytest.raises(InputError) as error:
        compare(**({"scenarios": [ONE_LINK], "policies": POLICIES, "output": output} | arguments))
    assert complaint in str(error.value)
    assert not output.exists()


def test_a_scenario_of_a_model_that_a_policy_refuses_is_told_before_anything_runs(tmp_path: Path) -> None:
    fair = ONE_LINK.replace(contention=ringsched.Contention(model="max-min"))
    path = tmp_path / "fair.json"
    ringsched.save_scenario(fair, path)
    with pytest.raises(InputError) as error:
        compare([ONE_LINK, path], ["first-fit", "exact"], output=tmp_path / "rows.csv")
    expected = "contention.model 'max-min' is not supported by policy 'exact'; use paper or reserved"
    assert str(error.value) == f"{path}: {expected}, or another policy"
    assert not (tmp_path / "rows.csv").exists()


def test_reserved_where_the_scenario_has_lanes() -> None:
    lanes = ONE_LINK.replace(contention=ringsched.Contention(model="reserved", lanes=2))
    result = compare([lanes], POLICIES, contention_models=["reserved", "paper"])
    assert [row.contention for row in result.rows] == ["reserved"] * 2 + ["paper"] * 2


# draws

WIDE = Calibration(
    inter_server_gbps=10.0,
    share=0.9,
    degradation=TURN,
    server_latency_ms=0.1,
    intervals={
        "inter_server_gbps": (1.0, 11.0),
        "share": (0.5, 1.0),
        "degradation": (0.1125, 0.2525),
        "server_latency_ms": (0.0, 0.5),
    },
)


def test_draws_are_reproducible_and_independent_of_the_other_fields() -> None:
    once = [drawn(WIDE, seed, draw) for seed in (0, 1) for draw in (1, 2)]
    assert once == [drawn(WIDE, seed, draw) for seed in (0, 1) for draw in (1, 2)]
    assert len({each.degradation for each in once}) == 4
    alone = WIDE.replace(intervals={"degradation": WIDE.intervals["degradation"]})
    assert drawn(alone, 1, 2).degradation == once[3].degradation
    assert drawn(alone, 1, 2).inter_server_gbps == 10.0


def test_draws_have_the_ends_of_the_interval_where_they_belong() -> None:
    """Half of them below the value, one in forty beyond either end; nothing that no scenario could have."""
    draws = [drawn(WIDE, 0, draw) for draw in range(4000)]
    for name, (low, high) in WIDE.intervals.items():
        values = [getattr(each, name) for each in draws]
        value = getattr(WIDE, name)
        assert sum(each <= value for each in values) == pytest.approx(2000, abs=130)
        assert sum(low < each < high for each in values) == pytest.approx(3800, abs=150)
        assert min(values) >= 0
    for name in ("inter_server_gbps", "degradation"):  # those with room beyond the ends
        values = [getattr(each, name) for each in draws]
        assert sum(each > WIDE.intervals[name][1] for each in values) == pytest.approx(100, abs=40)
    assert max(each.share or 0 for each in draws) <= 1


def test_a_table_is_drawn_as_a_whole() -> None:
    measured = Calibration(table=(1.0, 2.0, 2.2), table_intervals=((1.0, 1.0), (1.5, 2.5), (2.1, 2.3)))
    for draw in range(200):
        table = drawn(measured, 0, draw).table
        assert table is not None
        assert table[0] == 1
        assert list(table) == sorted(table)
        if table[1] < 2.2:
            assert (table[1] - 2) / 0.5 == pytest.approx((table[2] - 2.2) / 0.1) or table[1] == 1
    assert len({drawn(measured, 0, draw).table for draw in range(200)}) > 150


def test_every_draw_is_a_comparison_and_the_counts_are_theirs() -> None:
    calibration = WIDE.replace(share=1.0, intervals={"degradation": WIDE.intervals["degradation"]})
    result = compare([ONE_LINK], POLICIES, calibration=calibration, draws=12, seed=3)
    assert [row.draw for row in result.rows] == [None, None, *(draw for draw in range(1, 13) for _ in "ab")]
    degradations = [drawn(calibration, 3, draw).degradation or 0 for draw in range(1, 13)]
    assert result.drawn == tuple(
        {"draw": draw, "degradation": value} for draw, value in enumerate(degradations, start=1)
    )
    better = sum(value > TURN for value in degradations)
    assert 0 < better < 12
    stability = result.models[0].stability[0]
    (found,) = stability.pairs
    assert (found.policy, found.against, stability.metric) == ("free-links", "longest-first", "makespan_s")
    assert (found.num_better, found.num_equal, found.num_worse) == (better, 0, 12 - better)
    # 242.5 ms and, for two servers, 0.1 ms each of latency, twice.
    ratios = [242.9 / (221.25 + 100 * value + 0.2) for value in degradations]
    assert (found.smallest, found.median, found.largest) == pytest.approx(
        (min(ratios), median(ratios), max(ratios))
    )
    fitted = 242.9 / (221.25 + 100 * TURN + 0.2)
    assert found.fitted == pytest.approx(fitted)
    assert stability.num_same == found.num_same == sum((each > 1) == (fitted > 1) for each in ratios)
    assert result.notes == (
        "not drawn, because they have no interval: inter_server_gbps, share, server_latency_ms",
    )


def test_draws_from_intervals_of_no_width_are_the_fitted_values() -> None:
    certain = Calibration(
        inter_server_gbps=9.0,
        degradation=0.3,
        intervals={"inter_server_gbps": (9.0, 9.0), "degradation": (0.3, 0.3)},
    )
    result = compare(links(0.1), POLICIES, calibration=certain, draws=3)
    plain = compare(links(0.1), POLICIES, calibration=certain)
    applied = compare([apply_calibration(certain, each) for each in links(0.1)], POLICIES)
    assert strip(result.rows[:6]) == strip(plain.rows) == strip(applied.rows)
    assert len(result.rows) == 24
    for at in range(4):
        assert [row.makespan_s for row in result.rows[6 * at : 6 * at + 6]] == [
            row.makespan_s for row in plain.rows
        ]
    for stability in result.models[0].stability:
        assert stability.num_same == stability.num_draws == 3
        assert all(found.smallest == found.fitted == found.largest for found in stability.pairs)


def strip(found: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    return [replace(row, planning_s=0.0, scenario="") for row in found]


def test_draws_are_the_same_under_every_model_and_the_model_stays() -> None:
    result = compare([ONE_LINK], POLICIES, contention_models=MODELS, calibration=WIDE, draws=2)
    assert [row.contention for row in result.rows] == ["paper"] * 6 + ["max-min"] * 6
    assert [row.draw for row in result.rows] == [None, None, 1, 1, 2, 2] * 2
    assert len(result.drawn) == 2
    for row in result.rows:
        measured = WIDE if row.draw is None else drawn(WIDE, 0, row.draw)
        model = ONE_LINK.replace(contention=ONE_LINK.contention.replace(model=row.contention))
        assert row.scenario_sha256 == apply_calibration(measured, model).sha256()
    assert [len(model.stability) for model in result.models] == [7, 7]
    assert result.notes == ("not used by max-min: degradation, share",)


def test_links_with_a_speed_of_their_own_are_told() -> None:
    servers = tuple(server.replace(uplink_gbps=5.0) for server in ONE_LINK.cluster.servers[:1])
    own = ONE_LINK.replace(
        cluster=ONE_LINK.cluster.replace(servers=(*servers, *ONE_LINK.cluster.servers[1:]))
    )
    result = compare([own], POLICIES, calibration=Calibration(inter_server_gbps=9.0))
    assert result.notes == ("servers with their own uplink_gbps keep it",)


def test_infeasible_draws_are_not_the_same() -> None:
    fitted = [*rows("a", [10.0]), *rows("b", [11.0])]
    draws = [fitted, [*rows("a", [10.0]), *rows("b", [None])], [*rows("a", [12.0]), *rows("b", [11.0])]]
    stability = stabilities(fitted, draws)[0]
    (found,) = stability.pairs
    assert (found.num_better, found.num_equal, found.num_worse, found.num_same) == (1, 0, 1, 1)
    assert (found.num_infeasible, found.num_pairs, found.num_left_out) == (1, 2, 1)
    assert stability.num_same == 1
    assert stabilities(fitted, []) == ()


def test_what_is_never_feasible_is_never_in_the_same_place() -> None:
    """It was "in 5 of 5 draws" of which none was better, equal or worse."""
    never = [*rows("a", [10.0]), *rows("b", [None])]
    stability = stabilities(never, [never] * 5)[0]
    (found,) = stability.pairs
    assert (stability.num_same, found.num_same, found.num_infeasible) == (0, 0, 5)


def test_draws_that_reach_no_scenario_are_no_stability() -> None:
    measured = Calibration(degradation=0.2, intervals={"degradation": (0.1, 0.3)})
    result = compare([ONE_LINK], POLICIES, contention_models=MODELS, calibration=measured, draws=2)
    reached = [{stability.reached for stability in model.stability} for model in result.models]
    assert reached == [{True}, {False}]


def test_rounding_is_no_other_ranking() -> None:
    """Shares lost to contention that were equal but for their last digits counted as a change of places."""
    fitted = [*rows("a", [0.1]), *rows("b", [0.3])]
    equal = [*rows("a", [0.3]), *rows("b", [0.1 + 0.2])]
    for stability in stabilities(equal, [equal, fitted, [*rows("a", [0.1 + 0.2]), *rows("b", [0.3])]]):
        assert (stability.num_same, stability.pairs[0].num_equal) == (2, 2)


def test_a_draw_that_no_slot_holds_is_named() -> None:
    slotted = scenario(
        cluster(1, 1), job("wide", gpus=2, gradient_mb=625)
    )  # 5 Gbit: half a second at 10 Gbit/s
    slow = Calibration(inter_server_gbps=10.0, intervals={"inter_server_gbps": (1.0, 11.0)})
    with pytest.raises(InputError, match=r"'wide': an iteration can take .*\(in draw \d+\)"):
        compare([slotted], ["first-fit"], calibration=slow, draws=20)


# files


@pytest.fixture(params=["rows.csv", "rows.parquet"])
def output(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / request.param


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[runs.Task]:
    done: list[runs.Task] = []
    original = runs.run_task

    def counted(task: runs.Task) -> ComparisonRow:
        done.append(task)
        return original(task)

    monkeypatch.setattr(workers, "run_task", counted)
    return done


def test_models_and_draws_are_taken_up_again(output: Path, calls: list[runs.Task]) -> None:
    compare([ONE_LINK], POLICIES, output=output, workers=1)
    calls.clear()
    compare([ONE_LINK], POLICIES, contention_models=MODELS, output=output, workers=1)
    assert [task.row.contention for task in calls] == ["max-min"] * 2  # the scenario's own model is there
    calls.clear()
    first = compare([ONE_LINK], POLICIES, calibration=WIDE, draws=2, output=output, workers=1)
    assert len(calls) == 6
    calls.clear()
    more = compare([ONE_LINK], POLICIES, calibration=WIDE, draws=4, output=output, workers=1)
    assert [task.row.draw for task in calls] == [3, 3, 4, 4]
    assert more.rows[:6] == first.rows
    calls.clear()
    compare([ONE_LINK], POLICIES, calibration=WIDE, draws=2, seed=1, output=output, workers=1)
    assert [task.row.draw for task in calls] == [1, 1, 2, 2]  # another seed draws other numbers


def without_added(path: Path) -> None:
    """Make it a file as it was written before there were models and draws."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            kept = [{name: row[name] for name in row if name not in ADDED} for row in csv.DictReader(file)]
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, kept[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept)
    else:
        from pyarrow import parquet

        parquet.write_table(parquet.read_table(path).drop_columns(list(ADDED)), path)


def test_files_from_before_are_taken_up_again(output: Path, calls: list[runs.Task]) -> None:
    compare([ONE_LINK, one_link(0.5)], POLICIES, output=output, workers=1)
    without_added(output)
    calls.clear()
    result = compare([ONE_LINK], [*POLICIES, "first-fit"], output=output, workers=1)
    assert [task.row.policy for task in calls] == ["first-fit"]
    assert result.num_resumed == 2
    assert {row.contention for row in result.rows} == {"paper"}
    again = compare([one_link(0.5)], POLICIES, output=output, workers=1)
    assert again.num_resumed == 2


def test_half_of_the_new_columns_is_no_file_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(",".join(name for name in COLUMNS if name != "draw") + "\n")
    with pytest.raises(InputError, match="was not written by `ringsched compare`"):
        compare([ONE_LINK], POLICIES, output=path)


def test_a_calibration_file_and_its_intervals(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("[contention]\ndegradation = 0.3\n")
    with pytest.raises(InputError) as error:
        compare([ONE_LINK], POLICIES, calibration=path, draws=2)
    assert str(error.value) == f"{path}: has no intervals to draw from; fit it again"
    assert compare([ONE_LINK], POLICIES, calibration=path).models[0].stability == ()
    path.write_text("[contention]\ndegradation = 0.3\n[intervals]\ndegradation = [0.1, 0.5]\n")
    given = Calibration(degradation=0.3, intervals={"degradation": (0.1, 0.5)})
    by_file, by_object = (compare([ONE_LINK], POLICIES, calibration=each, draws=2) for each in (path, given))
    assert strip(by_file.rows) == strip(by_object.rows)
    assert not math.isclose(by_file.drawn[0]["degradation"], by_file.drawn[1]["degradation"])
