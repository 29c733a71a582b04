"""What-if and check with labels, windows, layouts and limits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.effort import examples
from tests.strategies import restricted, scenarios

import ringsched
from ringsched.analysis.check import check
from ringsched.analysis.metrics import deadlines_met, ended_by_limits
from ringsched.analysis.whatif.changes import AddServers
from ringsched.analysis.whatif.places import choices
from ringsched.engine.problem import problem_of
from ringsched.model import Scenario
from ringsched.rules.runner import Runner
from ringsched.rules.table import BEST_FIT


@examples(80)
@given(scenarios(max_jobs=5).flatmap(restricted))
def test_every_place_offered_to_a_new_job_is_one_it_may_use(scenario: Scenario) -> None:
    scenario = scenario.replace(
        jobs=tuple(sorted(scenario.jobs, key=lambda job: not job.is_running)),
        time=scenario.time.replace(horizon_s=None),
    )
    if scenario.jobs[-1].is_running:
        return
    problem = problem_of(scenario)
    others = scenario.replace(jobs=scenario.jobs[:-1])
    run_of_others = Runner(problem_of(others), [0.0] * len(others.jobs))
    run_of_others.run(BEST_FIT)
    job = problem.num_jobs - 1
    offered = choices(problem, run_of_others.last())
    assert offered
    for start, gpus in offered:
        servers = [problem.server_of[gpu] for gpu in gpus]
        assert problem.eligibility.suits(job, servers)
        assert problem.eligibility.is_open(servers, start, start + problem.worst_case[job])


def test_more_servers_have_the_labels_of_the_usual_ones() -> None:
    scenario = ringsched.load_scenario("examples/mixed.toml")
    added = AddServers(count=1, gpus=8).apply(scenario).cluster.servers[-1]
    assert added.labels == {"gpu": "a100"}


def test_check_looks_only_at_servers_that_a_job_may_use() -> None:
    found = check(ringsched.load_scenario("examples/mixed.toml"))
    by_name = {kind.jobs[0]: kind for kind in found.kinds}
    assert by_name["finetune"].num_servers == 2
    assert by_name["finetune"].alone_s == by_name["finetune"].spread_s  # no server with a V100 holds it
    short = check(ringsched.load_scenario("examples/mixed.toml", ["jobs.sweep.limit_s=60"]))
    assert any("limit_s" in warning for warning in short.warnings)


@given(st.sampled_from(["priority-first", "deadline-first"]))
def test_deadlines_and_limits_are_counted(order: str) -> None:
    scenario = ringsched.load_scenario("examples/mixed.toml", ["jobs.sweep.limit_s=600"])
    plan = ringsched.plan(scenario, "fifo", order=order)
    num_met, num_deadlines = deadlines_met(scenario, [job.finish_s for job in plan.jobs])
    assert (num_met, num_deadlines) == (order == "deadline-first", 1)
    assert ended_by_limits(scenario, [(job.start_s, job.finish_s) for job in plan.jobs]) == ("sweep",)
