"""All kernels loaded before the first request comes."""

from __future__ import annotations

from ringsched import api
from ringsched.contention import fabric_of
from ringsched.contention.iteration_time import work_of
from ringsched.model import Scenario
from ringsched.reporting.data import report_data
from ringsched.web.examples import example_scenario

NUM_JOBS = 4  # of fewer the best plan is found without a search; of more its proof takes long
NUM_MEETING = 200  # jobs on one link, for which iteration times over time are no longer computed as Python


def warm_up() -> None:
    """Plan and draw a few jobs by every policy, and let many meet on a link."""
    scenario = example_scenario("small")
    scenario = scenario.replace(jobs=scenario.jobs[:NUM_JOBS])
    for policy in api.list_policies():
        limits = {"iterations": 10, "threads": 1} if policy.name == "search" else {}
        plan = api.plan(scenario, policy.name, **limits)  # type: ignore[arg-type]
        report_data(scenario, {policy.name: plan})
    _meet(scenario)


def _meet(scenario: Scenario) -> None:
    fabric = fabric_of(scenario.cluster, scenario.contention)
    ring = fabric.ring(work_of(scenario.jobs[0], scenario.cluster), fabric.shape({0: 1, 1: 1}))
    fabric.paces([ring] * NUM_MEETING, [0.0] * NUM_MEETING, [1.0] * NUM_MEETING)
