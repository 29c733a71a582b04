"""All kernels loaded before the first request comes."""

from __future__ import annotations

from ringsched import api
from ringsched.reporting.data import report_data
from ringsched.web.examples import example_scenario

NUM_JOBS = 4  # of fewer the best plan is found without a search; of more its proof takes long


def warm_up() -> None:
    """Plan and draw a few jobs by every policy."""
    scenario = example_scenario("small")
    scenario = scenario.replace(jobs=scenario.jobs[:NUM_JOBS])
    for policy in api.list_policies():
        limits = {"iterations": 10, "threads": 1} if policy.name == "search" else {}
        plan = api.plan(scenario, policy.name, **limits)  # type: ignore[arg-type]
        report_data(scenario, {policy.name: plan})
