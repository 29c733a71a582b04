"""Facts the model has to reproduce, by name."""

from __future__ import annotations

import pytest
from tests.scenarios import cluster, job, scenario

import ringsched
from ringsched import Contention, Plan, Scenario
from ringsched.contention.sharing import model_of
from ringsched.model import Placement, PlannedJob

WANG = Contention(degradation=0.2745)  # Wang et al. 2020, 10 GbE: eta / beta = 0.235 / 0.856


def test_theorem_counterexample() -> None:
    """One server, 2 GPUs, jobs of 10, 10 and 20 slots: the optimum is 20, SJF-BCO gives 30.

    The paper promises the ratio n_g * phi * u / l, which is 1 here; step (b) of its third lemma fails.
    """
    jobs = [job(f"{slots}-{at}", iterations=slots * 10) for at, slots in enumerate((10, 10, 20))]
    instance = scenario(cluster(2), *jobs)
    assert ringsched.plan(instance, "sjf-bco").makespan_s == 30
    assert ringsched.plan(instance, "longest-first").makespan_s == 20
    assert ringsched.lower_bounds(instance)[0].value_s == 20


def test_four_jobs_on_a_link() -> None:
    assert round(model_of(WANG).factor(4), 2) == 4.82


def test_four_contending_jobs_take_675_s_instead_of_295_s() -> None:
    """Wang et al. 2020: four 4-GPU jobs across four 4-GPU servers; solo communication share 33.7 %."""
    gradient_mb = 0.0337 * 10 / (2 * 0.75 * 8e-3)  # exchanges 33.7 ms of a 100 ms iteration at 10 Gbit/s
    jobs = [
        job(f"j{at}", gpus=4, iterations=2950, gradient_mb=gradient_mb, backward_ms=66.3) for at in range(4)
    ]
    servers = cluster(4, 4, 4, 4, reduce_gbps=1e9)
    everything = Scenario(
        cluster=servers, jobs=tuple(jobs), contention=WANG, time=ringsched.Time(model="continuous")
    )
    alone = everything.replace(jobs=everything.jobs[:1])
    assert ringsched.replay(alone, spread_over_all(alone)).makespan_s == pytest.approx(295)
    assert ringsched.replay(everything, spread_over_all(everything)).makespan_s == pytest.approx(
        675, rel=0.01
    )


def test_replanning_with_one_job_less_can_end_later() -> None:
    """docs/concepts/model.md: without c, d starts earlier, on two servers, and ends later."""
    a = job("a", gpus=2, iterations=20, gradient_mb=100)
    b = job("b", gpus=3, iterations=30, gradient_mb=40)
    c = job("c", gpus=1, iterations=40)
    d = job("d", gpus=3, iterations=20, gradient_mb=100)
    servers = cluster(4, 2)
    together = ringsched.plan(scenario(servers, a, b, c, d), "longest-first").jobs
    without = ringsched.plan(scenario(servers, a, b, d), "longest-first").jobs
    assert [(each.start_s, each.finish_s) for each in together] == [(0, 3), (0, 4), (0, 4), (4, 7)]
    assert [(each.start_s, each.finish_s) for each in without] == [(0, 3), (0, 4), (3, 8)]
    assert (list(together[3].gpus), list(without[2].gpus)) == (["s0"], ["s0", "s1"])


def spread_over_all(instance: Scenario) -> Plan:
    """Job i takes GPU i of every server, from time 0."""
    names = [server.name for server in instance.cluster.servers]
    return Plan(
        scenario_sha256=instance.sha256(),
        policy="by hand",
        makespan_s=0,
        mean_completion_s=0,
        lower_bound_s=0,
        gap=1,
        jobs=tuple(
            PlannedJob(
                name=each.name,
                start_s=0,
                finish_s=0,
                gpus=Placement({name: [at] for name in names}),
                ring=tuple((name, at) for name in names),
            )
            for at, each in enumerate(instance.jobs)
        ),
    )
