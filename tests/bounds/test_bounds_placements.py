"""The bounds that know placements and links, each by hand, and what the verifier says of changed ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Plan, Scenario, Server, Workload, lower_bounds
from ringsched.bounds import priced_placements
from ringsched.bounds.link_time import levels_of, nodes_at
from ringsched.bounds.ways import running_ends, ways_of
from ringsched.engine.problem import problem_of
from ringsched.model import Bound

CONTINUOUS = {"model": "continuous"}
# Three GPUs exchange 4/3 Gbit in an iteration, 0.133 s at 10 Gbit/s, and compute next to nothing.
ALL_EXCHANGE: dict[str, Any] = {"gradient_mb": 125, "backward_ms": 1e-6}


def found(problem: Scenario, name: str, objective: str = "makespan") -> Bound:
    return next(bound for bound in lower_bounds(problem, objective) if bound.name == name)


def test_few_jobs_fit_at_once() -> None:
    """Of jobs with 4, 6 and 6 GPUs one fits into 8; the area counts 5 x 16 over 8."""
    jobs = [job(f"j{gpus}{at}", gpus=gpus, iterations=50) for at, gpus in enumerate((4, 6, 6))]
    problem = scenario(cluster(8), *jobs)
    bound = found(problem, "few-at-once")
    assert (bound.value_s, bound.terms) == (15, {"from_s": 0, "least": 4, "at_once": 1, "durations_s": 15})
    assert max(other.value_s for other in lower_bounds(problem) if other.name != "few-at-once") < 15


def test_queued_jobs_wait_for_running_ones() -> None:
    """Three of 4 GPUs are held for 10 s, so a job of 2 GPUs that takes 5 s ends at 15."""
    held = job("held", gpus=3, iterations=100, running_on={"s0": [0, 1, 2]})
    problem = scenario(cluster(4), held, job("next", gpus=2, iterations=50))
    assert found(problem, "after-running").value_s == 15
    assert found(problem, "longest-job").value_s == 10
    assert found(problem, "priced-placements", "mean-completion").value_s == (10 + 15) / 2


def test_a_packed_job_waits_for_its_server() -> None:
    """Each of two servers lacks one GPU: for 4 s and for 9 s."""
    jobs = [job(f"held{at}", iterations=end, running_on={f"s{at}": [0]}) for at, end in enumerate((40, 90))]
    problem = problem_of(scenario(cluster(2, 2), *jobs, job("pair", gpus=2, iterations=10)))
    ways = ways_of(problem).queued
    assert [(way.packed, way.start) for way in ways] == [(True, 4), (False, 0)]


def test_running_jobs_slow_each_other() -> None:
    """Two rings over the same two servers: each has half of the links until the shorter one ends."""
    jobs = [
        job(name, gpus=2, iterations=iterations, gradient_mb=125, backward_ms=0.001, running_on=place)
        for name, iterations, place in (
            ("a", 10, {"s0": [0], "s1": [0]}),
            ("b", 30, {"s0": [1], "s1": [1]}),
        )
    ]
    counting = problem_of(scenario(cluster(2, 2), *jobs, time=CONTINUOUS))
    alone = counting.best_case
    exchange_s = 10 * 0.1  # of 10 iterations, 1 Gbit each
    assert running_ends(counting) == pytest.approx({0: alone[0] + exchange_s, 1: alone[1] + exchange_s})
    fair = problem_of(scenario(cluster(2, 2), *jobs, time=CONTINUOUS, contention={"model": "phases"}))
    assert running_ends(fair) == pytest.approx(dict(enumerate(fair.best_case)))


def test_jobs_that_must_cross_links_need_their_time() -> None:
    """Two jobs of 3 GPUs on three servers of 2: each needs two of three links, alone or half of each."""
    jobs = [job(name, gpus=3, iterations=30, **ALL_EXCHANGE) for name in "ab"]
    problem = scenario(cluster(2, 2, 2), *jobs, time=CONTINUOUS)
    exchange_s, reduce_s = 30 * 4 / 3 / 10, 30 * 2 / 3 / 400
    bound = found(problem, "shared-links")
    assert bound.value_s == pytest.approx(2 * 2 * (exchange_s + reduce_s / 2) / 3, rel=1e-6)
    assert bound.terms == {"from_s": 0, "level": 1, "links": 3}
    assert bound == lower_bounds(problem)[0]


def test_the_fair_models_claim_what_they_keep() -> None:
    """Under max-min a link carries its speed; `phases` promises nothing of the kind."""
    jobs = [job(name, gpus=3, iterations=30, **ALL_EXCHANGE) for name in "ab"]
    shared = scenario(cluster(2, 2, 2), *jobs, time=CONTINUOUS, contention={"model": "max-min"})
    assert found(shared, "shared-links").value_s == pytest.approx(2 * 2 * 30 * 4 / 3 / 10 / 3)
    by_chance = shared.replace(contention=shared.contention.replace(model="phases"))
    assert "shared-links" not in {bound.name for bound in lower_bounds(by_chance)}


def test_jobs_that_require_a_server_share_it() -> None:
    """Two jobs of 2 GPUs and 5 s may use one of two servers only."""
    first, second = cluster(2, 2).servers
    servers = (first.replace(labels={"kind": "large"}), second)
    jobs = [job(name, gpus=2, iterations=50, requires={"kind": "large"}) for name in "ab"]
    problem = scenario(cluster(servers=servers), *jobs)
    assert found(problem, "required-servers").value_s == lower_bounds(problem)[0].value_s == 10
    plan = ringsched.plan(problem, "longest-first", objective="mean-completion")
    assert plan.bounds[0].value_s == pytest.approx((5 + 10) / 2)
    assert ringsched.verify(problem, plan).valid
    assert ringsched.verify(problem, ringsched.plan(problem, "longest-first")).valid


def test_levels_of_a_tree() -> None:
    """Two racks, and a server beside them: it is at every depth."""
    servers = tuple(
        Server(name=f"s{at}", gpus=2, switch=switch)
        for at, switch in enumerate(("r0", "r0", "r1", "r1", None))
    )
    problem = problem_of(
        scenario(cluster(servers=servers, switches={"r0": 5, "r1": 5}), job(gpus=5, gradient_mb=9))
    )
    assert nodes_at(problem.network, 1) == (4, 5, 6)
    assert nodes_at(problem.network, 2) == (0, 1, 2, 3, 4)
    assert {level.depth: level.uses[0].links for level in levels_of(problem)} == {1: 2, 2: 3}


def priced() -> tuple[Scenario, Plan]:
    """Wide jobs that must cross links, jobs that fit into servers, and one that runs."""
    jobs = [
        job("held", gpus=2, iterations=40, running_on={"s0": [0, 1]}),
        *(job(f"wide{at}", gpus=5, iterations=30, gradient_mb=125, backward_ms=1) for at in range(3)),
        *(job(f"packed{at}", gpus=3, iterations=40, gradient_mb=125, weight=2) for at in range(3)),
    ]
    problem = scenario(cluster(4, 4, 4), *jobs, time=CONTINUOUS)
    return problem, ringsched.plan(problem, "longest-first", objective="weighted-completion")


def test_prices_of_several_things_make_the_best_bound() -> None:
    problem, plan = priced()
    assert plan.bounds[0].name == "priced-placements"
    assert {"instants_s", "slots_of_3", "gpus_by_3", "expected_from_s"} <= set(plan.bounds[0].terms)
    assert ringsched.verify(problem, plan).valid


Terms = dict[str, Any]
PRICED = "gpus_by_3"
CHANGED: dict[str, Callable[[Terms], Terms]] = {
    "needs a term instants_s": lambda terms: {**terms, "instants_s": 3.0},
    "with instants in order": lambda terms: {**terms, "instants_s": terms["instants_s"][::-1]},
    "with a price for each step": lambda terms: {**terms, PRICED: terms[PRICED][1:]},
    "numbers of at least 0": lambda terms: {**terms, PRICED: [-1.0, *terms[PRICED][1:]]},
    "'luck_2', which is not known": lambda terms: {**terms, "luck_2": terms[PRICED]},
    "'slots_of_x', which is not known": lambda terms: {**terms, "slots_of_x": terms[PRICED]},
    "'links_1' that rises": lambda terms: {**terms, "links_1": [0.0] * (len(terms[PRICED]) - 1) + [1.0]},
    "'gpus_by_0', which is not known": lambda terms: {**terms, "gpus_by_0": terms[PRICED]},
    "with a number for each queued job": lambda terms: {
        **terms,
        "expected_from_s": terms["expected_from_s"][1:],
    },
    "recomputed": lambda terms: {**terms, PRICED: [2 * price for price in terms[PRICED]]},
    "in the plan, but": lambda terms: {
        **terms,
        "expected_from_s": [0.0] * len(terms["expected_from_s"]),
    },
}


@pytest.mark.parametrize("message", CHANGED)
def test_the_verifier_evaluates_the_prices_by_itself(message: str) -> None:
    problem, plan = priced()
    best, *others = plan.bounds
    terms = CHANGED[message](dict(best.terms))
    changed = Bound(name=best.name, value_s=best.value_s, terms=terms)
    found = ringsched.verify(problem, plan.replace(bounds=(changed, *others))).violations
    assert any(message in violation.message for violation in found if violation.constraint == "bounds")


@pytest.mark.parametrize("name", ["after-running", "few-at-once", "shared-links"])
def test_the_verifier_knows_the_makespan_arguments(name: str) -> None:
    problem, _ = priced()
    plan = ringsched.plan(problem, "longest-first")
    assert ringsched.verify(problem, plan).valid
    bound = next(bound for bound in plan.bounds if bound.name == name)
    raised = Bound(name=name, value_s=bound.value_s * 1.01, terms=bound.terms)
    others = tuple(other for other in plan.bounds if other.name != name)
    found = ringsched.verify(problem, plan.replace(bounds=(raised, *others))).violations
    assert any(f"bound {name!r} is" in violation.message for violation in found)


def test_instants_that_differ_by_rounding_only_are_one(recwarn: pytest.WarningsRecorder) -> None:
    """0.1 + 0.5 is not 0.6, so a cell of the prices would have no length."""
    jobs = [job("a", iterations=6), job("b", iterations=5, submit_s=0.1), job("c", iterations=4)]
    instance = scenario(cluster(1), *jobs, time=CONTINUOUS)
    plan = ringsched.plan(instance, "fifo", objective="mean-completion")
    assert ringsched.verify(instance, plan).violations == ()
    assert not recwarn.list


def test_no_job_starts_before_its_servers_are_open() -> None:
    """Both servers are needed for 6 s, and one is closed from 5 s to 9 s; the other job is done before."""
    first, second = cluster(2, 2).servers
    servers = (first, second.replace(unavailable_windows=((5, 9),)))
    wide, short = job("wide", gpus=4, iterations=60), job("short", gpus=2, iterations=40)
    problem = scenario(cluster(servers=servers), wide, short)
    assert found(problem, "longest-job").value_s == found(problem, "work-left").value_s == 15
    assert found(problem, "best-cases", "mean-completion").value_s == (15 + 4) / 2
    for objective in ("makespan", "mean-completion"):
        plan = ringsched.plan(problem, "search", objective=objective)
        assert ringsched.verify(problem, plan).valid
        assert plan.gap == 1
    late = replace(found(problem, "best-cases", "mean-completion"), value_s=9.6)
    assert not ringsched.verify(problem, replace(plan, bounds=(late,))).valid


@pytest.mark.parametrize("seed", range(2))
def test_cells_are_halved_and_starts_left_out_without_loss(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finer prices are better than coarse ones, and about as good as if all starts were in the program."""

    def value_s() -> float:
        servers = ringsched.Cluster.of_servers(8, 8, inter_server_gbps=25.0)
        drawn = ringsched.generate(
            Workload(name="world", jobs=50, sizes="3:1,5:1,6:1,12:1", cluster=servers), seed=seed
        )
        return found(drawn, "priced-placements", "mean-completion").value_s

    monkeypatch.setattr(priced_placements, "MOST_CELLS", 2 * priced_placements.MOST_COARSE)
    fine_s = value_s()
    with monkeypatch.context() as patch:
        patch.setattr(priced_placements, "MOST_CELLS", priced_placements.MOST_COARSE)
        coarse_s = value_s()
    monkeypatch.setattr(priced_placements, "NEAR", float("inf"))
    assert coarse_s * 1.0005 < fine_s
    assert fine_s == pytest.approx(value_s(), rel=2e-4)
