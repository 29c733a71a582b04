"""What time it is when the first job comes must not matter: 0, some days on, or Unix seconds."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from tests import planning
from tests.effort import examples
from tests.scenarios import cluster, job
from tests.scenarios import scenario as scenario_of
from tests.strategies import contentions, fair_contentions, job_fields, scenarios
from tests.tiny import needs_compiler, tiny_scenarios

import ringsched
from ringsched import Job, Plan, Scenario, Simulation
from ringsched.analysis.over_time import over_time
from ringsched.analysis.whatif.changes import LinkFactor
from ringsched.reporting.data import report_data

SHIFTS_S = [86_400, 1_000_003, 1_700_000_000]
OPTIONS: dict[str, dict[str, Any]] = {
    policy.name: {"iterations": 100, "threads": 1} if policy.name == "search" else {}
    for policy in ringsched.list_policies()
    if policy.name != "exact"
}
ONLINE = [policy.name for policy in ringsched.list_policies(online=True)]
# Long jobs, so that what seconds are rounded by at Unix times is small beside them.
LONGER = 997


@st.composite
def timed(draw: st.DrawFn) -> Scenario:
    """Scenarios that can be shifted without rounding: submits and slots end after some binary digits."""
    contention = draw(st.sampled_from([contentions(), fair_contentions()]))
    return shiftable(draw(scenarios(contention=contention)), LONGER)


def shiftable(scenario: Scenario, longer: int = 1) -> Scenario:
    slot_s = 2.0 ** math.ceil(math.log2(scenario.time.slot_s))
    grid_s = slot_s / 4 if scenario.time.slotted else 2.0**-20
    jobs = tuple(
        job.replace(
            iterations=longer * job.iterations,
            submit_s=round(longer * job.submit_s / grid_s) * grid_s,
            estimate_s=None if job.estimate_s is None else longer * job.estimate_s,
            running_on=None,
            done_iterations=0,
        )
        for job in scenario.jobs
    )
    return scenario.replace(jobs=jobs, time=scenario.time.replace(slot_s=slot_s, horizon_s=None))


def shifted(scenario: Scenario, about_s: int) -> tuple[Scenario, float]:
    """Return the scenario some seconds later, and how many: of slots only whole ones can be shifted by."""
    slot_s = scenario.time.slot_s if scenario.time.slotted else 1.0
    by_s = about_s // slot_s * slot_s
    jobs = tuple(job.replace(submit_s=job.submit_s + by_s) for job in scenario.jobs)
    return scenario.replace(jobs=jobs), by_s


def assert_shifted(plan: Plan, later: Plan, by_s: float) -> None:
    """All but starts and finishes is the same to the last bit, and these are as close as seconds can be."""
    near = 2 * math.ulp(by_s)
    assert [job.gpus for job in later.jobs] == [job.gpus for job in plan.jobs]
    for before, after in zip(plan.jobs, later.jobs, strict=True):
        assert after.start_s == pytest.approx(before.start_s + by_s, rel=0, abs=near)
        assert after.finish_s == pytest.approx(before.finish_s + by_s, rel=0, abs=near)
    same = plan.replace(scenario_sha256=later.scenario_sha256, jobs=later.jobs)
    assert later == same


def assert_nearly_the_same(data: object, later: object, near: float) -> None:
    """Numbers in pictures are rounded starts and finishes, and may differ by one in their last digit."""
    assert type(data) is type(later) or {type(data), type(later)} == {int, float}
    if isinstance(data, dict) and isinstance(later, dict):
        assert data.keys() == later.keys()
        for key, value in data.items():
            assert_nearly_the_same(value, later[key], near)
    elif isinstance(data, list) and isinstance(later, list):
        assert len(data) == len(later)
        for one, other in zip(data, later, strict=True):
            assert_nearly_the_same(one, other, near)
    elif isinstance(data, float | int):
        assert later == pytest.approx(data, rel=1e-6, abs=near)
    else:
        assert later == data


@given(
    timed(),
    st.sampled_from(sorted(OPTIONS)),
    st.sampled_from(ringsched.OBJECTIVES),
    st.sampled_from(SHIFTS_S),
)
@examples(60)
def test_a_plan_is_the_same_at_any_time(
    scenario: Scenario, policy: str, objective: str, about_s: int
) -> None:
    if policy == "adaptive-overlap" and scenario.contention.model in ("max-min", "phases"):
        policy = "longest-first"
    later, by_s = shifted(scenario, about_s)
    plan, after = (
        planning.plan(each, policy, objective=objective, **OPTIONS[policy]) for each in (scenario, later)
    )
    assert ringsched.verify(scenario, plan).violations == ()
    assert ringsched.verify(later, after).violations == ()
    assert_shifted(plan, after, by_s)
    outcomes = [ringsched.replay(scenario, plan), ringsched.replay(later, after)]
    assert (
        len({(each.makespan_s, each.mean_completion_s, each.weighted_completion_s) for each in outcomes}) == 1
    )


@given(timed(), st.sampled_from(["list-scheduling", "longest-first"]), st.sampled_from(SHIFTS_S))
@examples(30)
def test_accounts_and_pictures_are_the_same_at_any_time(
    scenario: Scenario, policy: str, about_s: int
) -> None:
    later, by_s = shifted(scenario, about_s)
    plan, after = (ringsched.plan(each, policy) for each in (scenario, later))
    ledger, then = ringsched.explain(scenario, plan), ringsched.explain(later, after)
    assert then.attributions() == ledger.attributions()
    for before, account in zip(ledger.jobs, then.jobs, strict=True):
        moved = (before.start_s + by_s, before.finish_s + by_s)
        assert (account.start_s, account.finish_s) == pytest.approx(moved, rel=0, abs=2 * math.ulp(by_s))
        assert account.waited_for == before.waited_for
        for part in ("waiting_s", "duration_s", "best_case_s", "spreading_s", "contention_s", "rounding_s"):
            assert getattr(account, part) == getattr(before, part)
    metrics, later_metrics = ringsched.metrics_of(scenario, plan), ringsched.metrics_of(later, after)
    for name in ("gpu_utilisation", "contention_loss", "spreading_loss", "p95_completion_s"):
        assert getattr(later_metrics, name) == pytest.approx(getattr(metrics, name), rel=1e-6, abs=1e-6)
    data, later_data = report_data(scenario, {"one": plan}), report_data(later, {"one": after})
    assert later_data.pop("origin") == pytest.approx(data.pop("origin") + by_s)
    assert_nearly_the_same(data, later_data, near=2e-6 * data["span"] + 1e-5)


@given(timed(), st.data(), st.sampled_from(SHIFTS_S))
@examples(20)
def test_answers_to_what_if_are_the_same_at_any_time(
    scenario: Scenario, data: st.DataObject, about_s: int
) -> None:
    # Slots so long that neither slower links nor one more job make a job stand still.
    scenario = scenario.replace(time=scenario.time.replace(slot_s=16.0))
    later, by_s = shifted(scenario, about_s)
    plan, after = (ringsched.plan(each, "longest-first") for each in (scenario, later))
    before, then = (
        ringsched.whatif(each, LinkFactor(factor=0.5), plan=made).variants[0]
        for each, made in ((scenario, plan), (later, after))
    )
    assert before.plan is not None
    assert then.plan is not None
    assert_shifted(before.plan, then.plan, by_s)
    changes = {change.job: change.change_s for change in before.changes}
    assert {change.job: change.change_s for change in then.changes} == pytest.approx(changes, abs=1e-5)
    fields = data.draw(job_fields(scenario.cluster.capacity))
    # Before, among and after the others.
    submit_s = data.draw(st.sampled_from([0.0, *(job.submit_s for job in scenario.jobs), 2.0**20]))
    job = Job(name="new", **fields | {"iterations": LONGER * fields["iterations"]}, submit_s=submit_s)
    try:
        answer = ringsched.whatif_job(scenario, job, plan=plan)
    except ringsched.InputError:  # its iterations may be longer than a slot
        reject()
    moved = ringsched.whatif_job(later, job.replace(submit_s=submit_s + by_s), plan=after)
    assert [option.gpus for option in moved.options] == [option.gpus for option in answer.options]
    for one, other in zip(answer.options, moved.options, strict=True):
        for name in ("waiting_s", "completion_s", "makespan_s", "mean_completion_s", "total_delay_s"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9, abs=1e-5)


def assert_same_simulation(before: Simulation, after: Simulation, by_s: float) -> None:
    assert after.backfilled.tolist() == before.backfilled.tolist()
    assert (after.makespan_s, after.mean_completion_s) == (before.makespan_s, before.mean_completion_s)
    assert after.waiting_s.tolist() == before.waiting_s.tolist()
    assert_shifted(before.plan(), after.plan(), by_s)
    near = 2 * math.ulp(by_s)
    assert after.series.time_s.tolist() == pytest.approx(
        (before.series.time_s + by_s).tolist(), rel=0, abs=near
    )
    assert after.series.busy_gpus.tolist() == before.series.busy_gpus.tolist()
    one, other = over_time(before), over_time(after)
    assert other.gpu_utilisation == pytest.approx(one.gpu_utilisation, rel=1e-6)
    assert (other.num_promises, other.num_broken_promises) == (one.num_promises, one.num_broken_promises)


@given(
    timed(),
    st.sampled_from(ONLINE),
    st.sampled_from(["none", "easy"]),
    st.sampled_from([0.0, 0.5]),
    st.sampled_from(SHIFTS_S),
)
@examples(40)
def test_a_simulation_is_the_same_at_any_time(
    scenario: Scenario, policy: str, backfill: str, error: float, about_s: int
) -> None:
    options: dict[str, Any] = {"iterations": 30} if policy == "rolling" else {}
    later, by_s = shifted(scenario, about_s)
    before, after = (
        planning.simulate(each, policy, backfill=backfill, estimate_error=error, **options)
        for each in (scenario, later)
    )
    assert ringsched.verify(later, after.plan()).violations == ()
    assert_same_simulation(before, after, by_s)


@needs_compiler
@given(
    tiny_scenarios(max_jobs=4, max_servers=2, max_iterations=20),
    st.sampled_from(ringsched.OBJECTIVES),
    st.sampled_from(SHIFTS_S),
)
@examples(15)
def test_the_best_plan_is_the_same_at_any_time(scenario: Scenario, objective: str, about_s: int) -> None:
    scenario = shiftable(scenario)
    later, by_s = shifted(scenario, about_s)
    plan, after = (ringsched.plan(each, "exact", objective=objective) for each in (scenario, later))
    assert ringsched.verify(later, after).violations == ()
    assert_shifted(plan, after, by_s)


@pytest.mark.parametrize("policy", ["sjf-bco", "first-fit", "list-scheduling", "random"])
def test_the_horizon_counts_from_the_first_release(policy: str) -> None:
    jobs = [job("a", 2, 30), job("b", 1, 20), job("c", 2, 10, submit_s=2.0)]
    case = scenario_of(cluster(2), *jobs, time={"horizon_s": 8})
    later, by_s = shifted(case, SHIFTS_S[-1])
    assert_shifted(ringsched.plan(case, policy), ringsched.plan(later, policy), by_s)
    tight = [each.replace(time=each.time.replace(horizon_s=5)) for each in (case, later)]
    if policy != "random":  # which takes T for theta, and observes no horizon
        said = []
        for each in tight:
            with pytest.raises(ringsched.Infeasible) as error:
                ringsched.plan(each, policy)
            said.append((str(error.value), error.value.lower_bound_s))
        assert said[0] == said[1]
