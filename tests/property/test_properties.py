"""What must hold for every scenario and every plan."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests import planning
from tests.strategies import scenarios

import ringsched
from ringsched import Infeasible, Plan, Scenario
from ringsched.contention.sharing import iteration_time
from ringsched.engine import events
from ringsched.engine.problem import problem_of
from ringsched.engine.state import arrays_of, new_state, reset
from ringsched.formats.plan import plan_to_json
from ringsched.model import Placement

# `exact` takes tiny scenarios only; test_exact.py has some for it.
POLICIES = [policy.name for policy in ringsched.list_policies() if policy.name != "exact"]
SAME = 1e-9  # relative, for continuous time; slots are exact


def feasible_plan(scenario: Scenario, policy: str, **options: object) -> Plan:
    if policy == "search":
        options = {"iterations": 100, "threads": 1} | options
    try:
        return planning.plan(scenario, policy, **options)  # type: ignore[arg-type]
    except Infeasible:
        assume(False)
        raise


@given(
    scenarios(min_jobs=0),
    st.sampled_from(POLICIES),
    st.integers(0, 9),
    st.sampled_from(ringsched.OBJECTIVES),
)
def test_every_plan_is_valid_and_above_the_bound(
    scenario: Scenario, policy: str, seed: int, objective: str
) -> None:
    plan = feasible_plan(scenario, policy, seed=seed, objective=objective)
    assert ringsched.verify(scenario, plan).violations == ()
    assert plan.lower_bound_s <= plan.objective_s * (1 + SAME)
    assert plan.gap >= 1


@given(scenarios(), st.sampled_from(POLICIES))
def test_replaying_a_plan_gives_its_finishes(scenario: Scenario, policy: str) -> None:
    plan = feasible_plan(scenario, policy)
    outcome = ringsched.replay(scenario, plan)
    assert outcome.finishes_s == tuple(job.finish_s for job in plan.jobs)
    assert (outcome.makespan_s, outcome.mean_completion_s) == (plan.makespan_s, plan.mean_completion_s)


@given(scenarios(), st.randoms(use_true_random=False))
def test_kernel_equals_formula_and_contention_never_shortens_an_iteration(
    scenario: Scenario, generator: random.Random
) -> None:
    """As many jobs as fit, anywhere, all at once."""
    problem = problem_of(
        scenario.replace(jobs=tuple(job.replace(running_on=None, done_iterations=0) for job in scenario.jobs))
    )
    arrays = arrays_of(problem)
    state = new_state(arrays)
    reset(arrays, state)
    free = [gpu for gpu, available in enumerate(problem.available) if available]
    generator.shuffle(free)
    shapes = {}
    for job, gpus in enumerate(problem.gpus):
        if gpus <= len(free):
            state.chosen[:gpus] = sorted(free[:gpus])
            shapes[job] = problem.shape(free[:gpus])
            events.start(arrays, state, job, 0)
            del free[:gpus]
    num_jobs_on = Counter(link for shape in shapes.values() for link in shape.links)
    for job, shape in shapes.items():
        uplink_gbps, model = problem.network.uplink_gbps, problem.fabric.model
        shared = (uplink_gbps[link] / model.factor(num_jobs_on[link]) for link in shape.links)
        tau = problem.fabric.ring(problem.works[job], shape).tau(min(shared, default=math.inf))
        assert iteration_time(arrays.links, state.traffic, job) == tau
        assert tau >= problem.alone_tau(job, shape)


@given(scenarios(), st.sampled_from(POLICIES))
def test_durations_lie_between_best_and_worst_case(scenario: Scenario, policy: str) -> None:
    plan, problem = feasible_plan(scenario, policy), problem_of(scenario)
    for at, job in enumerate(plan.jobs):
        duration = job.finish_s - job.start_s
        assert duration >= problem.clock.seconds(problem.best_case[at]) * (1 - SAME)
        assert duration <= problem.clock.seconds(problem.worst_case[at]) * (1 + SAME)


@given(scenarios(), st.sampled_from(POLICIES))
def test_renaming_changes_only_names(scenario: Scenario, policy: str) -> None:
    plan = feasible_plan(scenario, policy)
    server_names = {server.name: f"x{-at}" for at, server in enumerate(scenario.cluster.servers)}
    renamed = feasible_plan(_renamed(scenario, server_names), policy)
    assert renamed.replace(scenario_sha256=plan.scenario_sha256, bounds=(), jobs=()) == plan.replace(
        bounds=(), jobs=()
    )
    for before, after in zip(plan.jobs, renamed.jobs, strict=True):
        assert (after.name, after.start_s, after.finish_s) == (
            f"y-{before.name}",
            before.start_s,
            before.finish_s,
        )
        assert dict(after.gpus) == {server_names[name]: held for name, held in before.gpus.items()}
        assert after.ring == tuple((server_names[name], gpu) for name, gpu in before.ring)


@given(scenarios(), st.sampled_from(POLICIES), st.randoms(use_true_random=False))
def test_permuting_servers_or_jobs_changes_no_finish(
    scenario: Scenario, policy: str, generator: random.Random
) -> None:
    plan = feasible_plan(scenario, policy)
    finishes = {job.name: job.finish_s for job in plan.jobs}
    servers, jobs = list(scenario.cluster.servers), list(scenario.jobs)
    generator.shuffle(servers)
    generator.shuffle(jobs)
    permuted = scenario.replace(cluster=scenario.cluster.replace(servers=tuple(servers)), jobs=tuple(jobs))
    outcome = ringsched.replay(permuted, plan)
    for job, finish_s in zip(permuted.jobs, outcome.finishes_s, strict=True):
        assert finish_s == (
            finishes[job.name] if scenario.time.slotted else pytest.approx(finishes[job.name], rel=SAME)
        )


@given(scenarios(), st.sampled_from(POLICIES), st.data())
def test_removing_a_job_delays_no_other(scenario: Scenario, policy: str, data: st.DataObject) -> None:
    """At fixed placements and starts; planning anew may (docs/concepts/model.md shows an anomaly)."""
    plan = feasible_plan(scenario, policy)
    gone = data.draw(st.integers(0, len(plan.jobs) - 1))
    fewer = scenario.replace(jobs=scenario.jobs[:gone] + scenario.jobs[gone + 1 :])
    rest = plan.jobs[:gone] + plan.jobs[gone + 1 :]
    outcome = ringsched.replay(fewer, plan.replace(jobs=rest))
    for job, finish_s in zip(rest, outcome.finishes_s, strict=True):
        assert finish_s <= job.finish_s * (1 if scenario.time.slotted else 1 + SAME)


@given(scenarios(min_jobs=0), st.sampled_from(POLICIES), st.integers(0, 3))
def test_plans_round_trip_and_repeat_byte_for_byte(scenario: Scenario, policy: str, seed: int) -> None:
    plan = feasible_plan(scenario, policy, seed=seed)
    with TemporaryDirectory() as folder:
        path = Path(folder, "plan.json")
        ringsched.save_plan(plan, path)
        assert ringsched.load_plan(path) == plan
        assert path.read_text(encoding="utf-8") == plan_to_json(feasible_plan(scenario, policy, seed=seed))


@given(scenarios(min_jobs=0))
def test_expanded_scenarios_round_trip(scenario: Scenario) -> None:
    again = ringsched.scenario_from_dict(json.loads(json.dumps(scenario.expanded())))
    assert again == scenario
    assert again.sha256() == scenario.sha256()


def _renamed(scenario: Scenario, server_names: dict[str, str]) -> Scenario:
    switch_names = {switch.name: f"z{-at}" for at, switch in enumerate(scenario.cluster.switches)}
    cluster = scenario.cluster.replace(
        servers=tuple(
            server.replace(
                name=server_names[server.name], switch=server.switch and switch_names[server.switch]
            )
            for server in scenario.cluster.servers
        ),
        switches=tuple(
            switch.replace(
                name=switch_names[switch.name], parent=switch.parent and switch_names[switch.parent]
            )
            for switch in scenario.cluster.switches
        ),
    )
    jobs = tuple(
        job.replace(
            name=f"y-{job.name}",
            running_on=job.running_on
            and Placement({server_names[name]: held for name, held in job.running_on.items()}),
        )
        for job in scenario.jobs
    )
    return scenario.replace(cluster=cluster, jobs=jobs)
