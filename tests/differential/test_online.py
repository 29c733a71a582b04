"""Queues over time against the literal reference: the same starts, finishes, GPUs and promises."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.crowds import crowd
from tests.effort import examples
from tests.reference import online
from tests.reference.dispatch import ORDERS
from tests.strategies import arriving

import ringsched
from ringsched import Scenario, Simulation
from ringsched.engine.problem import problem_of
from ringsched.online.ahead import believed_problem


def assert_equal(scenario: Scenario, found: Simulation, expected: online.OnlineResult) -> None:
    """Slots exactly; continuous time to rounding, and the same GPUs."""
    unit_s = scenario.time.slot_s if scenario.time.slotted else 1.0

    def in_seconds(ticks: object) -> object:
        if scenario.time.slotted:
            return ticks * unit_s  # type: ignore[operator]
        return pytest.approx(float(ticks), rel=1e-9, abs=1e-12)  # type: ignore[arg-type]

    plan = found.plan()
    for at, job in enumerate(plan.jobs):
        name = job.name
        held = {server: list(gpus) for server, gpus in job.gpus.items()}
        assert (name, held) == (name, expected.placements[name])
        assert (name, found.start_s[at]) == (name, in_seconds(expected.starts[name]))
        assert (name, found.finish_s[at]) == (name, in_seconds(expected.finishes[name]))
        assert (name, found.backfilled[at]) == (name, name in expected.backfilled)
        promised = None if math.isnan(found.promised_s[at]) else found.promised_s[at]
        if name in expected.promised:
            assert (name, promised) == (name, in_seconds(expected.promised[name]))
        else:
            assert (name, promised) == (name, None)


def assert_same(scenario: Scenario, policy: str, backfill: str, order: str | None = None) -> None:
    found = ringsched.simulate(scenario, policy, order=order, backfill=backfill)
    believed = online.believed_iterations(scenario)
    expected = online.simulate(scenario, policy, order=order, backfill=backfill, believed=believed)
    assert_equal(scenario, found, expected)


POLICIES = st.sampled_from([*online.DISPATCHING])
BACKFILLS = st.sampled_from(["easy", "none"])


@examples(150)
@given(arriving(), POLICIES, BACKFILLS)
def test_every_policy_that_dispatches(scenario: Scenario, policy: str, backfill: str) -> None:
    assert_same(scenario, policy, backfill)


@examples(200)
@given(st.integers(0, 10**6), POLICIES, st.sampled_from([None, *ORDERS]))
def test_crowds_with_backfilling(seed: int, policy: str, order: str | None) -> None:
    assert_same(crowd(seed), policy, "easy", order)


@examples(100)
@given(st.integers(0, 10**6), POLICIES, st.sampled_from([0.5, 3.0, 100.0]))
def test_errors_out_of_a_seed(seed: int, policy: str, error: float) -> None:
    """Which errors are drawn is not prescribed; what follows from them is."""
    scenario = crowd(seed)
    found = ringsched.simulate(scenario, policy, backfill="easy", estimate_error=error, seed=seed)
    iterations = believed_iterations(scenario, error, seed)
    assert_equal(scenario, found, online.simulate(scenario, policy, backfill="easy", believed=iterations))


def believed_iterations(scenario: Scenario, error: float, seed: int) -> list[int]:
    """In all, as the references count them."""
    left = believed_problem(problem_of(scenario), error, seed).iterations
    return [each + job.done_iterations for each, job in zip(left, scenario.jobs, strict=True)]


@examples(60)
@given(arriving(estimates=True))
def test_stated_estimates(scenario: Scenario) -> None:
    """As many iterations as take so long in the best case; a running job that has outlived them, twice."""
    believed = believed_iterations(scenario, 0.0, 0)
    for job, found, estimate in zip(
        scenario.jobs, believed, online.believed_iterations(scenario), strict=True
    ):
        while estimate <= job.done_iterations:
            estimate *= 2
        assert (job.name, found) == (job.name, estimate)
