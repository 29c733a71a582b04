"""Clusters in which a server is slower inside than its uplink is, and jobs that need three servers."""

from __future__ import annotations

import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Contention, InputError, Job, Scenario
from ringsched.contention.fabric import Extremes, fabric_of
from ringsched.contention.iteration_time import work_of
from ringsched.contention.network import network_of, shape_of
from ringsched.model import Placement, Plan, PlannedJob
from ringsched.verify.iteration_time import Network

LATENCY = {"server_latency_ms": 10}


def exchanging(gpus: int) -> Job:
    """1 Gbit to exchange, 0.5 Gbit to reduce in no time, 100 ms to compute."""
    return job("a", gpus=gpus, gradient_mb=62.5 * gpus / (gpus - 1))


def problem(*gpus: int, inside: float, job: Job) -> Scenario:
    servers = cluster(*gpus, inter_server_gbps=10, intra_server_gbps=inside, reduce_gbps=1e12)
    return scenario(servers, job, contention=LATENCY, time={"model": "continuous"})


CASES = pytest.mark.parametrize(
    ("servers", "inside", "gpus", "best", "worst"),
    [
        ((4, 4), 100, 4, 0.1 + 0.01 + 0.01, 0.1 + 0.02 + 0.1),  # one server, or the uplink of two
        ((4, 4), 5, 4, 0.1 + 0.02 + 0.1, 0.1 + 0.02 + 0.2),  # two servers, one GPU here and there; or inside
        ((1, 1), 100, 2, 0.1 + 0.02 + 0.1, 0.1 + 0.02 + 0.1),  # two GPUs, two servers
        ((4,), 5, 4, 0.1 + 0.01 + 0.2, 0.1 + 0.01 + 0.2),  # there is but one server, and nobody leaves it
        ((3, 2, 1), 100, 6, 0.1 + 0.03 + 0.1, 0.1 + 0.03 + 0.1),  # three servers, none holds it
        ((1, 3, 2), 100, 4, 0.1 + 0.02 + 0.1, 0.1 + 0.03 + 0.1),  # two hold it, three may
    ],
)


@CASES
def test_extremes(servers: tuple[int, ...], inside: float, gpus: int, best: float, worst: float) -> None:
    setting = problem(*servers, inside=inside, job=exchanging(gpus))
    extremes = Extremes(fabric_of(setting.cluster, setting.contention), 1)
    work = work_of(setting.jobs[0], setting.cluster)
    assert extremes.best_case_tau(work, gpus) == pytest.approx(best)
    assert extremes.worst_case_tau(work, gpus) == pytest.approx(worst)


@CASES
def test_extremes_of_the_verifier(
    servers: tuple[int, ...], inside: float, gpus: int, best: float, worst: float
) -> None:
    setting = problem(*servers, inside=inside, job=exchanging(gpus))
    assert Network(setting).best_tau_s(setting.jobs[0]) == pytest.approx(best)
    assert Network(setting).worst_tau_s(setting.jobs[0]) == pytest.approx(worst)


@pytest.mark.parametrize(
    ("gpus_on", "tau"),
    [
        ({0: 1, 1: 1}, 0.1 + 0.02 + 0.1),  # no two GPUs share a server: the uplink
        ({0: 2}, 0.1 + 0.01 + 0.2),
        ({0: 2, 1: 1}, 0.1 + 0.02 + 0.2),  # the slower of both
    ],
)
def test_iteration_time_alone(gpus_on: dict[int, int], tau: float) -> None:
    lone = exchanging(sum(gpus_on.values()))
    setting = problem(4, 4, inside=5, job=lone)
    fabric, work = fabric_of(setting.cluster, setting.contention), work_of(lone, setting.cluster)
    assert fabric.alone_tau(work, fabric.shape(gpus_on)) == pytest.approx(tau)
    own = Network(setting)
    assert own.tau_s(lone, own.shape({f"s{at}": held for at, held in gpus_on.items()})) == pytest.approx(tau)


@pytest.mark.parametrize("policy", [policy.name for policy in ringsched.list_policies()])
@pytest.mark.parametrize("gpus", [2, 4, 6])
def test_plans_are_valid(policy: str, gpus: int) -> None:
    setting = problem(4, 2, inside=5, job=exchanging(gpus))
    assert ringsched.verify(setting, ringsched.plan(setting, policy)).violations == ()


def test_a_job_that_would_not_move_inside_a_server_is_refused() -> None:
    """0.2 s to exchange and 0.1 s to compute do not fit into a slot of 0.25 s; over uplinks they would."""
    lone = exchanging(2)
    setting = scenario(cluster(2, 2, intra_server_gbps=5, reduce_gbps=1e12), lone, time={"slot_s": 0.25})
    with pytest.raises(InputError, match="longer than a slot"):
        ringsched.plan(setting)
    row = PlannedJob(
        name="a", start_s=0, finish_s=1, gpus=Placement({"s0": [0, 1]}), ring=(("s0", 0), ("s0", 1))
    )
    plan = Plan(
        scenario_sha256=setting.sha256(),
        policy="by-hand",
        makespan_s=1,
        mean_completion_s=1,
        lower_bound_s=1,
        gap=1,
        jobs=(row,),
    )
    with pytest.raises(InputError, match="does not fit into a slot"):
        ringsched.verify(setting, plan)


def test_links_are_listed_in_ascending_order() -> None:
    assert shape_of(network_of(cluster(1, 1, 1)), {2: 1, 0: 1}).links == (0, 2)


def test_a_link_without_a_gpu_below_it_slows_nobody() -> None:
    """The worst case asks for the share of at least one job, also below a server that is all out of use."""
    servers = tuple(
        ringsched.Server(name=name, gpus=2, unavailable=out)
        for name, out in (("a", ()), ("b", ()), ("c", (0, 1)))
    )
    setting = scenario(cluster(servers=servers, reduce_gbps=1e12), exchanging(2))
    work, contention = work_of(setting.jobs[0], setting.cluster), Contention(table=(1.0, 5.0))
    assert Extremes(fabric_of(setting.cluster, contention), 1).worst_case_tau(work, 2) == pytest.approx(0.2)
    assert Network(setting.replace(contention=contention)).worst_tau_s(setting.jobs[0]) == pytest.approx(0.2)


def test_the_worst_case_counts_all_who_may_share_a_rack() -> None:
    """Three jobs share 30 Gbit/s above a rack, 10 each; a server of one GPU lets one job out, at 20."""
    servers = tuple(ringsched.Server(name=f"s{at}", gpus=1, switch=f"r{at // 3}") for at in range(6))
    jobs = [exchanging(2).replace(name=name) for name in "abc"]
    racked = cluster(servers=servers, switches={"r0": 30, "r1": 60}, inter_server_gbps=20, reduce_gbps=1e12)
    setting = scenario(racked, *jobs)
    work = work_of(jobs[0], racked)
    assert Extremes(fabric_of(racked, Contention()), 3).worst_case_tau(work, 2) == pytest.approx(0.2)
    assert Network(setting).worst_tau_s(jobs[0]) == pytest.approx(0.2)
