"""The engine against the independent reference: slot by slot, or events in fractions."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import planning
from tests.effort import examples
from tests.reference import formulas
from tests.reference.algorithm_1 import bisect_theta, horizon_ticks, sjf_bco
from tests.reference.dispatch import ORDERS, Result, dispatch
from tests.reference.link_rules import LINK_RULES
from tests.reference.replay import replay as reference_replay
from tests.strategies import scenarios

import ringsched
from ringsched import Infeasible, Plan, Scenario
from ringsched.engine.problem import problem_of
from ringsched.policies.custom import ClusterView, JobView

CORE = ("longest-job", "area", "large-jobs")
RULES = {
    "first-fit": "first-fit",
    "list-scheduling": "list-scheduling",
    "random": "random",
    "sjf-bco": "kappa",
}


def assert_equal(scenario: Scenario, plan: Plan, result: Result) -> None:
    """Same GPUs, same starts, same finishes: exact when slotted, to rounding when continuous."""
    unit_s = scenario.time.slot_s if scenario.time.slotted else 1.0
    for job in plan.jobs:
        assert {server: list(held) for server, held in job.gpus.items()} == result.placements[job.name]
        for found, expected in ((job.start_s, result.starts), (job.finish_s, result.finishes)):
            if scenario.time.slotted:
                assert found == expected[job.name] * unit_s
            else:
                assert found == pytest.approx(float(expected[job.name]), rel=1e-9, abs=1e-12)


def planned(scenario: Scenario, policy: str, **options: object) -> Plan | None:
    try:
        return planning.plan(scenario, policy, **options)  # type: ignore[arg-type]
    except Infeasible:
        return None


class Anywhere:
    """Any idle GPUs, at any event: plans that no sensible policy would make."""

    def __init__(self, generator: random.Random) -> None:
        self._generator = generator

    def order(self, job: JobView) -> float:
        return self._generator.random()

    def place(self, job: JobView, cluster: ClusterView) -> dict[str, list[int]] | None:
        idle = [(server.name, gpu) for server in cluster.servers for gpu in server.idle]
        something_runs = len(idle) < sum(server.capacity for server in cluster.servers)
        if len(idle) < job.gpus or (something_runs and self._generator.random() < 0.3):
            return None
        chosen: dict[str, list[int]] = {}
        for server, gpu in self._generator.sample(idle, job.gpus):
            chosen.setdefault(server, []).append(gpu)
        return chosen


@examples(400)
@given(scenarios(min_jobs=0), st.integers(0, 10**6))
def test_any_starts_and_placements(scenario: Scenario, seed: int) -> None:
    """Whatever a plan says, its finishes are those of the reference; replaying it changes no bit."""
    plan = ringsched.plan(scenario, Anywhere(random.Random(seed)))
    expected = reference_replay(scenario, [job.start_s for job in plan.jobs], [job.gpus for job in plan.jobs])
    for job, reference in zip(plan.jobs, expected, strict=True):
        if scenario.time.slotted:
            assert round(job.finish_s / scenario.time.slot_s) == round(
                reference / Fraction(scenario.time.slot_s)
            )
        assert job.finish_s == pytest.approx(float(reference), rel=1e-9)
    assert ringsched.replay(scenario, plan).finishes_s == tuple(job.finish_s for job in plan.jobs)


@examples(400)
@given(scenarios(), st.sampled_from([*RULES, "longest-first"]), st.sampled_from(ORDERS), st.data())
def test_one_trial(scenario: Scenario, policy: str, order: str, data: st.DataObject) -> None:
    """One pass over the queue with fixed theta and kappa, for every rule and order."""
    # A horizon would also judge the makespan; here only theta is to matter.
    scenario = scenario.replace(time=scenario.time.replace(horizon_s=None))
    seed = data.draw(st.integers(0, 3))
    if policy == "longest-first":
        plan, result = planned(scenario, policy, order=order), dispatch(scenario, order, "best-fit", None)
    else:
        theta = data.draw(st.integers(1, max(1, horizon_ticks(scenario) // 3)))
        kappa = data.draw(st.integers(1, 8)) if policy == "sjf-bco" else None
        slack = data.draw(st.sampled_from([None, 1.0, 2.0])) if policy == "sjf-bco" else None
        plan = planned(scenario, policy, order=order, theta=theta, kappa=kappa, slack=slack, seed=seed)
        result = dispatch(scenario, order, RULES[policy], theta, kappa=kappa, slack=slack, seed=seed)
    assert (plan is None) == (result is None)
    if plan is not None and result is not None:
        assert_equal(scenario, plan, result)


@examples(400)
@given(scenarios(), st.sampled_from(["lwf", *LINK_RULES]), st.sampled_from([None, *ORDERS]), st.data())
def test_one_trial_of_the_neighbours(
    scenario: Scenario, policy: str, order: str | None, data: st.DataObject
) -> None:
    """LWF, and the policies that look at links; all of them always find a plan."""
    kappa = data.draw(st.integers(1, 8)) if policy == "lwf" else None
    result = dispatch(scenario, order or "smallest-area-first", policy, None, kappa=kappa)
    assert result is not None
    assert_equal(scenario, ringsched.plan(scenario, policy, order=order, kappa=kappa), result)


@examples(300)
@given(scenarios(max_jobs=7), st.sampled_from(["sjf-bco", "first-fit", "list-scheduling"]))
def test_whole_search(scenario: Scenario, policy: str) -> None:
    """Bisection and all: the same theta, kappa and plan, or infeasible alike."""
    plan = planned(scenario, policy)
    if policy == "sjf-bco":
        found = sjf_bco(scenario, every_kappa=True, jump=True)
        params = None if found is None else {"theta": found[1], "kappa": found[2]}
        result = None if found is None else found[3]
    else:
        by_theta = bisect_theta(scenario, RULES[policy], "fifo", jump=True)
        params = None if by_theta is None else {"theta": by_theta[1]}
        result = None if by_theta is None else by_theta[2]
    assert (plan is None) == (result is None)
    if plan is not None and result is not None:
        assert plan.params == params
        assert_equal(scenario, plan, result)


@examples(300)
@given(scenarios(min_jobs=0))
def test_durations_and_bounds(scenario: Scenario) -> None:
    """Best cases, worst cases, horizon and lower bound agree."""
    problem = problem_of(scenario)
    for at, job in enumerate(scenario.jobs):
        best = formulas.remaining_best_case_s if job.is_running else formulas.best_case_duration_s
        seconds = problem.clock.seconds
        assert seconds(problem.best_case[at]) == pytest.approx(float(best(scenario, job)))
        worst_s = formulas.worst_case_ticks(scenario, job) * formulas.tick_s(scenario)
        assert seconds(problem.worst_case[at]) == pytest.approx(float(worst_s))
    assert problem.horizon == horizon_ticks(scenario)
    bounds = {bound.name: bound.value_s for bound in ringsched.lower_bounds(scenario)}
    found = max((bounds[name] for name in CORE if name in bounds), default=0.0)
    assert found == pytest.approx(float(formulas.lower_bound(scenario)), rel=1e-12)
