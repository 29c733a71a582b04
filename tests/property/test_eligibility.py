"""No policy breaks labels, windows, limits or layouts; the verifier names each that a plan breaks."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import planning
from tests.effort import examples
from tests.reference.dispatch import CLASS_ORDERS, ORDERS, dispatch
from tests.reference.link_rules import LINK_RULES
from tests.strategies import arriving, fair_contentions, restricted, scenarios

import ringsched
from ringsched.analysis.explain.explain import explain
from ringsched.errors import Infeasible, TooLarge
from ringsched.model import Placement, Plan, Scenario

RULES = {"first-fit": "first-fit", "list-scheduling": "list-scheduling", "random": "random"}
POLICIES = [policy.name for policy in ringsched.list_policies() if policy.name not in ("search", "exact")]
ONLINE = [policy.name for policy in ringsched.list_policies(online=True)]
ALL_ORDERS = (*ORDERS, *CLASS_ORDERS)
TINY = ringsched.Stop(max_schedules=60)


def some(strategy: st.SearchStrategy[Scenario]) -> st.SearchStrategy[Scenario]:
    return strategy.flatmap(restricted)


def planned(scenario: Scenario, policy: str, **options: Any) -> Plan | None:
    try:
        return planning.plan(scenario, policy, **options)
    except Infeasible:
        return None


def assert_valid(scenario: Scenario, plan: Plan) -> None:
    assert ringsched.verify(scenario, plan).violations == ()


@examples(300)
@given(some(scenarios()), st.sampled_from(POLICIES), st.sampled_from(ALL_ORDERS))
def test_every_policy_keeps_to_it(scenario: Scenario, policy: str, order: str) -> None:
    plan = planned(scenario, policy, order=order)
    if plan is not None:
        assert_valid(scenario, plan)


@examples(100)
@given(some(scenarios(contention=fair_contentions())), st.sampled_from(POLICIES))
def test_every_policy_keeps_to_it_under_fair_models(scenario: Scenario, policy: str) -> None:
    if policy == "adaptive-overlap":
        policy = "contention-aware"
    plan = planned(scenario, policy)
    if plan is not None:
        assert_valid(scenario, plan)


@examples(100)
@given(some(scenarios(max_jobs=6)), st.sampled_from(["makespan", "mean-completion"]))
def test_search_keeps_to_it(scenario: Scenario, objective: str) -> None:
    assert_valid(scenario, ringsched.plan(scenario, "search", objective=objective, stop=TINY))


@examples(150)
@given(some(arriving(max_jobs=8)), st.sampled_from(ONLINE), st.sampled_from(["none", "easy"]))
def test_simulations_keep_to_it(scenario: Scenario, policy: str, backfill: str) -> None:
    simulation = ringsched.simulate(
        scenario, policy, backfill=backfill, stop=TINY if policy == "rolling" else None
    )
    assert_valid(scenario, simulation.plan())


@examples(300)
@given(
    some(scenarios()),
    st.sampled_from([*RULES, "sjf-bco", "lwf", "longest-first", *LINK_RULES]),
    st.sampled_from(ALL_ORDERS),
    st.data(),
)
def test_each_trial_is_that_of_the_reference(
    scenario: Scenario, policy: str, order: str, data: st.DataObject
) -> None:
    """Rule by rule and order by order, the same starts, finishes and GPUs."""
    scenario = scenario.replace(time=scenario.time.replace(horizon_s=None))
    settings: dict[str, Any] = {}
    rule = RULES.get(policy, policy)
    if policy in RULES or policy == "sjf-bco":
        settings["theta"] = data.draw(st.integers(1, 200))
    if policy in ("sjf-bco", "lwf"):
        settings["kappa"] = data.draw(st.integers(1, 6))
        rule = "kappa" if policy == "sjf-bco" else "lwf"
    if policy == "longest-first":
        rule = "best-fit"
    plan = planned(scenario, policy, order=order, **settings)
    expected = dispatch(scenario, order, rule, settings.get("theta"), kappa=settings.get("kappa"))
    assert (plan is None) == (expected is None)
    if plan is None or expected is None:
        return
    unit_s = scenario.time.slot_s if scenario.time.slotted else 1.0
    for job in plan.jobs:
        assert {server: list(held) for server, held in job.gpus.items()} == expected.placements[job.name]
        assert job.start_s == pytest.approx(float(expected.starts[job.name]) * unit_s, rel=1e-9)
        assert job.finish_s == pytest.approx(float(expected.finishes[job.name]) * unit_s, rel=1e-9)


@examples(60)
@given(some(scenarios(max_jobs=3)))
def test_exact_is_never_worse_and_valid(scenario: Scenario) -> None:
    """The best plan is at least as good as that of any rule, and no bound is above it."""
    scenario = scenario.replace(time=scenario.time.replace(horizon_s=None))
    try:
        best = ringsched.plan(scenario, "exact", stop=ringsched.Stop(time_limit_s=2))
    except TooLarge:
        return
    assert_valid(scenario, best)
    for policy in ("longest-first", "lwf", "contention-aware", "free-links"):
        other = ringsched.plan(scenario, policy)
        assert best.makespan_s <= other.makespan_s * (1 + 1e-9)
        if best.ended == "proved":
            assert other.lower_bound_s <= best.makespan_s * (1 + 1e-9)


@examples(100)
@given(some(scenarios()), st.sampled_from(["longest-first", "lwf"]))
def test_a_limit_ends_a_job_and_the_parts_still_sum(scenario: Scenario, policy: str) -> None:
    plan = ringsched.plan(scenario, policy)
    blame = explain(scenario, plan)
    for job, planned_job, told in zip(scenario.jobs, plan.jobs, blame.jobs, strict=True):
        if job.limit_s is not None:
            slot_s = scenario.time.slot_s if scenario.time.slotted else 0.0
            assert planned_job.finish_s - planned_job.start_s <= (job.limit_s + slot_s) * (1 + 1e-9)
        assert math.isclose(told.duration_s, planned_job.finish_s - planned_job.start_s, rel_tol=1e-9)


# --- the verifier rejects one mutation per constraint ---------------------------------------------


def small() -> Scenario:
    cluster = ringsched.Cluster(
        servers=(
            ringsched.Server(name="new", gpus=4, labels={"gpu": "a100"}, unavailable_windows=((50, 90),)),
            ringsched.Server(name="old-0", gpus=4, labels={"gpu": "v100"}),
            ringsched.Server(name="old-1", gpus=4, labels={"gpu": "v100"}),
        ),
        inter_server_gbps=10,
        intra_server_gbps=100,
        reduce_gbps=400,
    )
    job = ringsched.Job(
        name="a",
        gpus=4,
        iterations=100,
        gradient_mb=10,
        minibatch=1,
        forward_ms=10,
        backward_ms=90,
        requires={"gpu": "v100"},
    )
    free = job.replace(name="b", requires={}, gpus=2, iterations=100)
    halves = job.replace(name="c", gpus=6, layout="balanced")
    pair = free.replace(name="e", servers=2)
    limited = job.replace(name="d", gpus=1, iterations=10_000, limit_s=30, requires={})
    return ringsched.Scenario(
        cluster=cluster, jobs=(job, free, halves, limited, pair), time=ringsched.Time(model="continuous")
    )


def moved(scenario: Scenario, plan: Plan, name: str, gpus: dict[str, list[int]], start_s: float) -> Plan:
    """The plan with one job elsewhere, and everything recomputed that follows from it."""
    jobs = list(plan.jobs)
    at = [job.name for job in jobs].index(name)
    ring = tuple((server, gpu) for server, held in gpus.items() for gpu in held)
    jobs[at] = jobs[at].replace(gpus=Placement(gpus), start_s=start_s, ring=ring)
    outcome = ringsched.replay(scenario, plan.replace(jobs=tuple(jobs)))
    jobs = [job.replace(finish_s=end) for job, end in zip(jobs, outcome.finishes_s, strict=True)]
    return plan.replace(
        jobs=tuple(jobs),
        makespan_s=outcome.makespan_s,
        mean_completion_s=outcome.mean_completion_s,
        weighted_completion_s=outcome.weighted_completion_s,
        max_slowdown=outcome.max_slowdown,
        gap=outcome.makespan_s / plan.lower_bound_s,
    )


@pytest.mark.parametrize(
    ("constraint", "name", "gpus", "start_s"),
    [
        ("server-label", "a", {"new": [0, 1, 2, 3]}, 200.0),
        ("layout", "c", {"old-0": [0, 1], "old-1": [0, 1, 2, 3]}, 200.0),
        ("layout", "e", {"old-0": [0, 1]}, 200.0),
        ("server-window", "b", {"new": [2, 3]}, 45.0),
        ("server-window", "b", {"new": [2, 3]}, 60.0),
    ],
)
def test_the_verifier_names_what_a_plan_breaks(
    constraint: str, name: str, gpus: dict[str, list[int]], start_s: float
) -> None:
    scenario = small()
    plan = ringsched.plan(scenario, "fifo")
    assert_valid(scenario, plan)
    broken = ringsched.verify(scenario, moved(scenario, plan, name, gpus, start_s))
    assert [violation.constraint for violation in broken.violations] == [constraint]
    fine = ringsched.verify(scenario, moved(scenario, plan, "b", {"new": [2, 3]}, 90.0))
    assert fine.valid


def test_the_verifier_knows_that_a_limit_ends_a_job() -> None:
    scenario = small()
    plan = ringsched.plan(scenario, "fifo")
    limited = plan.jobs[3]
    assert limited.finish_s == limited.start_s + 30
    jobs = scenario.jobs
    longer = scenario.replace(jobs=(*jobs[:3], jobs[3].replace(limit_s=31), jobs[4]))
    verdict = ringsched.verify(longer, plan.replace(scenario_sha256=longer.sha256()))
    assert "finish" in [violation.constraint for violation in verdict.violations]
