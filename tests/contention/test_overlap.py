"""Gradients in buckets: what the backward pass hides of communication, under every contention model."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import examples
from tests.reference.formulas import tau_at as reference_tau
from tests.scenarios import cluster, job, scenario
from tests.strategies import scenarios

from ringsched import InputError, Job, Scenario, plan, verify
from ringsched.contention.fabric import Extremes, fabric_of
from ringsched.contention.iteration_time import Work, hidden_in, iteration_time_s, overlap_of, tau_of, work_of

BUCKETS = st.integers(1, 64)
SECONDS = st.floats(0, 10)
MODELS: list[dict[str, Any]] = [
    {"degradation": 0.3},
    {"model": "reserved", "lanes": 2},
    {"model": "max-min"},
    {"model": "phases"},
]


def tau(exchange_s: float = 0.5, backward_s: float = 0.3, forward_s: float = 0.1, buckets: int = 1) -> float:
    return iteration_time_s(
        exchange_s, 0.0, forward_s + backward_s, backward_s, overlap_of(buckets), 0.0, 1.0
    )


@given(SECONDS, SECONDS, SECONDS, BUCKETS)
def test_it_is_the_recurrence_over_the_buckets(x: float, b: float, f: float, n: int) -> None:
    end = 0.0
    for bucket in range(1, n + 1):
        end = max(end, b * bucket / n) + x / n
    assert tau(x, b, f, n) == pytest.approx(f + end, rel=1e-9, abs=1e-9)


@given(SECONDS, SECONDS, SECONDS, BUCKETS)
def test_one_bucket_changes_no_bit_and_more_never_lengthen(x: float, b: float, f: float, n: int) -> None:
    assert tau(x, b, f, 1) == x + (f + b)
    assert tau(x, b, f, n + 1) <= tau(x, b, f, n) <= tau(x, b, f, 1)
    assert tau(x, b, f, 10**9) == pytest.approx(f + max(b, x), rel=1e-6, abs=1e-6)


@given(SECONDS, SECONDS, SECONDS, SECONDS, BUCKETS)
def test_tau_rises_with_communication(x: float, more: float, b: float, f: float, n: int) -> None:
    assert tau(x + more, b, f, n) >= tau(x, b, f, n) - 1e-12


@given(st.floats(0.01, 5), st.floats(0.01, 5), BUCKETS)
def test_what_is_hidden_follows_from_the_iteration_time(x: float, b: float, n: int) -> None:
    work = Work(x, 0.0, 0.2 + b, b, overlap_of(n))
    hidden = tau_of(work._replace(overlap=0.0), 0.0, 1.0) - tau_of(work, 0.0, 1.0)
    assert hidden_in(work, tau_of(work, 0.0, 1.0)) == pytest.approx(hidden, abs=1e-9)


@pytest.mark.parametrize("contention", MODELS, ids=lambda fields: fields.get("model", "paper"))
@given(n=st.lists(st.integers(1, 8), min_size=2, max_size=4), data=st.data())
@examples(60)
def test_contenders_are_between_alone_and_the_worst_case(
    contention: dict[str, Any], n: list[int], data: st.DataObject
) -> None:
    jobs = [
        job(
            f"j{at}",
            2,
            10,
            gradient_mb=data.draw(st.sampled_from([0.0, 20.0, 300.0])),
            backward_ms=data.draw(st.sampled_from([1.0, 90.0, 700.0])),
            forward_ms=10,
            buckets=buckets,
        )
        for at, buckets in enumerate(n)
    ]
    case = scenario(cluster(4, 4), *jobs, contention=contention)
    fabric = fabric_of(case.cluster, case.contention)
    extremes = Extremes(fabric, len(jobs))
    shape = fabric.shape({0: 1, 1: 1})
    rings = {each.name: fabric.ring(work_of(each, case.cluster), shape) for each in jobs}
    paces = fabric.iteration_times(rings)
    for each in jobs:
        work = rings[each.name].work
        alone, worst = fabric.alone_tau(work, shape), extremes.worst_case_tau(work, 2)
        assert alone * (1 - 1e-12) <= paces[each.name].tau <= worst * (1 + 1e-12)
        plain = fabric.alone_tau(work._replace(overlap=0.0), shape)
        assert alone <= plain


@pytest.mark.parametrize("contention", MODELS[:2], ids=lambda fields: fields.get("model", "paper"))
@given(buckets=BUCKETS, num_jobs=st.integers(1, 5), slower=st.floats(1.0, 10.0))
@examples(60)
def test_counting_models_are_monotone(
    contention: dict[str, Any], buckets: int, num_jobs: int, slower: float
) -> None:
    """Never faster with less bandwidth, never faster with one more contender."""

    def tau_among(number: int, gbps: float) -> float:
        jobs = [job(f"j{at}", 2, 10, gradient_mb=80, backward_ms=60, buckets=buckets) for at in range(number)]
        case = scenario(cluster(8, 8, inter_server_gbps=gbps), *jobs, contention=contention)
        fabric = fabric_of(case.cluster, case.contention)
        shape = fabric.shape({0: 1, 1: 1})
        rings = {each.name: fabric.ring(work_of(each, case.cluster), shape) for each in jobs}
        return fabric.iteration_times(rings)["j0"].tau

    assert tau_among(num_jobs, 10 / slower) >= tau_among(num_jobs, 10) * (1 - 1e-12)
    assert tau_among(num_jobs + 1, 10) >= tau_among(num_jobs, 10) * (1 - 1e-12)


def test_a_link_sees_wire_time_hidden_or_not() -> None:
    """Under `phases` a job that hides its exchange is met more often than one that does not."""

    def victim_tau(buckets: int) -> float:
        jobs = [
            job("victim", 2, 10, gradient_mb=100, backward_ms=100),
            job("culprit", 2, 10, gradient_mb=100, backward_ms=200, buckets=buckets),
        ]
        case = scenario(cluster(4, 4), *jobs, contention={"model": "phases"})
        fabric = fabric_of(case.cluster, case.contention)
        shape = fabric.shape({0: 1, 1: 1})
        rings = {each.name: fabric.ring(work_of(each, case.cluster), shape) for each in jobs}
        return fabric.iteration_times(rings)["victim"].tau

    assert victim_tau(1) < victim_tau(2) < victim_tau(16)


def test_measured_with_ddp_over_gloo() -> None:
    """Forward, backward, buckets and measured seconds: PyTorch, links of 200 Mbit/s, 8 MB, X = 0.352 s."""
    measured = [
        (0.05, 0.6, 1, 1.004),
        (0.05, 0.6, 2, 0.832),
        (0.1, 0.2, 4, 0.497),
        (0.1, 0.5, 4, 0.702),
        (0.2, 0.33, 4, 0.631),
    ]
    for forward_s, backward_s, buckets, seconds in measured:
        assert tau(0.352, backward_s, forward_s, buckets) == pytest.approx(seconds, rel=0.025)


@given(scenarios())
@examples(60)
def test_buckets_of_one_are_not_written(case: Scenario) -> None:
    plain = case.replace(jobs=tuple(each.replace(buckets=1) for each in case.jobs))
    assert not any("buckets" in fields for fields in plain.expanded()["jobs"])
    assert ("buckets" in str(case.expanded())) == any(each.buckets > 1 for each in case.jobs)


def test_a_plan_of_overlapped_jobs_is_valid_and_shorter() -> None:
    def makespan(buckets: int) -> float:
        jobs = [job(f"j{at}", 6, 50, gradient_mb=400, backward_ms=300, buckets=buckets) for at in range(3)]
        case = scenario(cluster(4, 4, 4), *jobs, time={"model": "continuous"})
        made = plan(case, "longest-first")
        assert verify(case, made).valid
        return made.makespan_s

    assert makespan(8) < makespan(2) < makespan(1)


@pytest.mark.parametrize("buckets", [0, -1, 2.5, True, math.inf])
def test_wrong_buckets(buckets: object) -> None:
    with pytest.raises(InputError, match="buckets"):
        Job(
            name="a", gpus=2, iterations=1, gradient_mb=1, minibatch=1, forward_ms=1, backward_ms=1,
            buckets=buckets,  # type: ignore[arg-type]
        )  # fmt: skip


def test_the_reference_agrees() -> None:
    one = job("a", 3, 5, gradient_mb=200, backward_ms=150, forward_ms=20, buckets=5)
    case = scenario(cluster(2, 2), one)
    ours = tau_of(work_of(one, case.cluster), 0.0, 10.0)
    assert ours == pytest.approx(float(reference_tau(case, one, 10, 0)))
