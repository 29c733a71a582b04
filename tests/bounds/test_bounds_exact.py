"""No bound is above the best plan of a tiny scenario that policy `exact` finds, and the verifier agrees."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.tiny import needs_compiler, tiny_scenarios

import ringsched
from ringsched import Scenario
from ringsched.engine.problem import problem_of
from ringsched.model.objective import ALL

NUM_SCENARIOS = 1000


@st.composite
def eligible_scenarios(draw: st.DrawFn) -> Scenario:
    """Tiny scenarios, some with labels, windows, layouts and time limits."""
    scenario = draw(tiny_scenarios(max_jobs=4, max_servers=3, max_iterations=20))
    if draw(st.booleans()):
        return scenario
    kinds = [draw(st.sampled_from(["a", "b"])) for _ in scenario.cluster.servers]
    servers = [
        server.replace(labels={"kind": kind}, unavailable_windows=draw(windows(scenario)))
        for server, kind in zip(scenario.cluster.servers, kinds, strict=True)
    ]
    jobs = [
        job
        if job.is_running
        else job.replace(
            requires=draw(st.sampled_from([{}, {}, {"kind": "a"}, {"kind": "b"}])),
            layout=draw(st.sampled_from(["any", "any", "balanced"])),
            servers=draw(st.sampled_from([None, None, *(k for k in (1, 2, 3) if job.gpus % k == 0)])),
            limit_s=draw(st.sampled_from([None, None, 9.5 * scenario.time.slot_s])),
        )
        for job in scenario.jobs
    ]
    cluster = scenario.cluster.replace(servers=tuple(servers))
    try:
        changed = scenario.replace(cluster=cluster, jobs=tuple(jobs))
        problem_of(changed)
    except ringsched.InputError:  # a job has no place
        return scenario
    return changed


def windows(scenario: Scenario) -> st.SearchStrategy[tuple[tuple[float, float], ...]]:
    """Windows of a server; most have none."""
    slot_s = scenario.time.slot_s
    return st.sampled_from([(), (), ((0.0, 4 * slot_s),), ((3 * slot_s, 9.5 * slot_s),)])


def hold(instance: Scenario, time_limit_s: float) -> None:
    """Compare all bounds with the best plan; without a proof in time there is nothing to compare."""
    stop = ringsched.Stop(time_limit_s=time_limit_s)
    for objective in ALL:
        with suppress(ringsched.TooLarge):
            plan = ringsched.plan(instance, "exact", objective=objective.name, stop=stop)
            best_s = getattr(plan, objective.field)
            for bound in plan.bounds:
                assert bound.value_s <= best_s * (1 + 1e-9), (objective.name, bound)
            assert ringsched.verify(instance, plan).violations == ()


@needs_compiler
@given(eligible_scenarios())
@examples(30)
def test_no_bound_is_above_the_proved_optimum(instance: Scenario) -> None:
    hold(instance, time_limit_s=0.5)


@pytest.mark.slow
@needs_compiler
@given(eligible_scenarios())
@settings(max_examples=NUM_SCENARIOS, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_bound_is_above_the_optimum_of_a_thousand_scenarios(instance: Scenario) -> None:
    hold(instance, time_limit_s=5)
