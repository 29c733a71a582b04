"""A simulation that says only that the cluster is overloaded says so."""

from __future__ import annotations

import pytest

from ringsched import Cluster, Contention, Job, Scenario, Time, Workload, generate, simulate
from ringsched.analysis.overload import simulation_warning


def arrivals(number: int, every_s: float, *, gpus: int, iterations: int, gradient_mb: float) -> Scenario:
    return Scenario(
        cluster=Cluster.of_servers(4, 4, inter_server_gbps=10.0),
        contention=Contention(model="phases"),
        time=Time(model="continuous"),
        jobs=tuple(
            Job(
                name=f"j{at}",
                gpus=gpus,
                iterations=iterations,
                gradient_mb=gradient_mb,
                minibatch=1,
                forward_ms=100.0,
                backward_ms=100.0,
                submit_s=at * every_s,
            )
            for at in range(number)
        ),
    )


def test_a_quiet_cluster_has_no_warning() -> None:
    workload = Workload.poisson(jobs=300, load=0.4, cluster=Cluster.of_servers(8))
    assert simulation_warning(simulate(generate(workload, seed=1))) is None


def test_too_many_jobs_without_contention() -> None:
    said = simulation_warning(simulate(arrivals(300, 10.0, gpus=4, iterations=300, gradient_mb=1.0)))
    assert said is not None
    assert said.startswith("the load is 1.5")
    assert "even without contention, so the queue only grows; use at least 25 GPUs, not 16" in said


def test_too_many_jobs_with_contention() -> None:
    """Jobs of three GPUs on servers of four: every fourth job is spread, and slow."""
    said = simulation_warning(simulate(arrivals(400, 10.0, gpus=3, iterations=250, gradient_mb=60.0)))
    assert said is not None
    assert "with contention (0." in said
    assert "free-links would help" in said


def test_a_batch_has_no_warning() -> None:
    assert simulation_warning(simulate(arrivals(40, 0.1, gpus=4, iterations=300, gradient_mb=1.0))) is None


@pytest.mark.parametrize("number", [0, 1])
def test_next_to_nothing(number: int) -> None:
    assert simulation_warning(simulate(arrivals(number, 1.0, gpus=1, iterations=1, gradient_mb=1.0))) is None
