"""Each lower bound by hand, with its name and terms."""

from __future__ import annotations

import pytest
from tests.scenarios import cluster, job, scenario

from ringsched import Server, lower_bounds
from ringsched.model import Bound


def bounds(*jobs: object, **parts: object) -> dict[str, Bound]:
    found = lower_bounds(scenario(parts.pop("servers", cluster(4)), *jobs, **parts))  # type: ignore[arg-type]
    assert [bound.value_s for bound in found] == sorted((bound.value_s for bound in found), reverse=True)
    return {bound.name: bound for bound in found}


def test_no_jobs_no_bounds() -> None:
    assert lower_bounds(scenario(cluster(4))) == ()


def test_longest_job_counts_its_release_in_slots() -> None:
    bound = bounds(job("a", iterations=100), job("b", iterations=90, submit_s=2.5))["longest-job"]
    assert (bound.value_s, bound.terms) == (12, {"job": "b", "release_s": 3, "best_case_s": 9})


def test_area_rounds_up_to_slots_only_when_slotted() -> None:
    jobs = [job(f"j{at}", gpus=3, iterations=10) for at in range(3)]
    assert bounds(*jobs)["area"].value_s == 3  # 9 GPU-seconds on 4 GPUs
    assert bounds(*jobs, time={"model": "continuous"})["area"].value_s == pytest.approx(2.25)


def test_area_takes_the_worst_release() -> None:
    early, late = job("early", gpus=1, iterations=10), job("late", gpus=4, iterations=50, submit_s=10)
    bound = bounds(early, late)["area"]
    assert (bound.value_s, bound.terms) == (15, {"release_s": 10, "gpu_seconds": 20, "gpus": 4})


def test_area_counts_available_gpus() -> None:
    servers = cluster(4, servers=(Server(name="s0", gpus=4, unavailable=(1, 2)),))
    assert (
        bounds(job("a", gpus=2, iterations=100), job("b", iterations=100), servers=servers)["area"].value_s
        == 15
    )


def test_large_jobs_run_one_after_the_other() -> None:
    jobs = [job(f"j{at}", gpus=3, iterations=100) for at in range(3)] + [job("half", gpus=2, iterations=100)]
    bound = bounds(*jobs)["large-jobs"]
    assert (bound.value_s, bound.terms) == (30, {"release_s": 0, "best_cases_s": 30, "jobs": 3})
    assert "large-jobs" not in bounds(jobs[-1])


def test_a_running_job_counts_at_its_own_place() -> None:
    """Spread over two servers it exchanges 0.8 Gbit at 10 Gbit/s, 80 ms more than in one of them."""
    running = job(
        "a",
        gpus=2,
        iterations=100,
        gradient_mb=100,
        running_on={"s0": [0], "s1": [0]},
        done_iterations=50,
    )
    bound = bounds(running, servers=cluster(2, 2, reduce_gbps=1e12), time={"model": "continuous"})[
        "longest-job"
    ]
    assert bound.value_s == pytest.approx(50 * 0.18)
