"""A plan made at time 0 did not see the jobs that run there already."""

from __future__ import annotations

import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Scenario

POLICIES = ["sjf-bco", "first-fit", "list-scheduling", "rolling"]


def with_running(*others: ringsched.Job) -> Scenario:
    running = job("running", 2, 50, running_on={"s0": [0, 1]})
    return scenario(cluster(2, 2), running, *others)


@pytest.mark.parametrize("policy", POLICIES)
def test_all_jobs_known_at_time_0(policy: str) -> None:
    """The plan's first job was taken for the first that waits: an error, or the running job's GPUs."""
    simulation = ringsched.simulate(with_running(job("a", 1, 20), job("b", 1, 20)), policy)
    assert simulation.start_s.tolist() == [0, 0, 0]
    assert all(dict(planned.gpus).keys() == {"s1"} for planned in simulation.plan().jobs[1:])


@pytest.mark.parametrize("policy", POLICIES)
def test_others_come_later(policy: str) -> None:
    """The running job's GPUs were planned for those who wait, as if they were idle."""
    case = with_running(job("a", 1, 20), job("b", 1, 20), job("c", 1, 10, submit_s=30))
    simulation = ringsched.simulate(case, policy)
    assert simulation.start_s.tolist() == [0, 0, 0, 30]
