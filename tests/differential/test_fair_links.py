"""Links that share fairly: engine, verifier and reference agree, each with its own way of filling links."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import planning
from tests.differential.test_engine import Anywhere
from tests.effort import examples
from tests.reference import formulas
from tests.reference.replay import replay as reference_replay
from tests.strategies import fair_contentions, scenarios

import ringsched
from ringsched import Cluster, Contention, Infeasible, Job, Scenario, Server, Switch, Time
from ringsched.contention.fabric import Fabric
from ringsched.contention.iteration_time import Ring, Work
from ringsched.contention.model import NO_LINK
from ringsched.contention.network import CORE, Network, Shape
from ringsched.contention.sharing import model_of
from ringsched.engine.problem import problem_of
from ringsched.verify.iteration_time import fair_rates


@examples(300)
@given(scenarios(min_jobs=1, contention=fair_contentions()), st.integers(0, 10**6))
def test_any_starts_and_placements(scenario: Scenario, seed: int) -> None:
    plan = ringsched.plan(scenario, Anywhere(random.Random(seed)))
    expected = reference_replay(scenario, [job.start_s for job in plan.jobs], [job.gpus for job in plan.jobs])
    for job, reference in zip(plan.jobs, expected, strict=True):
        if scenario.time.slotted:
            slot_s = Fraction(scenario.time.slot_s)
            assert round(job.finish_s / scenario.time.slot_s) == round(reference / slot_s)
        else:
            assert job.finish_s == pytest.approx(float(reference), rel=1e-9, abs=1e-12)
    assert ringsched.verify(scenario, plan).valid


@examples(100)
@given(
    scenarios(contention=fair_contentions()), st.sampled_from(["sjf-bco", "list-scheduling", "search", "lwf"])
)
def test_plans_are_valid(scenario: Scenario, policy: str) -> None:
    limit = {"iterations": 50} if policy == "search" else {}
    try:
        plan = planning.plan(scenario, policy, **limit)  # type: ignore[arg-type]
    except Infeasible:
        return
    verdict = ringsched.verify(scenario, plan)
    assert verdict.valid, verdict.violations


@examples(200)
@given(scenarios(contention=fair_contentions(), plain=True))
def test_extremes_are_those_of_the_reference(scenario: Scenario) -> None:
    problem = problem_of(scenario)
    for at, job in enumerate(scenario.jobs):
        best, worst = formulas.best_case_ticks(scenario, job), formulas.worst_case_ticks(scenario, job)
        assert problem.best_case[at] == pytest.approx(float(best), rel=1e-9)
        assert problem.worst_case[at] == pytest.approx(float(worst), rel=1e-9)


@examples(200)
@given(scenarios(contention=fair_contentions(), plain=True, model="continuous"), st.integers(0, 10**6))
def test_no_placement_is_faster_than_the_best_case_or_slower_than_the_worst(
    scenario: Scenario, seed: int
) -> None:
    plan = ringsched.plan(scenario, Anywhere(random.Random(seed)))
    problem = problem_of(scenario)
    for at, job in enumerate(plan.jobs):
        duration_s = job.finish_s - job.start_s
        assert duration_s >= problem.best_case[at] * (1 - 1e-9)
        assert duration_s <= problem.worst_case[at] * (1 + 1e-9)


@examples(200)
@given(st.data())
def test_two_ways_of_filling_links_agree(data: st.DataObject) -> None:
    """The engine's kernel and the verifier's way: the same rates, whatever the demands and links."""
    speeds = data.draw(st.lists(st.sampled_from([1.0, 2.5, 7.0]), min_size=1, max_size=5))
    num_jobs = data.draw(st.integers(1, 7))
    links = st.lists(st.integers(0, len(speeds) - 1), min_size=1, max_size=3, unique=True).map(sorted)
    links_of = {job: data.draw(links) for job in range(num_jobs)}
    demands = {job: data.draw(st.sampled_from([0.3, 0.9, 2.0, 50.0])) for job in range(num_jobs)}
    network = Network(
        uplink_gbps=tuple(speeds),
        parent_of=(CORE,) * len(speeds),
        capacity=(num_jobs,) * len(speeds),
        num_servers=len(speeds),
        num_levels=1,
        inside_gbps=(1.0,),
    )
    # A job that only exchanges asks for as much as its own slowest part carries.
    rings = {
        job: Ring(Work(1.0, 0.0, 0.0), Shape(tuple(links_of[job]), 2, demands[job]), 0.0) for job in demands
    }
    ours = Fabric(network, model_of(Contention(model="max-min")), 0.0).iteration_times(rings)
    rates = {job: 1 / ours[job].tau for job in demands}
    most = {job: min(demands[job], *(speeds[link] for link in links_of[job])) for job in demands}
    theirs = fair_rates(most, links_of, speeds)
    for job in demands:
        assert rates[job] == pytest.approx(theirs[job])
        if ours[job].link != NO_LINK:
            here = [other for other in demands if ours[job].link in links_of[other]]
            assert sum(rates[other] for other in here) == pytest.approx(speeds[ours[job].link])
            assert rates[job] >= max(rates[other] for other in here) * (1 - 1e-9)


def chain(model: str, compute_ms: float = 1e-9) -> list[float]:
    """Return the slowdowns of A on servers 0-1, B on 1-2, C and D on 2-3, against each alone."""
    cluster = Cluster(
        servers=tuple(Server(name=f"s{at}", gpus=4) for at in range(4)),
        inter_server_gbps=1.0,
        intra_server_gbps=100.0,
        reduce_gbps=1e12,
    )
    spans = {"A": (0, 1), "B": (1, 2), "C": (2, 3), "D": (2, 3)}
    next_gpu = [0] * 4
    jobs = []
    for name, servers in spans.items():
        held = {}
        for server in servers:
            held[f"s{server}"] = [next_gpu[server]]
            next_gpu[server] += 1
        # Long enough that nobody ends before the others.
        job = Job(
            name=name,
            gpus=2,
            iterations=1,
            gradient_mb=125.0,
            minibatch=1,
            forward_ms=0.0,
            backward_ms=compute_ms,
            running_on=held,
        )
        jobs.append(job)
    scenario = Scenario(
        cluster=cluster, jobs=tuple(jobs), contention=Contention(model=model), time=Time(model="continuous")
    )
    together = formulas.iteration_times(scenario, [(job, job.running_on or {}) for job in jobs])
    plan = ringsched.plan(scenario, "longest-first")
    assert ringsched.verify(scenario, plan).valid
    # A is the first to end: until then nothing changes, so its finish is its tau.
    assert plan.jobs[0].finish_s == pytest.approx(float(together["A"]))
    alone = [float(formulas.iteration_time(scenario, job, job.running_on or {})) for job in jobs]
    return [float(together[job.name]) / solo for job, solo in zip(jobs, alone, strict=True)]


def test_the_measured_chain() -> None:
    """Measured on real links: 1.50, 3.00, 3.00, 3.01 (Contention of the paper: 2, 3, 3, 3)."""
    assert chain("max-min") == pytest.approx([1.5, 3, 3, 3])
    assert chain("paper") == pytest.approx([2, 3, 3, 3])


@pytest.mark.parametrize(
    ("compute_ms", "slowdown"), [(0.0001, 2.0), (500.0, 4 / 3), (1000.0, 1.0), (3000.0, 1.0)]
)
def test_jobs_that_compute_leave_room(compute_ms: float, slowdown: float) -> None:
    """Two like jobs on one link of 1 s of exchange: tau = max(c + u, 2u)."""
    cluster = Cluster(
        servers=(Server(name="a", gpus=2), Server(name="b", gpus=2)),
        inter_server_gbps=1.0,
        intra_server_gbps=100.0,
        reduce_gbps=1e12,
    )
    jobs = tuple(
        Job(
            name=f"j{at}",
            gpus=2,
            iterations=10,
            gradient_mb=125.0,
            minibatch=1,
            forward_ms=0.0,
            backward_ms=compute_ms,
            running_on={"a": [at], "b": [at]},
        )
        for at in range(2)
    )
    scenario = Scenario(
        cluster=cluster,
        jobs=jobs,
        contention=Contention(model="max-min"),
        time=Time(model="continuous"),
    )
    alone_s = 10 * (1 + compute_ms / 1000)
    plan = ringsched.plan(scenario, "longest-first")
    assert plan.makespan_s == pytest.approx(slowdown * alone_s, rel=1e-3)


def test_the_order_of_links_is_always_the_same() -> None:
    """By phases the order in which links are looked at matters a little; racks may come in any order."""
    racks = tuple(Switch(name=f"r{at}", uplink_gbps=1.0) for at in range(3))
    # Racks count in the order of their first servers, and the jobs are on the last ones.
    order = ("r0", "r1", "r2", "r2", "r1", "r0")
    servers = tuple(Server(name=f"s{at}", gpus=4, switch=rack) for at, rack in enumerate(order))
    cluster = Cluster(
        servers=servers, switches=racks, inter_server_gbps=1.1, intra_server_gbps=100.0, reduce_gbps=1e12
    )
    # The first crosses all three racks, each with other jobs on it.
    spans = {"A": (3, 4, 5), "B": (3, 4), "C": (4, 5), "D": (4, 5), "E": (3, 5)}
    next_gpu = [0] * 6
    jobs = []
    for number, (name, span) in enumerate(spans.items()):
        held = {f"s{server}": [next_gpu[server]] for server in span}
        for server in span:
            next_gpu[server] += 1
        jobs.append(
            Job(
                name=name,
                gpus=len(span),
                iterations=100 + number,
                gradient_mb=100.0 + 10 * number,
                minibatch=1,
                forward_ms=0.0,
                backward_ms=500.0 * (1 + number),
                running_on=held,
            )
        )
    scenario = Scenario(
        cluster=cluster,
        jobs=tuple(jobs),
        contention=Contention(model="phases"),
        time=Time(model="continuous"),
    )
    plan = ringsched.plan(scenario, "longest-first")
    assert ringsched.verify(scenario, plan).valid
    expected = reference_replay(scenario, [0.0] * 5, [job.gpus for job in plan.jobs])
    assert [job.finish_s for job in plan.jobs] == pytest.approx([float(each) for each in expected], rel=1e-9)
