"""What the verifier says of things that are wrong by little, and whom it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Plan, Scenario, Server
from ringsched.model import Placement
from ringsched.verify import Violation
from ringsched.verify.clock import Seconds
from ringsched.verify.iteration_time import Network
from ringsched.verify.replay import Replay, Run
from ringsched.verify.verdict import shown

CONTINUOUS = {"model": "continuous"}


def judged(problem: Scenario, plan: Plan, name: str, /, **fields: Any) -> list[Violation]:
    """Verify the plan with one planned job changed."""
    jobs = tuple(row.replace(**fields) if row.name == name else row for row in plan.jobs)
    return list(ringsched.verify(problem, plan.replace(jobs=jobs)).violations)


def names(violations: Sequence[Violation]) -> set[str]:
    return {violation.constraint for violation in violations}


def moved(gpus: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    ring = tuple((server, gpu) for server, held in gpus.items() for gpu in held)
    return {"gpus": Placement(gpus), "ring": ring}


def two_jobs(**time: Any) -> tuple[Scenario, Plan]:
    problem = scenario(cluster(2), job("a", iterations=30), job("b", iterations=20), time=time)
    return problem, ringsched.plan(problem)


@pytest.mark.parametrize(("start_s", "wrong"), [(1e-10, False), (1e-6, True), (-1e-6, True)])
def test_starts_off_the_grid_by_little(start_s: float, wrong: bool) -> None:
    problem, plan = two_jobs()
    assert ("start-grid" in names(judged(problem, plan, "a", start_s=start_s))) == wrong


def test_a_start_before_the_submit_time_is_seen_off_the_grid_too() -> None:
    problem = scenario(cluster(1), job("a", submit_s=2))
    plan = ringsched.plan(problem)
    assert {"start-grid", "start-before-submit"} <= names(judged(problem, plan, "a", start_s=1.75))
    assert "start-before-submit" not in names(judged(problem, plan, "a", start_s=2.25))
    between = scenario(cluster(1), job("a", submit_s=1.5))
    at_once = names(judged(between, ringsched.plan(between), "a", start_s=1.5))
    assert "start-grid" in at_once
    assert "start-before-submit" not in at_once


@pytest.mark.parametrize(("start_s", "wrong"), [(0.0, False), (0.25, True), (1.0, True)])
def test_a_running_job_starts_at_zero_not_near_it(start_s: float, wrong: bool) -> None:
    problem = scenario(cluster(1), job("r", iterations=30, running_on={"s0": [0]}))
    violations = judged(problem, ringsched.plan(problem), "r", start_s=start_s)
    assert ("running-start" in names(violations)) == wrong


def test_an_overlap_names_the_later_job_of_the_plan_and_the_lowest_gpu() -> None:
    problem = scenario(cluster(2), job("a", gpus=2), job("b", gpus=2))
    plan = ringsched.plan(problem)
    overlaps = [
        violation
        for violation in judged(problem, plan, "b", start_s=0.0, finish_s=1.0)
        if violation.constraint == "gpu-overlap"
    ]
    assert [violation.job for violation in overlaps] == ["b"]
    assert "both hold GPU 0 of server 's0' (and 1 more GPUs) from 0 s to 1 s" in overlaps[0].message


def test_overlaps_are_told_in_the_order_of_the_plan() -> None:
    """Here a starts after b, on the same GPU."""
    problem = scenario(cluster(2), job("a", iterations=30), job("b", iterations=30))
    row = {"start_s": 1.0, "finish_s": 4.0} | moved({"s0": [1]})
    overlap = next(
        violation
        for violation in judged(problem, ringsched.plan(problem), "a", **row)
        if violation.constraint == "gpu-overlap"
    )
    assert overlap.job == "b"
    assert overlap.message.startswith("jobs 'a' and 'b' both hold GPU 1 of server 's0' from 1 s to 3 s")


def test_holds_that_touch_do_not_overlap() -> None:
    problem = scenario(cluster(1), job("a"), job("b"))
    plan = ringsched.plan(problem)
    assert plan.jobs[0].finish_s == plan.jobs[1].start_s
    assert ringsched.verify(problem, plan).valid


def test_unknown_servers_stand_in_no_rack() -> None:
    """Twice into the unknown is not twice into one rack."""
    problem = scenario(cluster(2, 2), job("a", gpus=4))
    strange = moved({"x": [0], "s0": [0], "y": [0], "s1": [0]})
    violations = judged(problem, ringsched.plan(problem), "a", **strange)
    assert "server-unknown" in names(violations)
    assert "ring-order" not in names(violations)


def test_a_job_of_no_length_is_possible_where_it_cannot_be_recomputed() -> None:
    """A plan that cannot be replayed is held only to finishes that do not precede starts."""
    problem = scenario(cluster(2), job("a"))
    plan = ringsched.plan(problem)
    strange = moved({"x": [0]})
    assert "finish" not in names(judged(problem, plan, "a", start_s=1.0, finish_s=1.0, **strange))
    assert "finish" in names(judged(problem, plan, "a", start_s=1.0, finish_s=0.0, **strange))


def test_a_gang_of_the_wrong_size_is_not_replayed() -> None:
    """Alone on one GPU it would exchange nothing and be done sooner; that is not what is wrong."""
    problem = scenario(cluster(1, 1), job("a", gpus=2, iterations=10, gradient_mb=500))
    violations = judged(problem, ringsched.plan(problem), "a", **moved({"s0": [0]}))
    assert names(violations) == {"gang-size"}


def test_a_job_that_is_not_in_the_scenario_may_start_at_zero_but_not_before() -> None:
    problem, plan = two_jobs()
    assert "start-before-submit" not in names(judged(problem, plan, "b", name="ghost", start_s=0.0))
    assert "start-before-submit" in names(judged(problem, plan, "b", name="ghost", start_s=-1.0))


@pytest.mark.parametrize(
    ("number", "text"), [(1234567.5, "1234567.5"), (0.1 + 0.2, "0.3"), (1.00000001, "1.00000001")]
)
def test_messages_show_digits_enough_to_see_what_differs(number: float, text: str) -> None:
    assert shown(number) == text


@pytest.mark.parametrize(("later", "same"), [(0.5e-9, True), (1e-6, False)])
def test_completions_a_rounding_error_apart_are_one_instant(later: float, same: bool) -> None:
    jobs = [job(f"j{at}", iterations=1, backward_ms=1000 * end) for at, end in enumerate((2.0, 2.0 + later))]
    problem = scenario(cluster(2), *jobs, time=CONTINUOUS)
    network = Network(problem)
    runs = [Run(item, 0.0, network.shape({"s0": 1})) for item in problem.jobs]
    first, second = Replay(runs, network, Seconds()).finishes()
    assert first == 2.0
    assert (second == first) == same


def test_a_bound_counts_a_rack_as_no_faster_than_its_servers() -> None:
    """Racks have 100 Gbit/s, but the fastest way out of a server is 10: 0.1 s to exchange 1 Gbit."""
    servers = tuple(Server(name=name, gpus=1, switch=f"r{name}") for name in "ab")
    problem = scenario(
        cluster(switches={"ra": 100, "rb": 100}, servers=servers, reduce_gbps=1e12),
        job("a", gpus=2, iterations=10, gradient_mb=125),
        time=CONTINUOUS,
    )
    plan = ringsched.plan(problem)
    assert plan.lower_bound_s == pytest.approx(2.0)
    assert ringsched.verify(problem, plan).violations == ()


@pytest.mark.parametrize("objective", ["mean-completion", "weighted-completion"])
def test_submit_times_in_unix_seconds(objective: str) -> None:
    """Bounds on means are then differences of numbers near 1.7e9, and lose their last digits."""
    submits = [1_700_000_000.0 + 7.0 * at for at in range(12)]
    jobs = [
        job(f"j{at}", gpus=1 + at % 3, iterations=100 + 37 * at, submit_s=submit_s, weight=1.0 + at % 5)
        for at, submit_s in enumerate(submits)
    ]
    problem = scenario(cluster(2, 2), *jobs)
    plan = ringsched.plan(problem, "longest-first", objective=objective)
    assert ringsched.verify(problem, plan).violations == ()
