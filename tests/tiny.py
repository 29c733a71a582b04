"""Scenarios small enough to be solved exactly, with everything the model knows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from tests.effort import AS_PYTHON
from tests.reference import formulas
from tests.strategies import GRADIENT_MB, contentions, networks, switches_of

from ringsched.model import Cluster, Job, Scenario, Server, Time

needs_compiler = pytest.mark.skipif(AS_PYTHON, reason="takes up to millions of nodes")


@st.composite
def tiny_clusters(draw: st.DrawFn, max_servers: int) -> Cluster:
    switches = draw(networks(speeds=[6.7082]))
    servers = tuple(
        Server(
            name=f"s{at}",
            gpus=draw(st.integers(2, 3)),
            switch=draw(st.sampled_from(switches_of(switches))),
            uplink_gbps=draw(st.sampled_from([None, None, 4.4721])),
            unavailable=draw(st.sampled_from([(), (), (0,)])),
        )
        for at in range(draw(st.integers(1, max_servers)))
    )
    return Cluster(
        servers=servers, switches=switches, inter_server_gbps=10.0, intra_server_gbps=100.0, reduce_gbps=400.0
    )


@st.composite
def tiny_scenarios(
    draw: st.DrawFn, *, max_jobs: int, max_servers: int, max_iterations: int, model: str | None = None
) -> Scenario:
    """Jobs that run already, submit times, weights, switches, tables, unavailable GPUs, both time models."""
    cluster = draw(tiny_clusters(max_servers))
    free = draw(
        st.permutations(
            [(s.name, gpu) for s in cluster.servers for gpu in range(s.gpus) if gpu not in s.unavailable]
        )
    )
    jobs = []
    for at in range(draw(st.integers(2, max_jobs))):
        fields: dict[str, Any] = {
            "gpus": draw(st.integers(1, min(4, cluster.capacity))),
            "iterations": draw(st.integers(1, max_iterations)),
            "gradient_mb": draw(st.sampled_from(GRADIENT_MB)),
            "backward_ms": draw(st.sampled_from([1.6180, 2.7183, 31.4159])),
            "weight": draw(st.sampled_from([1.0, 1.0, 2.5])),
        }
        if fields["gpus"] <= len(free) and draw(st.integers(0, 3)) == 0:
            held: dict[str, list[int]] = {}
            for _ in range(fields["gpus"]):
                server, gpu = free.pop()
                held.setdefault(server, []).append(gpu)
            fields |= {"running_on": held, "done_iterations": draw(st.integers(0, fields["iterations"] - 1))}
        jobs.append(Job(name=f"j{at}", minibatch=1, forward_ms=0, **fields))
    scenario = Scenario(
        cluster=cluster, jobs=tuple(jobs), contention=draw(contentions()), time=Time(model="continuous")
    )
    return _timed(draw, scenario, model or draw(st.sampled_from(["slotted", "continuous"])))


def _timed(draw: st.DrawFn, scenario: Scenario, model: str) -> Scenario:
    slot_s = draw(st.sampled_from([1.0001, 2.9])) * max(
        float(formulas.worst_case_tau(scenario, job)) for job in scenario.jobs
    )
    jobs = tuple(
        job if job.is_running else job.replace(submit_s=draw(st.sampled_from([0, 0, 1, 2.37])) * slot_s)
        for job in scenario.jobs
    )
    return scenario.replace(time=Time(model=model, slot_s=slot_s), jobs=jobs)
