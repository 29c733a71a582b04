"""The bounds beyond the core, each by hand, where it is the best one."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.scenarios import cluster, job, scenario

from ringsched import Job, Scenario, Server, lower_bounds
from ringsched.bounds.fastest import fastest_of
from ringsched.bounds.reasons import REASONS, reason
from ringsched.engine.problem import problem_of
from ringsched.model import Bound

CORE = ("longest-job", "area", "large-jobs")

# 1 Gbit to exchange and 98.75 ms to compute: 0.1 s at 10 Gbit/s and 0.005 s inside a server.
EXCHANGING: dict[str, Any] = {"gradient_mb": 125, "backward_ms": 98.75}


def best(problem: Scenario, objective: str = "makespan") -> Bound:
    return lower_bounds(problem, objective)[0]


def values(problem: Scenario) -> dict[str, float]:
    return {bound.name: bound.value_s for bound in lower_bounds(problem)}


def test_work_left_counts_what_older_jobs_still_lack() -> None:
    """At 9 the first still lacks 1 of its 10 on 2 GPUs, and 2 x 5 more are released: 12 / 2."""
    problem = scenario(
        cluster(2), job("old", gpus=2, iterations=100), job("new", gpus=2, iterations=50, submit_s=9)
    )
    assert values(problem)["area"] == 15
    bound = next(bound for bound in lower_bounds(problem) if bound.name == "work-left")
    assert (bound.value_s, bound.terms) == (15, {"from_s": 0, "gpu_seconds": 30, "gpus": 2})
    wide = problem.replace(jobs=(*problem.jobs, job("late", gpus=2, iterations=50, submit_s=14)))
    assert values(wide)["work-left"] == 20
    narrow = problem.replace(cluster=cluster(3))
    found = {bound.name: bound for bound in lower_bounds(narrow)}["work-left"]
    assert found.value_s == 14


def test_work_left_beats_area_and_longest_job() -> None:
    """3 GPUs; from 8 on: 2 GPUs x 2 s of the old job and 3 x 4 s of the new: 16 / 3, after 8."""
    problem = scenario(
        cluster(3), job("old", gpus=2, iterations=100), job("new", gpus=3, iterations=40, submit_s=8)
    )
    bounds = values(problem)
    assert (bounds["area"], bounds["longest-job"]) == (12, 12)
    assert bounds["work-left"] == 8 + 6


def test_side_by_side_counts_how_many_fit() -> None:
    """Two jobs of 3 GPUs fit into 8, five of them take three rounds; the area says 5 x 3 x 10 / 8."""
    problem = scenario(cluster(8), *(job(f"j{at}", gpus=3, iterations=100) for at in range(5)))
    bound = next(bound for bound in lower_bounds(problem) if bound.name == "side-by-side")
    assert values(problem)["area"] == 19
    assert (bound.value_s, bound.terms) == (
        25,
        {"from_s": 0, "unit": 3, "at_once": 2, "durations_s": 50},
    )


def test_wide_jobs_have_the_cluster_to_themselves() -> None:
    """A job of 6 GPUs leaves 2 of 8: nothing of 3 or more runs beside it; 10 x 8 + 4 x 3 x 10 over 8."""
    jobs = [job("wide", gpus=6, iterations=100), *(job(f"j{at}", gpus=3, iterations=100) for at in range(4))]
    bound = next(bound for bound in lower_bounds(scenario(cluster(8), *jobs)) if bound.name == "wide-jobs")
    assert (bound.value_s, bound.terms) == (
        25,
        {"from_s": 0, "least": 3, "gpu_seconds": 200, "gpus": 8},
    )


def test_long_jobs_leave_no_time_for_others() -> None:
    """Two GPUs, jobs of 10, 10, 5 and 5: 10 and 5 on each. With 9 instead of 10: 14, while the area says 14;
    three of 9 and one of 5 take 18, since one GPU gets two of 9."""
    assert values(scenario(cluster(2), *_jobs(9, 9, 9, 5)))["long-jobs"] == 18
    assert values(scenario(cluster(2), *_jobs(9, 9, 9, 5)))["area"] == 16


def test_long_jobs_count_as_the_whole_length() -> None:
    """Three GPUs: one has the 10; the 3 x 6 on the other two take 12, above the area of 28 / 3."""
    bound = best(scenario(cluster(3), *_jobs(10, 6, 6, 6)))
    assert (bound.name, bound.value_s) == ("long-jobs", 12)


def test_server_classes_weigh_waiting_against_spreading() -> None:
    """One server of 2 GPUs and two of 1: inside a job of 2 takes 0.105 s an iteration, spread 0.2 s.

    Inside, at 9 iterations a slot, three jobs of 90 would wait for one another, 30 slots. Spread each
    takes 18 slots, at 5 a slot.
    """
    jobs = [job(f"j{at}", gpus=2, iterations=90, **EXCHANGING) for at in range(3)]
    bounds = values(scenario(cluster(2, 1, 1), *jobs))
    assert (bounds["area"], bounds["longest-job"]) == (15, 10)
    # A unit-slot is worth 2 x (18 - 10) / 10 = 1.6 GPU-slots: (3 x 36) / (4 + 1 x 1.6), rounded up.
    assert bounds["server-classes"] == 20


def test_a_time_limit_makes_no_place_for_a_job_that_cannot_be_spread() -> None:
    """A job of one GPU is in one server; that it ends after its limit does not change that."""
    problem = problem_of(scenario(cluster(2, 1), job(gpus=1, iterations=90, limit_s=3)))
    fastest = fastest_of(problem)
    assert (fastest.packed, fastest.spread) == ((3,), (math.inf,))


def test_the_fastest_placement_uses_links_that_exist() -> None:
    """Only one uplink is fast: the ring of two servers has the slower one, whatever the core's best case."""
    servers = (Server(name="s0", gpus=2, uplink_gbps=100), Server(name="s1", gpus=2, uplink_gbps=10))
    problem = problem_of(
        scenario(
            cluster(servers=servers), job(gpus=4, iterations=50, **EXCHANGING), time={"model": "continuous"}
        )
    )
    exchange_gbit, reduce_s = 2 * 0.75, 0.75 / 400
    assert problem.best_case[0] == pytest.approx(50 * (exchange_gbit / 100 + reduce_s + 0.09875))
    assert fastest_of(problem).best[0] == pytest.approx(50 * (exchange_gbit / 10 + reduce_s + 0.09875))


