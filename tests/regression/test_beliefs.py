"""Beliefs that depended on what nobody may know: the true number of iterations."""

from __future__ import annotations

import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched.engine.problem import problem_of
from ringsched.online.ahead import believed_problem
from ringsched.rules.shared import charges


def believed(case: ringsched.Scenario) -> list[int]:
    problem = believed_problem(problem_of(case), 0.0, 0)
    return [left + job.done_iterations for left, job in zip(problem.iterations, case.jobs, strict=True)]


@pytest.mark.parametrize("iterations", [2, 9, 10, 100])
def test_an_estimate_in_slots_means_the_same_whatever_the_truth(iterations: int) -> None:
    """Six slots of ten iterations; it was the truth times estimate over best case, the latter whole slots."""
    assert believed(scenario(cluster(1), job("a", 1, iterations, estimate_s=6))) == [60]


@pytest.mark.parametrize("iterations", [31, 40, 100])
@pytest.mark.parametrize("time", [{}, {"model": "continuous"}], ids=["slotted", "continuous"])
def test_the_estimate_of_a_running_job_is_of_the_whole_job(iterations: int, time: dict[str, str]) -> None:
    """50 iterations in all; it was what is really left, times estimate over best case."""
    running = job("a", 1, iterations, estimate_s=5, running_on={"s0": [0]}, done_iterations=30)
    assert believed(scenario(cluster(1), running, time=time)) == [50]


def test_a_running_job_that_outlived_its_estimate_before_time_0() -> None:
    """Believed to need 10 iterations it has done 30: 10, 20, 40."""
    running = job("a", 1, 90, estimate_s=1, running_on={"s0": [0]}, done_iterations=30)
    assert believed(scenario(cluster(1), running)) == [40]


def test_twice_as_many_in_all_counts_what_was_done_before_time_0() -> None:
    """At 2 s 50 iterations are done and 40 were believed: now 80, so 30 or 3 s are left.

    Without the 30 of before time 0 it was believed to need 10, 20, 40 from there on, so until 4 s.
    """
    running = job("a", 1, 100, estimate_s=4, running_on={"s0": [0]}, done_iterations=30)
    case = scenario(cluster(1), running, job("head", 1, 10, submit_s=2))
    simulation = ringsched.simulate(case, "fifo", backfill="easy")
    assert simulation.promised_s[1] == 5
    assert simulation.start_s[1] == 7


def test_an_estimate_below_one_iteration_charges_one_iteration() -> None:
    """The believed job has one iteration, and its GPU is charged with it; it was charged with the estimate.

    After a on one server and b on the other, c goes to the less loaded one: a's was the one when only a's
    estimate of 10 ms was charged.
    """
    jobs = [
        job("b", 1, 1, backward_ms=60, submit_s=0.001),
        job("a", 1, 1, backward_ms=100, estimate_s=0.01),
        job("c", 1, 1, submit_s=1),
    ]
    case = scenario(cluster(1, 1), *jobs, time={"model": "continuous"})
    plan = ringsched.simulate(case, "lwf", order="fifo").plan()
    assert [list(job.gpus) for job in plan.jobs] == [["s1"], ["s0"], ["s1"]]


def test_an_estimate_beyond_the_time_limit_charges_no_more_than_the_limit() -> None:
    """The job is ended after 2 s, whatever it was estimated to take; so GPUs are charged in proportion."""
    case = scenario(cluster(2), job("a", 1, 50, estimate_s=9, limit_s=2), job("b", 1, 20, estimate_s=2))
    assert charges(problem_of(case)).tolist() == [2_000_000, 2_000_000]
