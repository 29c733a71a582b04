"""What time it is when the first job comes must not matter: 0, some days on, or Unix seconds."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import examples
from tests.strategies import contentions, fair_contentions, scenarios

import ringsched
from ringsched import Plan, Scenario

SHIFTS_S = [86_400, 1_000_003, 1_700_000_000]
# Those that bisect look at T, which is an instant, for theta; with a theta they do not.
OPTIONS: dict[str, dict[str, Any]] = {
    policy.name: {"theta": 10**6} if "theta" in policy.options else {}
    for policy in ringsched.list_policies()
    if policy.name not in ("search", "exact")
}
ONLINE = [policy.name for policy in ringsched.list_online_policies() if policy.planner is None]
LONGER = 997  # what is rounded at Unix times must be small beside the jobs


@st.composite
def timed(draw: st.DrawFn) -> Scenario:
    """Scenarios that can be shifted without rounding: submits and slots end after some binary digits."""
    contention = draw(st.sampled_from([contentions(), fair_contentions()]))
    scenario = draw(scenarios(contention=contention))
    slot_s = 2.0 ** math.ceil(math.log2(scenario.time.slot_s))
    grid_s = slot_s / 4 if scenario.time.slotted else 2.0**-20
    jobs = tuple(
        job.replace(
            iterations=LONGER * job.iterations,
            submit_s=round(LONGER * job.submit_s / grid_s) * grid_s,
            estimate_s=None if job.estimate_s is None else LONGER * job.estimate_s,
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


def assert_same_but_for_time(scenario: Scenario, plan: Plan, later: Plan, by_s: float) -> None:
    first_s = min(job.submit_s for job in scenario.jobs)
    near = 1e-6 * (plan.makespan_s - first_s)
    assert [job.gpus for job in later.jobs] == [job.gpus for job in plan.jobs]
    for before, after in zip(plan.jobs, later.jobs, strict=True):
        assert after.start_s - by_s == pytest.approx(before.start_s, rel=0, abs=near)
        assert after.finish_s - by_s == pytest.approx(before.finish_s, rel=0, abs=near)
    assert later.mean_completion_s == pytest.approx(plan.mean_completion_s, rel=0, abs=near)
    moved_s = by_s if plan.objective == "makespan" else 0
    assert {bound.name: bound.value_s - moved_s for bound in later.bounds} == pytest.approx(
        {bound.name: bound.value_s for bound in plan.bounds}, rel=0, abs=near
    )
    assert later.lower_bound_s <= later.objective_s + near


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
        ringsched.plan(each, policy, objective=objective, **OPTIONS[policy]) for each in (scenario, later)
    )
    assert ringsched.verify(scenario, plan).violations == ()
    assert ringsched.verify(later, after).violations == ()
    assert_same_but_for_time(scenario, plan, after, by_s)
    for before, then in zip(
        ringsched.explain(scenario, plan).jobs, ringsched.explain(later, after).jobs, strict=True
    ):
        assert then.waited_for == before.waited_for
        assert then.contention_s == pytest.approx(before.contention_s, rel=1e-6, abs=1e-5)


@given(timed(), st.sampled_from(ONLINE), st.sampled_from(["none", "easy"]), st.sampled_from(SHIFTS_S))
@examples(30)
def test_a_simulation_is_the_same_at_any_time(
    scenario: Scenario, policy: str, backfill: str, about_s: int
) -> None:
    later, by_s = shifted(scenario, about_s)
    before, after = (ringsched.simulate(each, policy, backfill=backfill) for each in (scenario, later))
    assert after.backfilled.tolist() == before.backfilled.tolist()
    assert ringsched.verify(later, after.plan()).violations == ()
    assert_same_but_for_time(scenario, before.plan(), after.plan(), by_s)


@given(timed(), st.sampled_from(["search", "sjf-bco", "first-fit"]), st.sampled_from(ringsched.OBJECTIVES))
@examples(20)
def test_what_is_searched_for_is_valid_at_unix_times(scenario: Scenario, policy: str, objective: str) -> None:
    """Where the time matters, as theta is bisected below it, at least bounds and totals are right."""
    later, _ = shifted(scenario, SHIFTS_S[-1])
    options: dict[str, Any] = {"iterations": 100, "threads": 1} if policy == "search" else {}
    plan = ringsched.plan(later, policy, objective=objective, **options)
    assert ringsched.verify(later, plan).violations == ()
