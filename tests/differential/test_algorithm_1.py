"""SJF-BCO against the literal Algorithm 1, on the paper's own workload."""

from __future__ import annotations

import pytest
from tests.effort import AT_NIGHT
from tests.reference.algorithm_1 import sjf_bco
from tests.workloads import paper_mix

import ringsched
from ringsched import Infeasible


@pytest.mark.parametrize("times_bound", [1.6, 2.5, None] if AT_NIGHT else [1.6])
@pytest.mark.parametrize("seed", range(12 if AT_NIGHT else 1))  # the reference takes seconds
def test_paper_mix(seed: int, times_bound: float | None) -> None:
    """Same makespan, theta, kappa and placements; tight horizons make theta really bisect."""
    scenario = paper_mix(seed)
    if times_bound is not None:
        horizon_s = ringsched.lower_bounds(scenario)[0].value_s * times_bound
        scenario = scenario.replace(time=scenario.time.replace(horizon_s=horizon_s))
    literal = sjf_bco(scenario, exact=False, jump=True)
    if literal is None:
        with pytest.raises(Infeasible):
            ringsched.plan(scenario, "sjf-bco")
        return
    makespan, theta, kappa, result = literal
    plan = ringsched.plan(scenario, "sjf-bco")
    assert (plan.makespan_s, plan.params) == (makespan, {"theta": theta, "kappa": kappa})
    for job in plan.jobs:
        assert {server: list(held) for server, held in job.gpus.items()} == result.placements[job.name]
        assert (job.start_s, job.finish_s) == (result.starts[job.name], result.finishes[job.name])
