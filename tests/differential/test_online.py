"""Queues over time against the literal reference: the same starts, finishes, GPUs and promises."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import examples
from tests.reference import online
from tests.reference.dispatch import ORDERS
from tests.strategies import arriving

import ringsched
from ringsched import Scenario, Simulation
from ringsched.engine.problem import problem_of
from ringsched.online.belief import believed_problem


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


@examples(400)
@given(arriving(), st.sampled_from([*online.DISPATCHING]), st.sampled_from(["none", "easy"]))
def test_every_policy_that_dispatches(scenario: Scenario, policy: str, backfill: str) -> None:
    found = ringsched.simulate(scenario, policy, backfill=backfill)
    believed = online.believed_iterations(scenario)
    assert_equal(scenario, found, online.simulate(scenario, policy, backfill=backfill, believed=believed))
