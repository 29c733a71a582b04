"""Workloads that arrive over time."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import pytest

from ringsched import (
    InputError,
    generate_diurnal,
    generate_poisson,
    generate_uniform,
    load_scenario,
    offered_load,
)
from ringsched.engine.problem import problem_of

GENERATORS = pytest.mark.parametrize("generate", [generate_poisson, generate_diurnal])


@GENERATORS
@pytest.mark.parametrize("load", [0.3, 0.8, 2.0])
def test_the_load_is_the_one_asked_for(generate, load: float) -> None:
    scenario = generate(jobs=3000, load=load, switches=8)
    problem = problem_of(scenario)
    area = sum(gpus * best for gpus, best in zip(problem.gpus, problem.best_case, strict=True))
    by_hand = area / (512 * scenario.jobs[-1].submit_s)
    assert by_hand == pytest.approx(load, rel=0.003)
    assert offered_load(scenario) == pytest.approx(by_hand, rel=1e-9)


@GENERATORS
def test_mixes_are_followed_and_time_is_continuous(generate) -> None:
    scenario = generate(jobs=400, sizes="1:3,8:1", models="vgg16:1,resnet50:1", servers=4)
    assert Counter(job.gpus for job in scenario.jobs) == {1: 300, 8: 100}
    assert Counter(job.gradient_mb for job in scenario.jobs) == {526.4: 200, 99.2: 200}
    assert not scenario.time.slotted
    submits = [job.submit_s for job in scenario.jobs]
    assert submits == sorted(submits)
    assert all(0.5 <= hours / 3600 <= 8.01 for hours in problem_of(scenario).best_case)


@GENERATORS
def test_the_same_seed_gives_the_same_scenario(generate) -> None:
    assert generate(1, jobs=50) == generate(1, jobs=50)
    assert generate(1, jobs=50) != generate(2, jobs=50)


def test_gaps_between_arrivals_are_exponential() -> None:
    submits = [job.submit_s for job in generate_poisson(3, jobs=20_000).jobs]
    gaps = [later - earlier for earlier, later in pairwise(submits)]
    mean = sum(gaps) / len(gaps)
    for times in (0.5, 1, 2):
        above = sum(gap > times * mean for gap in gaps) / len(gaps)
        assert above == pytest.approx(math.exp(-times), abs=0.01)


@pytest.mark.parametrize(("swing", "peak_hour"), [(0.0, 14), (0.5, 6), (1.0, 20)])
def test_the_rate_follows_the_hour(swing: float, peak_hour: float) -> None:
    scenario = generate_diurnal(0, jobs=40_000, swing=swing, peak_hour=peak_hour, load=0.2)
    days = int(scenario.jobs[-1].submit_s // 86400)
    hours = Counter(int(job.submit_s / 3600 % 24) for job in scenario.jobs if job.submit_s < days * 86400)
    mean = sum(hours.values()) / 24
    for hour in range(24):
        expected = 1 + swing * math.cos(2 * math.pi * (hour + 0.5 - peak_hour) / 24)
        assert hours[hour] / mean == pytest.approx(expected, abs=0.1)


def test_a_slot_too_short_is_refused() -> None:
    with pytest.raises(InputError, match="is shorter than an iteration"):
        generate_poisson(jobs=20, slot_s=0.01)
    assert generate_poisson(jobs=20, slot_s=60.0).time.slotted


def test_load_without_arrivals_is_none() -> None:
    assert offered_load(generate_uniform(jobs=10, servers=4, sizes="1")) == 0.0
    assert offered_load(load_scenario("examples/first.toml").replace(jobs=())) == 0.0


def test_load_by_hand() -> None:
    """Two jobs, one of them running: 2 GPUs of 100 s and 1 GPU of 50 s, on 8 GPUs over 25 s."""
    scenario = load_scenario("examples/first.toml")
    cluster = scenario.cluster.replace(servers=(scenario.cluster.servers[0].replace(gpus=8),), switches=())
    plain = scenario.jobs[0].replace(
        gpus=1, iterations=100, minibatch=1, forward_ms=0.0, backward_ms=500.0, submit_s=25.0
    )
    running = plain.replace(name="r", iterations=200, submit_s=0.0, running_on={cluster.servers[0].name: [0]})
    contention = scenario.contention.replace(server_latency_ms=0.0)
    scenario = scenario.replace(cluster=cluster, jobs=(plain, running), contention=contention)
    assert offered_load(scenario) == pytest.approx((50 + 100) / (8 * 25))
