"""The state of a simulated cluster: GPUs, running jobs, and when they will be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from tests.core_engine.contention import PaperContention

from ringsched.engine.problem import Problem

IDLE = -1
UNAVAILABLE = -2


@dataclass(slots=True)
class Progress:
    """A running job since its rate last changed."""

    since: float
    remaining: float
    rate: float
    finish: float


class Cluster:
    """GPUs and the jobs on them, moved on from event to event.

    Between two events all rates are constant, so a job's `Progress` is touched only when its own
    rate changes.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.now: float = 0
        self.holder = [IDLE if available else UNAVAILABLE for available in problem.available]
        self.num_idle = list(problem.network.capacity[: problem.num_servers])
        self.contention = PaperContention(problem.works, problem.network, problem.scenario.contention)
        self._gpus_of: dict[int, tuple[int, ...]] = {}
        self._progress: dict[int, Progress] = {}
        self._completions: list[tuple[float, int]] = []
        for job, gpus in problem.running.items():
            self.start(job, gpus)

    def start(self, job: int, gpus: Sequence[int]) -> None:
        """Give `gpus` to `job`; its rate is set by the next `settle`."""
        for gpu in gpus:
            self.holder[gpu] = job
            self.num_idle[self.problem.server_of[gpu]] -= 1
        self._gpus_of[job] = tuple(gpus)
        self.contention.start(job, self.problem.shape(gpus))

    def settle(self) -> None:
        """Set the rates of the new set of running jobs, once all starts of this instant are known."""
        clock = self.problem.clock
        for job, tau in self.contention.settle():
            rate = clock.rate(tau)
            progress = self._progress.get(job)
            if progress is None:
                remaining: float = self.problem.iterations[job]
            elif progress.rate == rate:
                continue
            else:
                remaining = progress.remaining - clock.done(self.now - progress.since, progress.rate)
            finish = self.now + clock.duration(remaining, rate)
            self._progress[job] = Progress(self.now, remaining, rate, finish)
            heappush(self._completions, (finish, job))

    def next_completion(self) -> float | None:
        """Return the earliest finish of a running job at present rates."""
        while self._completions:
            finish, job = self._completions[0]
            progress = self._progress.get(job)
            if progress is not None and progress.finish == finish:
                return finish
            heappop(self._completions)  # outdated: the job's rate has changed since
        return None

    def advance(self, time: float) -> list[int]:
        """Move on to `time` and return the jobs that complete there, lowest first."""
        self.now = time
        finished = []
        if self.next_completion() == time:
            latest = self.problem.clock.same_instant_until(time)
            while (finish := self.next_completion()) is not None and finish <= latest:
                job = heappop(self._completions)[1]
                self._finish(job)
                finished.append(job)
        return sorted(finished)

    def _finish(self, job: int) -> None:
        del self._progress[job]
        self.contention.finish(job)
        for gpu in self._gpus_of.pop(job):
            self.holder[gpu] = IDLE
            self.num_idle[self.problem.server_of[gpu]] += 1
