"""Links with many jobs on them, all at once: engine, verifier, ledger and reference agree.

Hypothesis draws few jobs. How links are shared may be worked out in another way when there are many.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from importlib import import_module
from random import Random

import pytest
from tests.reference import formulas

import ringsched
from ringsched import Cluster, Contention, Job, Scenario, Server, Switch, Time

SERVER_GBPS = (10.0, 4.0, 2.5, 25.0, 10.0)
RACK_GBPS = (30.0, 12.0, 60.0, 21.0)
# So long that one iteration more or less is nothing, even against what counts as one instant.
LONG_S = Fraction(10**8)


def crowd(
    seed: int,
    model: str,
    *,
    num_jobs: int,
    num_servers: int = 11,
    num_racks: int = 4,
    most_servers: int = 7,
    alike: bool = False,
    intra_server_gbps: float = 8.0,
) -> Scenario:
    """Jobs that all run already, on servers of all racks; some exchange nothing, some have two GPUs on one.

    Times are short binary fractions: the reference's Fractions stay small.
    """
    chance = Random(seed)
    racks = tuple(Switch(name=f"r{at}", uplink_gbps=RACK_GBPS[at]) for at in range(num_racks))
    taken = Counter[int]()
    jobs = []
    for at in range(num_jobs):
        span = chance.sample(range(num_servers), chance.randint(2, most_servers))
        counts = {server: 2 if chance.random() < 0.1 else 1 for server in span}
        held = {f"s{server}": list(range(taken[server], taken[server] + n)) for server, n in counts.items()}
        taken.update(counts)
        job = Job(
            name=f"j{at}",
            gpus=sum(counts.values()),
            iterations=chance.randint(50, 99),
            gradient_mb=0.125 if alike else chance.choice([0.0, 0.03125, 0.125, 0.25, 0.5]),
            minibatch=1,
            forward_ms=0.0,
            backward_ms=0.5 if alike else chance.choice([0.0078125, 0.125, 0.75, 2.5]),
            running_on=held,
        )
        jobs.append(job)
    servers = tuple(
        Server(
            name=f"s{at}",
            gpus=max(1, taken[at]),
            switch=f"r{at % num_racks}" if racks else None,
            uplink_gbps=10.0 if alike else SERVER_GBPS[at % len(SERVER_GBPS)],
        )
        for at in range(num_servers)
    )
    cluster = Cluster(
        servers=servers,
        switches=racks,
        inter_server_gbps=10.0,
        intra_server_gbps=intra_server_gbps,
        reduce_gbps=400.0,
    )
    return Scenario(
        cluster=cluster,
        jobs=tuple(jobs),
        contention=Contention(model=model, server_latency_ms=0.000244140625),
        time=Time(model="continuous"),
    )


def assert_paces_are_those_of_the_reference(scenario: Scenario) -> None:
    """At one instant: with as many iterations as fill one long time all end with it, or are wrong."""
    running = [(job, job.running_on or {}) for job in scenario.jobs]
    taus = {name: Fraction(tau) for name, tau in formulas.iteration_times(scenario, running).items()}
    jobs = tuple(job.replace(iterations=round(LONG_S / taus[job.name])) for job in scenario.jobs)
    scenario = scenario.replace(jobs=jobs)
    plan = ringsched.plan(scenario, "longest-first")
    wrong = {job.name: job.finish_s / float(LONG_S) - 1 for job in plan.jobs}
    assert wrong == pytest.approx(dict.fromkeys(wrong, 0.0), abs=1e-9)
    verdict = ringsched.verify(scenario, plan)
    assert verdict.valid, verdict.violations
    ledger = ringsched.explain(scenario, plan)
    for job, placement in running:
        alone = formulas.iteration_time(scenario, job, placement)
        lost_s = float(LONG_S * (1 - alone / taus[job.name]))
        # Whoever is slowed by a rounding error only is not slowed.
        assert ledger.job(job.name).contention_s == pytest.approx(lost_s, rel=1e-8, abs=1e-8 * float(LONG_S))


def jobs_on_links(scenario: Scenario) -> dict[formulas.Node, int]:
    above = formulas.nodes_above(scenario)
    return Counter(
        node for job in scenario.jobs for node in formulas.crossed(job, job.running_on or {}, above)
    )


@pytest.mark.parametrize("model", ["max-min", "phases"])
@pytest.mark.parametrize(("seed", "alike"), [(1, False), (2, True)])
def test_a_crowd_in_four_racks(model: str, seed: int, alike: bool) -> None:
    scenario = crowd(seed, model, num_jobs=48, alike=alike)
    crossing = jobs_on_links(scenario)
    assert sum(number > 16 for number in crossing.values()) >= 10
    assert min(number for (kind, _), number in crossing.items() if kind == "switch") > 16
    assert_paces_are_those_of_the_reference(scenario)


@pytest.mark.parametrize("num_jobs", [8, 15, 16, 17, 18, 31, 33, 40])
def test_a_crowd_on_two_links(num_jobs: int) -> None:
    """Every job is on both, and numbers where a kernel may begin to do otherwise are cheap to try."""
    scenario = crowd(num_jobs, "phases", num_jobs=num_jobs, num_servers=2, num_racks=0, most_servers=2)
    assert set(jobs_on_links(scenario).values()) == {num_jobs}
    assert_paces_are_those_of_the_reference(scenario)


def test_a_crowd_too_large_to_be_held_against_itself_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some jobs at a time come to the same as all at once."""
    monkeypatch.setattr(import_module("ringsched.verify.phases"), "AT_A_TIME", 4)
    scenario = crowd(5, "phases", num_jobs=19, num_servers=5, num_racks=2, most_servers=4)
    assert_paces_are_those_of_the_reference(scenario)


@pytest.mark.parametrize("model", ["max-min", "phases"])
@pytest.mark.parametrize("intra_server_gbps", [1.5, 100.0])
def test_a_crowd_that_becomes_smaller(model: str, intra_server_gbps: float) -> None:
    """From the whole crowd to nobody, one after another: engine and verifier agree at every instant."""
    scenario = crowd(3, model, num_jobs=90, intra_server_gbps=intra_server_gbps)
    plan = ringsched.plan(scenario, "longest-first")
    assert len({job.finish_s for job in plan.jobs}) > 50
    verdict = ringsched.verify(scenario, plan)
    assert verdict.valid, verdict.violations
    lost_s = sum(account.contention_s for account in ringsched.explain(scenario, plan).jobs)
    assert lost_s > 0.1 * sum(job.finish_s for job in plan.jobs)
