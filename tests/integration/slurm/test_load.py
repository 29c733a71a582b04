"""A large queue on a large cluster: what the controller itself needs, apart from Slurm's commands."""

from __future__ import annotations

import time

import pytest
from tests.integration.slurm.real import real_cluster
from tests.integration.slurm.test_placement import TWENTY

from ringsched.clusters.slurm.controller import Planner


@pytest.mark.slurm
@pytest.mark.slow
@pytest.mark.compiled
def test_a_cycle_with_200_queued_jobs_takes_less_than_a_second() -> None:
    in_commands = 0.0

    class Timed:
        def ask(self, *arguments: str, **more: object) -> str:
            return self._timed("ask", *arguments, **more)

        def tell(self, *arguments: object, **more: object) -> str:
            return self._timed("tell", *arguments, **more)

        def _timed(self, method: str, *arguments: object, **more: object) -> str:
            nonlocal in_commands
            before_s = time.perf_counter()
            try:
                return getattr(real.commands, method)(*arguments, **more)
            finally:
                in_commands += time.perf_counter() - before_s

    with real_cluster(TWENTY) as real:
        for at in range(230):
            real.submit(f"job{at}", 1 + at * 7 % 23, 30 + at % 60)
        real.controller(Planner(policy="first-fit")).cycle()  # some thirty run, two hundred wait
        real.controller(Planner()).cycle()  # loads the kernels
        controller = real.controller(Planner())
        controller.commands = Timed()
        before_s = time.perf_counter()
        cycle = controller.cycle()
        took_s = time.perf_counter() - before_s
    assert cycle.snapshot is not None
    assert len(cycle.snapshot.queued) >= 190
    assert cycle.planned is not None
    print(f"{took_s:.2f} s, of these {in_commands:.2f} s in Slurm's commands")
    assert took_s - in_commands < 1.0
