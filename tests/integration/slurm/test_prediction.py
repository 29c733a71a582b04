"""What was predicted is what Slurm does."""

from __future__ import annotations

import time

import pytest
from tests.integration.slurm.real import Real

from ringsched.clusters.planning import Planner

pytestmark = [pytest.mark.slurm, pytest.mark.compiled]


@pytest.mark.parametrize(
    "longest_s", [20, pytest.param(60, marks=pytest.mark.slow)], ids=["forty-seconds", "two-minutes"]
)
def test_the_makespan_of_sleeping_jobs(real: Real, longest_s: int) -> None:
    """Within 10 %: what Slurm needs to start and end jobs, about a second, is not in the model.

    A machine with other things to do may hold Slurm up; so it has three tries.
    """
    tries = []
    while len(tries) < 3 and not any(ratio == pytest.approx(1, rel=0.1) for ratio in tries):
        tries.append(measured_over_predicted(real, f"try{len(tries)}", longest_s))
    assert tries[-1] == pytest.approx(1, rel=0.1), tries


def measured_over_predicted(real: Real, name: str, longest_s: int) -> float:
    for at, gpus in enumerate((8, 8, 6, 4, 4, 3, 8, 5, 2)):
        real.submit(f"{name}-{at}", gpus, longest_s - at % 3)
    controller = real.controller(Planner(iterations=20_000))
    before_s = time.time()
    cycles = real.run(controller, 10 * longest_s)
    first = next(cycle.planned for cycle in cycles if cycle.planned is not None)
    runs = [run for run in real.runs() if run.name.startswith(f"{name}-")]
    assert len(runs) == 9
    return (max(run.end_s or 0.0 for run in runs) - before_s) / first.makespan_s
