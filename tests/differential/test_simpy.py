"""A plain SimPy model of the same cluster: equal starts and finishes, so that comparing speeds is fair."""

from __future__ import annotations

import pytest
from benchmarks.simpy_model import run
from tests.crowds import crowd
from tests.effort import tried

import ringsched
from ringsched import Scenario


def assert_same(scenario: Scenario) -> None:
    starts_s, finishes_s = run(scenario)
    simulation = ringsched.simulate(scenario, "fifo")
    assert starts_s == pytest.approx(simulation.start_s.tolist(), rel=1e-9, abs=1e-9)
    assert finishes_s == pytest.approx(simulation.finish_s.tolist(), rel=1e-9, abs=1e-9)
    if scenario.time.slotted:
        assert (starts_s, finishes_s) == (simulation.start_s.tolist(), simulation.finish_s.tolist())


@pytest.mark.parametrize("model", ["slotted", "continuous"])
@pytest.mark.parametrize("seed", range(3))
def test_hundreds_of_jobs(seed: int, model: str) -> None:
    """Racks, large jobs and a load at which many wait."""
    cluster = ringsched.Cluster.of_servers(8, switches=2)
    workload = ringsched.Workload.poisson(load=0.95, jobs=tried(400), cluster=cluster)
    scenario = ringsched.generate(workload, seed=seed)
    assert_same(scenario.replace(time=scenario.time.replace(model=model, slot_s=60.0)))


@pytest.mark.parametrize("seed", range(tried(60)))
def test_small_crowds(seed: int) -> None:
    """Everything the model knows: running jobs, broken GPUs, tables, lanes, a server without a rack."""
    assert_same(crowd(seed, estimates=False))
