"""One definition of the loss figures: every surface prints the same numbers for one plan."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.helpers import run
from tests.effort import examples
from tests.strategies import scenarios

import ringsched
from ringsched.analysis.explain.losses import losses_of
from ringsched.analysis.explain.parts import Parts, Split
from ringsched.analysis.metrics import metrics_in, metrics_of
from ringsched.analysis.planned_run import planned_run
from ringsched.engine.problem import problem_of
from ringsched.policies.plans import planned_with_run, settings_of
from ringsched.policies.table import policy_named
from ringsched.reporting.data import report_data
from ringsched.web.limits import Limits
from ringsched.web.work import pictures

FIRST = ringsched.load_scenario(Path(__file__).parents[2] / "examples" / "first.toml")
CONTENTION: dict[str, dict[str, Any]] = {
    "paper": {"model": "paper"},
    "reserved": {"model": "reserved", "lanes": 1},
    "max-min": {"model": "max-min"},
    "phases": {"model": "phases"},
}


def shown(data: Any) -> tuple[str, str]:
    """Return the two loss figures that the page of a report shows."""
    figures = {figure["name"]: figure["text"] for figure in data["plans"][0]["summary"]["figures"]}
    return figures["lost to contention"], figures["lost to spreading"]


@pytest.mark.parametrize("time", ["slotted", "continuous"])
@pytest.mark.parametrize("model", CONTENTION)
def test_all_surfaces_print_the_same_losses(model: str, time: str, tmp_path: Path) -> None:
    contention = ringsched.Contention(**CONTENTION[model])
    scenario = FIRST.replace(contention=contention, time=ringsched.Time(model=time, slot_s=60.0))
    scenario = scenario.replace(cluster=scenario.cluster.replace(inter_server_gbps=2.0))
    plan = ringsched.plan(scenario, "random", seed=0)
    files = str(tmp_path / "scenario.json"), str(tmp_path / "plan.json")
    ringsched.save_scenario(scenario, files[0])
    ringsched.save_plan(plan, files[1])

    losses = ringsched.explain(scenario, plan).losses
    assert losses.contention > 0.01
    expected = f"{100 * losses.contention:.1f} %", f"{100 * losses.spreading:.1f} %"

    printed = run("explain", *files).stdout.splitlines()
    contention_line, spreading_line = (
        next(line for line in printed if line.startswith(part)) for part in ("contention", "spreading")
    )
    assert (contention_line.endswith(expected[0]), spreading_line.endswith(expected[1])) == (True, True)

    assert shown(report_data(scenario, {"a": plan})) == expected

    body = {"scenario": scenario.expanded(), "plans": {"a": json.loads(Path(files[1]).read_text())}}
    reply = pictures(json.dumps(body).encode(), Limits())
    assert shown(json.loads(reply.content)) == expected

    arguments = ("compare", files[0], "--policies", "random", "--json")
    (row,) = json.loads(run(*arguments).stdout)["rows"]
    assert (row["contention_loss"], row["spreading_loss"]) == (losses.contention, losses.spreading)


def test_a_job_counts_by_the_gpus_it_holds() -> None:
    parts = {"best_case_s": 6.0, "spreading_s": 1.0, "contention_s": 2.0, "rounding_s": 1.0}
    slowed, free = Parts(**parts), Parts(best_case_s=10.0, spreading_s=0.0, contention_s=0.0, rounding_s=0.0)
    losses = losses_of([3, 1], [slowed, free])
    assert asdict(losses) == pytest.approx(
        {
            "held_gpu_s": 40,
            "best_case": 28 / 40,
            "spreading": 3 / 40,
            "contention": 6 / 40,
            "rounding": 3 / 40,
        }
    )


def test_no_jobs_lose_nothing() -> None:
    assert set(asdict(losses_of([], [])).values()) == {0.0}


@examples(150)
@given(scenarios(), st.integers(0, 100))
def test_metrics_are_those_of_the_ledger(scenario: ringsched.Scenario, seed: int) -> None:
    """The quick way of few intervals gives the same bits, and so does the run that a policy has at hand."""
    problem, policy = problem_of(scenario), policy_named("random")
    try:
        plan, at_hand = planned_with_run(problem, policy, settings_of(policy, seed=seed))
    except ringsched.Infeasible:
        return
    split = Split(problem, planned_run(problem, plan))
    for job, shape in enumerate(split.shapes):
        lost_s = split.intervals(job).lost_s.tolist() if shape.links else []
        assert split.parts_of(job) == split.parts(job, lost_s)
    losses = ringsched.explain(scenario, plan).losses
    metrics = metrics_in(problem, plan, at_hand)
    assert metrics == metrics_of(scenario, plan)
    assert (metrics.contention_loss, metrics.spreading_loss) == (losses.contention, losses.spreading)
