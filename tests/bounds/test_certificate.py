"""The certificate of SJF-BCO: its figures by hand, in plans and in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.helpers import run
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Scenario


def counterexample() -> Scenario:
    jobs = [job(f"{slots}-{at}", iterations=slots * 10) for at, slots in enumerate((10, 10, 20))]
    return scenario(cluster(2), *jobs)


def test_the_claimed_ratio_of_the_counterexample_is_1_and_the_measured_one_is_not() -> None:
    """The theorem promises the optimum, 20; SJF-BCO ends at 30: see test_theorem_counterexample."""
    certificate = ringsched.plan(counterexample(), "sjf-bco").certificate
    assert certificate is not None
    assert (certificate.claimed_ratio, certificate.measured_ratio) == (1, 1.5)
    assert (certificate.largest_job, certificate.max_load) == (1, 30)
    assert certificate.max_load <= certificate.theta


def test_figures_by_hand() -> None:
    """Inside 9 iterations a slot: 2 slots; at worst, two on a link, 3 a slot: 4. Estimates 1 and 3 slots."""
    exchanging = {"gpus": 2, "iterations": 12, "gradient_mb": 125, "backward_ms": 98.75}
    jobs = [job("a", estimate_s=1, **exchanging), job("b", estimate_s=3, **exchanging)]
    certificate = ringsched.plan(scenario(cluster(2, 2), *jobs), "sjf-bco").certificate
    assert certificate is not None
    assert certificate.worst_over_best == 2
    assert (certificate.overestimate, certificate.underestimate) == (1.5, 0.25)
    assert certificate.claimed_ratio == 2 * 2 * 1.5 / 0.25
    assert certificate.max_load == pytest.approx(3 / 1.5, abs=1e-6)


def test_measured_is_about_the_makespan_whatever_the_objective() -> None:
    plan = ringsched.plan(counterexample(), "sjf-bco", objective="mean-completion")
    assert plan.certificate is not None
    assert plan.certificate.measured_ratio == 1.5
    assert ringsched.verify(counterexample(), plan).violations == ()


def test_only_sjf_bco_has_one_and_files_keep_it(tmp_path: Path) -> None:
    plan = ringsched.plan(counterexample(), "sjf-bco")
    ringsched.save_plan(plan, tmp_path / "plan.json")
    assert ringsched.load_plan(tmp_path / "plan.json") == plan
    assert ringsched.plan(counterexample(), "longest-first").certificate is None
    assert ringsched.plan(scenario(cluster(1)), "sjf-bco").certificate is None


def test_absurd_estimates_leave_numbers() -> None:
    jobs = [job("a", gpus=2, estimate_s=1e-300), job("b", gpus=2, estimate_s=1e9)]
    plan = ringsched.plan(scenario(cluster(2), *jobs), "sjf-bco")
    assert plan.certificate is not None
    assert ringsched.verify(scenario(cluster(2), *jobs), plan).violations == ()


def test_the_certificate_is_in_json_and_not_in_the_table() -> None:
    """The table had a line of letters that only readers of the paper could read."""
    options = ("plan", "examples/first.toml", "--policy", "sjf-bco")
    assert "ratio" not in run(*options).stdout
    assert json.loads(run(*options, "--json").stdout)["certificate"]["claimed_ratio"] > 1


def test_a_charge_between_two_whole_numbers_is_rounded_either_way() -> None:
    """8808.5 microseconds are 8808 or 8809: which one is a matter of the last digit of a float."""
    instance = scenario(cluster(1), job(iterations=1, backward_ms=8.8085), time={"model": "continuous"})
    plan = ringsched.plan(instance, "sjf-bco")
    assert plan.certificate is not None
    for load, is_right in ((0.008807, False), (0.008808, True), (0.008809, True), (0.00881, False)):
        certificate = plan.certificate.replace(max_load=load)
        assert ringsched.verify(instance, plan.replace(certificate=certificate)).valid == is_right
