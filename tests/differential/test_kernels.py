"""The kernels against the plain engine they took the place of: the same plans, byte for byte."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core_engine.policies import SOLVE
from tests.effort import examples, tried
from tests.strategies import scenarios
from tests.workloads import paper_mix

import ringsched
from ringsched import Infeasible, Scenario, api
from ringsched.policies.policy import Policy
from ringsched.policies.registry import policy_named


def on_the_plain_engine(name: str) -> Policy:
    return replace(policy_named(name), solve=SOLVE[name])


def plan_bytes(scenario: Scenario, policy: str, **options: object) -> str:
    try:
        return ringsched.plan_to_json(ringsched.plan(scenario, policy, **options))  # type: ignore[arg-type]
    except Infeasible as error:
        return str(error)


def assert_same_bytes(scenario: Scenario, policy: str, **options: object) -> None:
    kernels = plan_bytes(scenario, policy, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "policy_named", on_the_plain_engine)
        assert kernels == plan_bytes(scenario, policy, **options)


@examples(500)
@given(
    scenarios(min_jobs=0),
    st.sampled_from([*SOLVE]),
    st.sampled_from([None, *ringsched.ORDERS]),
    st.integers(0, 9),
)
def test_random_scenarios(scenario: Scenario, policy: str, order: str | None, seed: int) -> None:
    assert_same_bytes(scenario, policy, order=order, seed=seed)


@pytest.mark.parametrize("policy", SOLVE)
@pytest.mark.parametrize("seed", range(tried(3)))
def test_paper_mix(seed: int, policy: str) -> None:
    assert_same_bytes(paper_mix(seed), policy)


@pytest.mark.parametrize("policy", SOLVE)
def test_paper_mix_in_continuous_time(policy: str) -> None:
    scenario = paper_mix(0)
    assert_same_bytes(scenario.replace(time=scenario.time.replace(model="continuous")), policy)
