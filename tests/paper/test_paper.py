"""The paper's experiments: rows, resuming, verdicts, and the committed tables."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tiny import needs_compiler

import ringsched
from ringsched import api
from ringsched.paper import reproduce
from ringsched.paper.claims.verdict import FAILS, HOLDS, IN_PART, UNDECIDED, above, below, verdict_of
from ringsched.paper.experiments import EXPERIMENTS, KAPPAS, OVER_HORIZON, PARTS, SERVERS, PaperRow
from ringsched.paper.reproduce import Reproduction, reproduce_paper
from ringsched.paper.results import Estimate, Results, mean, num_censored, ratio
from ringsched.paper.tiny import KINDS, least_largest_load, tiny_instance, tiny_rows
from ringsched.policies import table as registry
from ringsched.policies.policy import Candidate, Settings
from ringsched.policies.single_rule import solve_random

COMMITTED = Path(__file__).parents[2] / "docs" / "paper"
QUICK = ("policies", "kappa", "lambda")

pytestmark = needs_compiler


@pytest.fixture(scope="module")
def two_seeds() -> Reproduction:
    return reproduce_paper(seeds=2, parts=QUICK, workers=1)


def test_rows_are_paired_over_seeds(two_seeds: Reproduction) -> None:
    for part in QUICK:
        rows = two_seeds.rows[part]
        assert len(rows) == 2 * len(EXPERIMENTS[part])
        assert {row.seed for row in rows} == {0, 1}
    kappas = [row.kappa for row in two_seeds.rows["kappa"] if row.seed == 0]
    assert tuple(kappas) == KAPPAS


def test_sjf_bco_of_fig_4_is_the_plan_anyone_gets(two_seeds: Reproduction) -> None:
    plan = ringsched.plan(ringsched.generate(ringsched.Workload.paper(), seed=1), "sjf-bco")
    row = next(row for row in two_seeds.rows["policies"] if row.seed == 1 and row.policy == "sjf-bco")
    assert (row.makespan_s, row.mean_completion_s) == (plan.makespan_s, plan.mean_completion_s)
    assert row.theta == plan.params["theta"]


def test_the_best_kappa_of_the_sweep_is_not_far_from_the_one_that_is_searched(
    two_seeds: Reproduction,
) -> None:
    for seed in (0, 1):
        searched = next(
            row for row in two_seeds.rows["policies"] if (row.seed, row.policy) == (seed, "sjf-bco")
        )
        fixed = [row for row in two_seeds.rows["kappa"] if row.seed == seed]
        assert any(row.kappa == searched.chosen_kappa for row in fixed)


def test_the_servers_of_a_sweep_are_the_first_of_one_draw() -> None:
    few, many = (
        ringsched.generate(ringsched.Workload.paper(n, share_servers=20, horizon_s=1500), seed=3)
        for n in (10, 20)
    )
    assert few.cluster.servers == many.cluster.servers[:10]
    assert few.jobs == many.jobs
    assert (SERVERS[0], SERVERS[-1]) == (10, 20)


def test_second_run_computes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = reproduce_paper(tmp_path, seeds=2, parts=["lambda"], workers=1)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.[cs]*v*")}
    monkeypatch.setattr(reproduce, "finished", lambda _piece: pytest.fail("computed again"))
    again = reproduce_paper(tmp_path, seeds=2, parts=["lambda"], workers=1)
    assert (first.num_resumed, again.num_resumed) == (0, 8)
    assert again.rows == first.rows
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.[cs]*v*")} == before


def test_more_seeds_take_over_fewer(tmp_path: Path) -> None:
    reproduce_paper(tmp_path, seeds=1, parts=["lambda"], workers=1)
    memory = tmp_path / reproduce.MEMORY
    memory.write_text(memory.read_text() + '{"code": "cut sho', encoding="utf-8")
    result = reproduce_paper(tmp_path, seeds=2, parts=["lambda"], workers=1)
    assert result.num_resumed == 4
    assert result.rows == reproduce_paper(seeds=2, parts=["lambda"], workers=1).rows


def test_other_code_is_not_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reproduce_paper(tmp_path, seeds=1, parts=["lambda"], workers=1)
    monkeypatch.setattr(reproduce, "code_version", lambda: "other")
    assert reproduce_paper(tmp_path, seeds=1, parts=["lambda"], workers=1).num_resumed == 0


def test_processes_give_the_same_rows(two_seeds: Reproduction) -> None:
    assert reproduce_paper(seeds=2, parts=QUICK, workers=2).rows == two_seeds.rows


def verdicts(result: Reproduction) -> dict[str, str]:
    return {claim.name: claim.verdict for claim in result.claims}


def test_claims_change_when_a_policy_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = ["policies"]
    sound = verdicts(reproduce_paper(seeds=3, parts=parts, workers=1))
    assert sound["mean completion, queue order"] == HOLDS
    assert sound["large jobs on new servers"] == HOLDS

    def broken(problem: api.Problem, settings: Settings) -> Candidate | None:
        """SJF-BCO that throws dice."""
        candidate = solve_random(problem, replace(settings, theta=None))
        assert candidate is not None
        return Candidate(candidate.run, {"theta": 1, "kappa": 1})

    table = [
        replace(policy, solve=broken) if policy.name == "sjf-bco" else policy for policy in registry.POLICIES
    ]
    monkeypatch.setattr(registry, "POLICIES", tuple(table))
    worse = verdicts(reproduce_paper(seeds=3, parts=parts, workers=1))
    assert worse["mean completion, queue order"] != HOLDS
    assert worse["makespan, smallest first"] in (FAILS, IN_PART, UNDECIDED)
    assert worse["large jobs on new servers"] != HOLDS


def test_verdicts() -> None:
    assert verdict_of([True, True]) == HOLDS
    assert verdict_of([True, False]) == verdict_of([True, None]) == IN_PART
    assert verdict_of([False, None]) == verdict_of([False]) == FAILS
    assert verdict_of([None]) == UNDECIDED


@pytest.mark.parametrize(
    ("low", "high", "is_below", "is_above"),
    [(0.8, 0.9, True, False), (1.1, 1.2, False, True), (0.9, 1.1, None, None), (1.0, 1.0, False, False)],
)
def test_an_interval_decides_if_it_is_on_one_side(
    low: float, high: float, is_below: bool | None, is_above: bool | None
) -> None:
    estimate = Estimate(mean=(low + high) / 2, low=low, high=high, count=5)
    assert below(estimate, 1.0) is is_below
    assert above(estimate, 1.0) is is_above


def test_a_run_over_the_horizon_counts_as_the_horizon() -> None:
    common = {"servers": 10, "contention": 0.15, "horizon_s": 1500, "policy": "p", "order": "o"}
    rows = [
        PaperRow(seed=0, kappa=None, slack=None, status="ok", makespan_s=500.0, **common),
        PaperRow(seed=1, kappa=None, slack=None, status=OVER_HORIZON, **common),
    ]
    line = Results(rows={"servers": rows}).line("servers", policy="p")
    assert (mean(line, "makespan_s").mean, num_censored(line)) == (1000.0, 1)
    assert mean(line, "mean_completion_s").count == 0
    assert ratio(line, line, "makespan_s").mean == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_tiny_instances_are_solved(kind: str) -> None:
    instance = tiny_instance(kind, 0)
    optimum = ringsched.plan(instance, "exact")
    assert ringsched.verify(instance, optimum).valid
    assert optimum.params["proof"] == "optimal"
    row = next(row for row in tiny_rows(0) if row.kind == kind)
    assert row.optimum_s == optimum.makespan_s <= row.makespan_s
    assert row.best_largest_load <= min(row.largest_load, row.optimum_s)  # theta* bounds both from below


def test_theta_star_by_hand() -> None:
    assert least_largest_load([10, 10, 20], [1, 1, 1], num_gpus=2) == 20
    assert least_largest_load([3, 3, 3], [2, 2, 2], num_gpus=3) == 6
    assert least_largest_load([5], [2], num_gpus=2) == 5


@pytest.mark.parametrize("part", PARTS)
def test_committed_tables_are_not_stale(part: str) -> None:
    """The first seeds of docs/paper, computed anew, are the committed lines to the last byte."""
    lines = (COMMITTED / f"{part}.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    fresh = [row for seed in (0, 1) for row in reproduce.finished(reproduce.Piece(part, seed))[1]]
    expected = [
        ",".join("" if value is None else str(value) for value in reproduce.values(row)) for row in fresh
    ]
    assert [line.rstrip("\n") for line in lines[1 : 1 + len(fresh)]] == expected


def test_committed_claims_follow_from_the_committed_tables() -> None:
    with (COMMITTED / "claims.csv").open(encoding="utf-8", newline="") as file:
        claims = list(csv.DictReader(file))
    page = (COMMITTED.parent / "paper.md").read_text(encoding="utf-8")
    assert len(claims) > 25
    for claim in claims:
        assert f"*{claim['name']}*, section {claim['where']}" in page
        assert claim["evidence"] in page
