"""What really happens when every job starts when and where the plan says."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ringsched.model import Job
from ringsched.verify.clock import Clock, time_limit
from ringsched.verify.iteration_time import Iteration, Network, Shape, connected, fair_rates

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Run:
    """A job with its fixed start and placement."""

    job: Job
    start: float
    shape: Shape


class Replay:
    """Jumps from event to event; only jobs on a link whose users changed get a new pace."""

    def __init__(self, runs: Sequence[Run], network: Network, clock: Clock) -> None:
        self._runs = runs
        self._network = network
        self._clock = clock
        self._on_link: list[set[int]] = [set() for _ in network.uplinks_gbps]
        self._crossed = {at: run.shape.crossed for at, run in enumerate(runs)}
        self._crossing = [0] * len(network.uplinks_gbps)
        self._left: list[float] = [run.job.remaining_iterations for run in runs]
        self._since: list[float] = [run.start for run in runs]
        self._cuts = [run.start + time_limit(run.job, clock) for run in runs]  # by time limits
        self._gbps: dict[int, float] = {}  # of jobs that have started, unless links are fair
        self._pace: list[float | None] = [None] * len(runs)
        # When each job ends if nothing changes; heap entries that say otherwise are out of date.
        self._due = [math.inf] * len(runs)
        self._queue: list[tuple[float, int]] = []
        self._finishes = [math.inf] * len(runs)

    def finishes(self) -> list[float]:
        """Return the instant at which each run ends; infinity for one that never does."""
        waiting = sorted(range(len(self._runs)), key=lambda at: self._runs[at].start, reverse=True)
        while True:
            next_start = self._runs[waiting[-1]].start if waiting else math.inf
            now = min(next_start, self._next_due())
            if now == math.inf:
                return self._finishes
            # At one instant: completions, then starts, then the paces of the new set of running jobs.
            ended = self._end_due(now)
            started = []
            while waiting and self._runs[waiting[-1]].start <= now:
                started.append(waiting.pop())
            self._leave(ended)
            self._enter(started)
            self._set_paces(self._touched(ended, started), now)

    def _next_due(self) -> float:
        while self._queue and self._queue[0][0] != self._due[self._queue[0][1]]:
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else math.inf

    def _end_due(self, now: float) -> list[int]:
        if self._next_due() > now:
            return []
        ended = []
        # Completions a rounding error apart are one instant, the earliest; see "Time", continuous.
        limit = now + self._clock.merge_slack(now)
        while self._next_due() <= limit:
            _, at = heapq.heappop(self._queue)
            self._due[at] = math.inf
            self._finishes[at] = now
            ended.append(at)
        return ended

    def _leave(self, ended: Iterable[int]) -> None:
        for at in ended:
            for node in self._runs[at].shape.crossed:
                self._on_link[node].remove(at)
                self._crossing[node] -= 1

    def _enter(self, started: Iterable[int]) -> None:
        for at in started:
            for node in self._runs[at].shape.crossed:
                self._on_link[node].add(at)
                self._crossing[node] += 1

    def _touched(self, ended: Sequence[int], started: Sequence[int]) -> set[int]:
        changed_links = {node for at in (*ended, *started) for node in self._runs[at].shape.crossed}
        touched = set(started).union(*(self._on_link[node] for node in changed_links))
        return connected(touched, self._crossed, self._on_link) if self._network.is_fair else touched

    def _taus(self, touched: Iterable[int]) -> dict[int, float]:
        """Return tau of each touched job; if links are fair, everybody connected with them is one."""
        network = self._network
        if not network.is_fair:
            return {at: self._iterations[at].tau_s(gbps) for at, gbps in self._new_gbps(touched).items()}
        taus = {at: self._alone_taus[at] for at in touched}
        rings = [at for at in touched if self._crossed[at] and self._sent_gbit[at] > 0]
        if network.is_phased:
            return taus | self._phased_taus(rings)
        requests = {at: self._sent_gbit[at] / taus[at] for at in rings}
        rates = fair_rates(requests, self._crossed, network.uplinks_gbps)
        return taus | {at: self._sent_gbit[at] / rate for at, rate in rates.items() if rate < requests[at]}

    def _new_gbps(self, touched: Iterable[int]) -> dict[int, float]:
        """Return the bandwidth of those touched jobs for which it is another one now."""
        bandwidth_gbps, runs, crossing = self._network.bandwidth_gbps, self._runs, self._crossing
        gbps = {at: bandwidth_gbps(runs[at].shape, crossing) for at in touched}
        changed = {at: each for at, each in gbps.items() if each != self._gbps.get(at)}
        self._gbps |= changed
        return changed

    def _phased_taus(self, rings: Sequence[int]) -> dict[int, float]:
        from ringsched.verify.phases import phased_taus

        alone = {at: self._fastest_gbps[at] for at in rings}
        return phased_taus(alone, self._crossed, self._network.uplinks_gbps, self._columns)

    @cached_property
    def _columns(self) -> NDArray[np.float64]:
        import numpy as np

        return np.array(self._iterations, dtype=np.float64).reshape(-1, len(Iteration._fields)).T

    @cached_property
    def _alone_taus(self) -> list[float]:
        return [self._network.tau_s(run.job, run.shape) for run in self._runs]

    @cached_property
    def _sent_gbit(self) -> list[float]:
        return [self._network.exchanged_gbit(run.job) for run in self._runs]

    @cached_property
    def _fastest_gbps(self) -> list[float]:
        return [self._network.fastest_gbps(run.shape) for run in self._runs]

    @cached_property
    def _iterations(self) -> list[Iteration]:
        return [self._network.iteration(run.job, run.shape.num_servers) for run in self._runs]

    def _set_paces(self, touched: Iterable[int], now: float) -> None:
        for at, tau_s in self._taus(touched).items():
            pace = self._clock.pace(tau_s)
            before = self._pace[at]
            if pace == before:
                continue
            if before is not None:
                done = self._clock.progress(now - self._since[at], before)
                self._left[at] = max(0, self._left[at] - done)
            self._since[at] = now
            self._pace[at] = pace
            left = self._clock.duration(self._left[at], pace)
            self._due[at] = min(now + left, self._cuts[at])
            if self._due[at] < math.inf:
                heapq.heappush(self._queue, (self._due[at], at))
