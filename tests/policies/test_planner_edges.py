"""Loads, limits and instants at the edge: one millionth more, one completion a rounding error later."""

from __future__ import annotations

import pytest
from tests import planning
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Infeasible, InputError, Job, Scenario
from ringsched.engine.problem import Problem, problem_of
from ringsched.engine.state import arrays_of, new_state
from ringsched.rules.balanced import _select
from ringsched.rules.runner import Runner
from ringsched.rules.shared import new_scratch

CONTINUOUS = {"model": "continuous"}


def lasting(name: str, seconds: float, **fields: object) -> Job:
    """A job that computes for so long, once."""
    return job(name, iterations=1, backward_ms=seconds * 1000, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seconds", "allowed"),
    [(2.0, True), (2.0000004, True), (2.0000006, False), (2.000001, False), (1.9999994, True)],
)
def test_theta_is_compared_with_loads_in_whole_millionths(seconds: float, allowed: bool) -> None:
    problem = scenario(cluster(1), lasting("a", seconds), time=CONTINUOUS)
    if allowed:
        assert ringsched.plan(problem, "first-fit", theta=2).params == {"theta": 2}
    else:
        with pytest.raises(Infeasible):
            ringsched.plan(problem, "first-fit", theta=2)


@pytest.mark.parametrize(
    ("gpus", "slack", "servers"),
    [
        (25, 1.12, [0]),  # 28.000000000000004 as a float
        (25, 1.12002, [0, 1]),  # more than 28 by far more than rounding
        (28, 1.0, [0]),
        (28, 2.5, [0, 1, 2]),  # 70 of 58: all of them
    ],
)
def test_servers_selected_for_a_slack(gpus: int, slack: float, servers: list[int]) -> None:
    sized, plain = (
        problem_of(scenario(cluster(28, 28, 2), job(gpus=gpus, server_slack=own))) for own in (slack, 1.0)
    )
    assert selected_servers(sized, None) == servers
    assert selected_servers(plain, slack) == servers


def selected_servers(problem: Problem, slack: float | None) -> list[int]:
    """The servers LBSGF takes for the first job on an idle cluster."""
    arrays = arrays_of(problem)
    state, scratch = new_state(arrays), new_scratch(arrays)
    needed = Runner(problem, [0.0], slack=slack)._queue.needed[0]
    first, end = _select(arrays, state, scratch, needed)
    return sorted(scratch.order[first:end].tolist())


def waiting_for(*finishes: float, submit_s: float = 0.0) -> Scenario:
    """Two jobs on one GPU each, and a third that needs both."""
    jobs = [lasting(f"j{at}", finish) for at, finish in enumerate(finishes)]
    return scenario(cluster(2), *jobs, lasting("w", 1.0, gpus=2, submit_s=submit_s), time=CONTINUOUS)


@pytest.mark.parametrize(("later", "start"), [(0.5e-9, 2.0), (1e-6, 2.000001)])
def test_completions_a_rounding_error_apart_happen_at_once(later: float, start: float) -> None:
    plan = ringsched.plan(waiting_for(2.0, 2.0 + later), "first-fit")
    assert plan.jobs[1].finish_s == plan.jobs[2].start_s == start


def test_an_arrival_does_not_draw_completions_to_itself() -> None:
    plan = ringsched.plan(waiting_for(2.0, 2.0, submit_s=2.0 - 0.5e-9), "first-fit")
    assert (plan.jobs[0].finish_s, plan.jobs[2].start_s) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("jobs", "time"),
    [
        ([lasting("a", 4.0, submit_s=2.0**53)], CONTINUOUS),  # short, but submitted late
        ([lasting("a", 2.0**53 + 2)], CONTINUOUS),
        ([job("a"), job("b")], {"slot_s": 1e308}),  # each ends in time, but not their sum
    ],
)
def test_jobs_that_may_end_too_late_are_refused(jobs: list[Job], time: dict[str, object]) -> None:
    with pytest.raises(InputError, match="may end too late to be counted exactly"):
        ringsched.plan(scenario(cluster(1), *jobs, time=time))


