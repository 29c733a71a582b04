"""One cycle of the controller with a long queue, and what it takes apart from Slurm's commands."""

from __future__ import annotations

import time
from typing import NamedTuple

from tests.integration.slurm.real import Real, real_cluster
from tests.integration.slurm.test_placement import TWENTY

from ringsched.clusters.controller import Cycle
from ringsched.clusters.planning import Planner

NUM_QUEUED = 190  # at least, of the submitted ones
NUM_SUBMITTED = 230


class TimedCycle(NamedTuple):
    """A cycle, how long it took, and how much of that Slurm's commands took."""

    cycle: Cycle
    seconds: float
    command_seconds: float

    @property
    def own_seconds(self) -> float:
        """What the controller itself took."""
        return self.seconds - self.command_seconds


class _Timed:
    """The commands of a cluster, with a clock."""

    def __init__(self, real: Real) -> None:
        self._real = real
        self.seconds = 0.0

    def ask(self, *arguments: str, **more: object) -> str:
        return self._timed("ask", *arguments, **more)

    def tell(self, *arguments: object, **more: object) -> str:
        return self._timed("tell", *arguments, **more)

    def _timed(self, method: str, *arguments: object, **more: object) -> str:
        before_s = time.perf_counter()
        try:
            answer: str = getattr(self._real.commands, method)(*arguments, **more)
            return answer
        finally:
            self.seconds += time.perf_counter() - before_s


def timed_cycle() -> TimedCycle:
    """Return a cycle with some thirty jobs that run and two hundred that wait."""
    with real_cluster(TWENTY) as real:
        for at in range(NUM_SUBMITTED):
            real.submit(f"job{at}", 1 + at * 7 % 16, 30 + at % 60)
        real.controller(Planner(policy="first-fit")).cycle()
        real.controller(Planner()).cycle()  # loads the kernels
        commands = _Timed(real)
        controller = real.controller(Planner(), commands)
        before_s = time.perf_counter()
        cycle = controller.cycle()
        return TimedCycle(cycle, time.perf_counter() - before_s, commands.seconds)
