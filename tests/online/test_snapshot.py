"""A snapshot of a queue is the problem of the scenario that stands there now."""

from __future__ import annotations

import pytest

from ringsched import Cluster, Scenario, Time, Workload, generate
from ringsched.engine.problem import Problem, problem_of
from ringsched.online.planning import Held, Snapshots
from ringsched.rules.shared import charges


def scenario_of(*, slot_s: float | None) -> Scenario:
    time = Time(model="continuous") if slot_s is None else Time(slot_s=slot_s)
    cluster = Cluster.of_servers(6, switches=2)
    return generate(Workload.poisson(load=2, jobs=40, sizes="paper", cluster=cluster, time=time), seed=4)


def standing(scenario: Scenario, problem: Problem, waiting: list[int], left: dict[int, int]) -> Scenario:
    """Return what stands there as a scenario of its own, with the running jobs one after another."""
    gpu, jobs = 0, {}
    for job in waiting:
        jobs[job] = scenario.jobs[job].replace(submit_s=0.0)
    for job, iterations in left.items():
        held = range(gpu, gpu + problem.gpus[job])
        gpu += problem.gpus[job]
        jobs[job] = scenario.jobs[job].replace(
            submit_s=0.0, iterations=iterations, running_on=problem.placement(held)
        )
    return scenario.replace(jobs=tuple(jobs[job] for job in sorted(jobs)))


@pytest.mark.parametrize("slot_s", [None, 60.0])
def test_a_snapshot_is_the_problem_of_what_stands_there(slot_s: float | None) -> None:
    scenario = scenario_of(slot_s=slot_s)
    problem = problem_of(scenario)
    small = [job for job in range(40) if problem.gpus[job] <= 8]
    waiting, running = small[:9], small[9:14]
    left = {job: max(1, problem.iterations[job] // 3) for job in running}
    there = problem_of(standing(scenario, problem, waiting, left))
    held = {job: there.running[at] for at, job in enumerate(sorted([*waiting, *running])) if job in running}
    # A part of an iteration counts as one.
    held_now = {job: Held(held[job], left[job] - 0.5, 0.0) for job in running}
    snapshot = Snapshots(problem).problem(waiting, held_now, 0.0)
    for field in ("gpus", "iterations", "works", "release", "best_case", "worst_case", "running", "horizon"):
        assert getattr(snapshot, field) == getattr(there, field), field
    for name in ("gpus", "iterations", "release", "best_case", "worst_case"):
        assert getattr(snapshot.columns, name).tolist() == getattr(there.columns, name).tolist(), name
    assert charges(snapshot).tolist() == charges(there).tolist()
    assert [job.name for job in snapshot.scenario.jobs] == [job.name for job in there.scenario.jobs]


def test_the_gpus_of_a_running_job_are_charged_with_what_remains_of_it() -> None:
    problem = problem_of(scenario_of(slot_s=None))
    job = next(at for at in range(40) if problem.gpus[at] == 4)
    whole = Snapshots(problem).problem([0], {job: Held(range(4), problem.iterations[job], 0.0)}, 0.0)
    half = Snapshots(problem).problem([0], {job: Held(range(4), problem.iterations[job] / 2, 0.0)}, 0.0)
    at = sorted([0, job]).index(job)
    assert charges(half)[at] == pytest.approx(charges(whole)[at] / 2, rel=0.01)
    assert charges(half)[1 - at] == charges(whole)[1 - at]


def test_a_horizon_means_nothing_once_time_has_gone_on() -> None:
    scenario = scenario_of(slot_s=60.0)
    problem = problem_of(scenario.replace(time=scenario.time.replace(horizon_s=60.0)))
    assert problem.horizon == 1
    assert Snapshots(problem).problem([0, 1], {}, 0.0).horizon > 1