def test_the_fastest_placement_crosses_racks_if_no_rack_is_large_enough() -> None:
    servers = tuple(Server(name=f"s{at}", gpus=2, switch=f"r{at // 2}") for at in range(4))

    def fastest(gpus: int) -> float:
        jobs = [job(gpus=gpus, iterations=1, **EXCHANGING)]
        problem = scenario(cluster(servers=servers, switches={"r0": 2, "r1": 2}), *jobs, time=CONTINUOUS)
        return fastest_of(problem_of(problem)).best[0]

    assert fastest(4) == pytest.approx(1.5 / 10 + 0.75 / 400 + 0.09875)
    assert fastest(5) == pytest.approx(1.6 / 2 + 0.8 / 400 + 0.09875)


def test_the_fastest_placement_may_avoid_slow_insides() -> None:
    """Inside 1 Gbit/s, between servers 10: one GPU on each of three servers."""
    problem = scenario(
        cluster(3, 1, 1, intra_server_gbps=1), job(gpus=3, iterations=1, **EXCHANGING), time=CONTINUOUS
    )
    fastest = fastest_of(problem_of(problem))
    rest_s = 2 / 3 / 400 + 0.09875
    assert fastest.packed[0] == pytest.approx(4 / 3 / 1 + rest_s)
    assert fastest.spread[0] == fastest.best[0] == pytest.approx(4 / 3 / 10 + rest_s)


def test_squashed_area_by_hand() -> None:
    """One GPU, jobs of 1, 2 and 3 slots, best in that order: 1, 3 and 6, which the bound finds exactly."""
    bound = best(scenario(cluster(1), *_jobs(3, 1, 2)), "mean-completion")
    assert (bound.name, bound.value_s) == ("squashed-area", pytest.approx((1 + 3 + 6) / 3))


def test_squashed_area_of_weighted_jobs_with_releases() -> None:
    """One GPU; b comes at 1 with more weight per slot and interrupts a, which has 3 of 4 left.

    Mean instants: b at 2, a at (1 x 0.5 + 3 x 4.5) / 4 = 3.5; halves: b 1, a 2.
    """
    jobs = [job("a", iterations=40), job("b", iterations=20, submit_s=1, weight=3)]
    bounds = {bound.name: bound for bound in lower_bounds(scenario(cluster(1), *jobs), "weighted-completion")}
    assert bounds["squashed-area"].value_s == pytest.approx(((3.5 + 2) + 3 * (2 + 1 - 1)) / 4)


def test_priced_gpus_sees_jobs_that_are_long_and_wait() -> None:
    """Three GPUs, jobs of 2, 2, 2, 10 and 10: the best mean is (2 + 2 + 2 + 12 + 12) / 5.

    Alone they take 26 / 5. Squeezed, the mean instants of their work are 1/3, 1, 5/3, 11/3 and 7, half of
    what they take comes after that.
    """
    problem = scenario(cluster(3), *_jobs(2, 2, 2, 10, 10))
    bounds = {bound.name: bound.value_s for bound in lower_bounds(problem, "mean-completion")}
    assert bounds["best-cases"] == 26 / 5
    assert bounds["squashed-area"] == pytest.approx((1 / 3 + 1 + 5 / 3 + 11 / 3 + 7) / 5 + 26 / 10)
    assert 5.8 < bounds["priced-gpus"] <= 6


def test_times_beyond_64_bits_are_counted_exactly() -> None:
    """2^50 slots on 10^5 GPUs each."""
    jobs = [job(f"j{at}", gpus=100_000, iterations=10 * 2**48) for at in range(3)]
    bounds = values(scenario(cluster(100_000), *jobs))
    assert bounds["work-left"] == bounds["side-by-side"] == bounds["large-jobs"] == 3 * 2**48


def test_every_bound_has_a_reason_for_people() -> None:
    jobs = [job(f"j{at}", gpus=gpus, iterations=30, **EXCHANGING) for at, gpus in enumerate((2, 2, 3, 1))]
    jobs.append(job("running", iterations=30, running_on={"s1": [0]}))
    jobs.append(job("choosy", iterations=30, requires={"kind": "large"}))
    first, *others = cluster(2, 1, 1).servers
    problem = scenario(cluster(servers=(first.replace(labels={"kind": "large"}), *others)), *jobs)
    names = ("makespan", "mean-completion", "max-slowdown")
    found = [bound for name in names for bound in lower_bounds(problem, name)]
    assert {bound.name for bound in found} == set(REASONS)
    assert all(reason(bound).startswith(f"{bound.name}: ") for bound in found)
    assert reason(Bound(name="area", value_s=1)) == "area"


CONTINUOUS = {"model": "continuous"}


def _jobs(*slots: int) -> list[Job]:
    return [job(f"j{at}", iterations=10 * number) for at, number in enumerate(slots)]
