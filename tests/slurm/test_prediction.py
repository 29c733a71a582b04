"""What was predicted is what Slurm does."""

from __future__ import annotations

import time

import pytest
from tests.slurm.real import Real

from ringsched.slurm.planning import Planner

pytestmark = [pytest.mark.slurm, pytest.mark.compiled]


@pytest.mark.parametrize(
    "longest_s", [20, pytest.param(60, marks=pytest.mark.slow)], ids=["forty-seconds", "two-minutes"]
)
def test_the_makespan_of_sleeping_jobs(real: Real, longest_s: int) -> None:
    """Within 10 %: what Slurm needs to start and end jobs, about a second, is not in the model."""
    for at, gpus in enumerate((8, 8, 6, 4, 4, 3, 8, 5, 2)):
        real.submit(f"job{at}", gpus, longest_s - at % 3)
    controller = real.controller(Planner(iterations=20_000))
    before_s = time.time()
    cycles = real.run(controller, 10 * longest_s)
    first = next(cycle.planned for cycle in cycles if cycle.planned is not None)
    runs = real.runs()
    assert len(runs) == 9
    took_s = max(run.end_s or 0.0 for run in runs) - before_s
    assert took_s == pytest.approx(first.plan.makespan_s, rel=0.1)