def test_random_keeps_loads_within_the_horizon() -> None:
    """Two jobs of 2 slots on one GPU load it with 4, more than T = 3; on two GPUs they fit."""
    jobs = [job(name, iterations=20) for name in "ab"]
    with pytest.raises(Infeasible):
        ringsched.plan(scenario(cluster(1), *jobs, time={"horizon_s": 3}), "random")
    assert ringsched.plan(scenario(cluster(1), *jobs, time={"horizon_s": 4}), "random").makespan_s == 4


@pytest.mark.parametrize("theta", [None, 3])
def test_a_makespan_must_be_below_the_horizon_not_at_it(theta: int | None) -> None:
    one = scenario(cluster(1), job(iterations=30), time={"horizon_s": 3})
    with pytest.raises(Infeasible):
        ringsched.plan(one, "first-fit", theta=theta)
    later = one.replace(time=one.time.replace(horizon_s=4))
    assert ringsched.plan(later, "first-fit", theta=theta).makespan_s == 3


@pytest.mark.parametrize("change", ["missing", "twice", "foreign", "extra"])
def test_a_plan_for_other_jobs_is_not_replayed(change: str) -> None:
    problem = scenario(cluster(2), job("a"), job("b"))
    plan = ringsched.plan(problem)
    first, second = plan.jobs
    other = second.replace(name="c")
    jobs = {
        "missing": (first,),
        "twice": (first, second, second),
        "foreign": (first, other),
        "extra": (first, second, other),
    }[change]
    with pytest.raises(InputError, match="the plan's jobs are not those of the scenario"):
        ringsched.replay(problem, plan.replace(jobs=jobs))


def test_bounds_and_their_terms_are_in_seconds() -> None:
    """Slots of half a second: 2 slots each, from slot 3 on; 3 of 4 GPUs, so one after the other."""
    jobs = [job(name, gpus=3, iterations=10, submit_s=1.3) for name in "ab"]
    bounds = {
        bound.name: (bound.value_s, dict(bound.terms))
        for bound in ringsched.lower_bounds(scenario(cluster(4), *jobs, time={"slot_s": 0.5}))
    }
    assert bounds == {
        "longest-job": (1.0, {"job": "a", "release_s": 0.0, "best_case_s": 1.0}),
        "area": (1.5, {"release_s": 0.0, "gpu_seconds": 6.0, "gpus": 4}),
        "large-jobs": (2.0, {"release_s": 0.0, "best_cases_s": 2.0, "jobs": 2}),
        "work-left": (1.5, {"from_s": 0.0, "gpu_seconds": 6.0, "gpus": 4}),
        "side-by-side": (2.0, {"from_s": 0.0, "unit": 3, "at_once": 1, "durations_s": 2.0}),
        "wide-jobs": (2.0, {"from_s": 0.0, "least": 2, "gpu_seconds": 8.0, "gpus": 4}),
        "long-jobs": (2.0, {"release_s": 0.0, "short_s": 1.0, "long_s": 1.0}),
        "few-at-once": (2.0, {"from_s": 0.0, "least": 3, "at_once": 1, "durations_s": 2.0}),
    }


def test_only_large_jobs_set_the_bound_of_large_jobs() -> None:
    """A small job that comes at slot 50 belongs to the other bounds."""
    jobs = [job("large", gpus=3, iterations=20), job("small", iterations=10, submit_s=50)]
    bounds = {bound.name: bound for bound in ringsched.lower_bounds(scenario(cluster(4), *jobs))}
    large = bounds["large-jobs"]
    assert (large.value_s, large.terms) == (2, {"release_s": 0, "best_cases_s": 2, "jobs": 1})


def test_only_sizes_of_queued_jobs_are_tried_as_kappa() -> None:
    trials: list[int] = []
    jobs = [job("r", gpus=3, running_on={"s0": [0, 1, 2]}), job("a"), job("b", gpus=2)]
    planning.plan(
        scenario(cluster(4, 4), *jobs), theta=9, policy="sjf-bco", on_trial=lambda: trials.append(1)
    )
    assert len(trials) == 2  # kappa 1 and 2
