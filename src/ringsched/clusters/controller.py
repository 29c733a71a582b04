"""The controller: read the cluster, plan, decide, act; one cycle after another.

What a cluster is comes from a `ClusterBackend`. Between its `snapshot` and its `apply`, everything is pure.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from ringsched.clusters.planning import NOW_S, PlannedQueue, Planner
from ringsched.errors import AdapterError, RingschedError
from ringsched.garbage import no_garbage_collection
from ringsched.model import PlannedJob, Scenario

# Tolerances of a late job, in seconds and as a share of its duration, before the queue is re-planned.
_LATE_S = 2.0
_LATE_SHARE = 0.05
_BROKEN_S = 60.0  # how much later than promised the first job may start
_LONGEST_WAIT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Give a waiting job its servers and start it.

    Parameters
    ----------
    servers
        GPUs on each server, servers in ring order.
    finish_s
        When it is predicted to end, from now.
    """

    name: str
    servers: Mapping[str, int]
    finish_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeBack:
    """Hold a job again that was started but cannot run where it should."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """Hold a job that the cluster refuses, and do not try it again for a while."""

    name: str
    reason: str


Decision = Start | TakeBack | SetAside


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A cluster at one moment, as a scenario whose time 0 is now.

    Parameters
    ----------
    now_s
        The moment, in Unix seconds.
    scenario
        Jobs that run or are about to, with `running_on`; then the waiting jobs, in the order of submission.
    astray
        What to do with jobs that were started but cannot run.
    left
        Jobs that are not planned now, by name, each with the reason.
    """

    now_s: float
    scenario: Scenario
    astray: tuple[TakeBack | SetAside, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)

    @property
    def waiting(self) -> frozenset[str]:
        """The names of the jobs that are planned."""
        return frozenset(job.name for job in self.scenario.jobs if not job.is_running)

    @property
    def is_idle(self) -> bool:
        """Whether no job of ours waits or runs; backends with jobs of others know better."""
        return not self.scenario.jobs and not self.astray


SnapshotType = TypeVar("SnapshotType", bound=Snapshot, covariant=True)


class ClusterBackend(Protocol[SnapshotType]):
    """A cluster that runs jobs."""

    def snapshot(self) -> SnapshotType:
        """Read the cluster; change nothing."""

    def apply(self, decisions: Sequence[Decision]) -> frozenset[str]:
        """Carry out decisions about the last snapshot in this order; return the names of started jobs.

        A job that the cluster refuses is set aside, and other jobs go on. Raises an AdapterError if the
        effect of a command is unknown. It may end at any point: the next snapshot shows what was done.
        """


def decide(snapshot: Snapshot, planned: PlannedQueue | None) -> tuple[Decision, ...]:
    """Return what to do now."""
    if planned is None:
        return snapshot.astray
    refused = [SetAside(name=name, reason=str(error)) for name, error in planned.left.items()]
    starts = [
        Start(name=name, servers=servers_in_ring_order(entry), finish_s=entry.finish_s)
        for name in planned.starts
        if (entry := planned.entries[name])
    ]
    return (*snapshot.astray, *refused, *starts)


def servers_in_ring_order(entry: PlannedJob) -> dict[str, int]:
    """Return the GPUs on each server, servers as the ring passes through them."""
    return dict(Counter(server for server, _ in entry.ring))


Situation = tuple[frozenset[str], frozenset[str], tuple[object, ...]]


def situation_of(snapshot: Snapshot) -> Situation:
    """Return the inputs of a plan, except the progress of running jobs."""
    jobs = snapshot.scenario.jobs
    return (
        frozenset(job.name for job in jobs if not job.is_running and job.submit_s == 0),
        frozenset(job.name for job in jobs if job.is_running),
        tuple((server.name, server.unavailable) for server in snapshot.scenario.cluster.servers),
    )


def overdue_s(planned: PlannedQueue, now_s: float) -> float:
    """Return when the plan's next completion is overdue, which triggers re-planning."""
    finishes = [entry.finish_s for entry in planned.entries.values() if entry.start_s <= NOW_S]
    if not finishes:
        return math.inf
    return now_s + min(finishes) + max(_LATE_S, _LATE_SHARE * min(finishes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """The result of one cycle."""

    snapshot: Snapshot
    planned: PlannedQueue | None  # None if nothing had changed
    decisions: tuple[Decision, ...]
    started: frozenset[str]

    @property
    def is_idle(self) -> bool:
        """Whether there was nothing to do, and nothing to wait for."""
        return not self.decisions and self.snapshot.is_idle


@dataclass(kw_only=True)
class Controller:
    """Plans and acts, one `cycle` after another.

    What it remembers saves work or sharpens a promise. A new controller would decide the same a little later.

    Parameters
    ----------
    say
        Called with a line for each event.
    """

    backend: ClusterBackend[Snapshot]
    planner: Planner = field(default_factory=Planner)
    say: Callable[[str], None] = lambda _line: None
    _situation: Situation | None = field(default=None, init=False)
    _late_s: float = field(default=math.inf, init=False)
    _promise: tuple[str, float] | None = field(default=None, init=False)  # a job, and when it should start

    def cycle(self) -> Cycle:
        """Run one cycle: read the cluster, plan, and act."""
        with no_garbage_collection():  # which takes a fifth of the time with 10,000 jobs
            return self._cycle()

    def _cycle(self) -> Cycle:
        snapshot = self.backend.snapshot()
        planned = self._plan(snapshot)
        decisions = decide(snapshot, planned)
        for decision in decisions:
            self.say(described(decision))
        self._situation, situation = None, situation_of(snapshot)
        started = self.backend.apply(decisions) if decisions else frozenset()
        if all(isinstance(decision, Start) and decision.name in started for decision in decisions):
            waiting, running, servers = situation
            self._situation = (waiting - started, running | started, servers)
        if planned is not None:
            self._late_s = overdue_s(planned, snapshot.now_s)
        return Cycle(snapshot=snapshot, planned=planned, decisions=decisions, started=started)

    def _plan(self, snapshot: Snapshot) -> PlannedQueue | None:
        """Plan again if something has changed."""
        if not snapshot.waiting:
            self._promise, self._late_s = None, math.inf
            return None
        is_late = self._promise is not None and snapshot.now_s > self._promise[1] + _BROKEN_S
        if situation_of(snapshot) == self._situation and snapshot.now_s < self._late_s:
            return None
        late = self._promise[0] if self._promise is not None and is_late else ""
        planned = self.planner.plan(snapshot.scenario, late=late)
        self._promise = self._kept(planned, snapshot.now_s)
        return planned

    def _kept(self, planned: PlannedQueue, now_s: float) -> tuple[str, float] | None:
        """Return the promise in force: the first one that was given to a job counts."""
        if planned.promise is None:
            return None
        name, start_s = planned.promise
        if self._promise is not None and self._promise[0] == name:
            return name, min(self._promise[1], now_s + start_s)
        return name, now_s + start_s


def described(decision: Decision) -> str:
    """Return a line for the log.

    Examples
    --------
    >>> described(Start(name="job-7", servers={"n1": 4, "n2": 4}, finish_s=9.0))
    'release 7: n1:4 n2:4'
    """
    job = decision.name.removeprefix("job-")
    if isinstance(decision, Start):
        return f"release {job}: {' '.join(f'{name}:{count}' for name, count in decision.servers.items())}"
    done = "take back" if isinstance(decision, TakeBack) else "set aside"
    return f"{done} {job}: {decision.reason}"


def run(
    controller: Controller,
    *,
    interval_s: float,
    wait: Callable[[float], None],
    once: bool = False,
    until_idle: bool = False,
    on_cycle: Callable[[Cycle], None] | None = None,
) -> None:
    """Run cycles; while the cluster does not respond, retry with increasing delays.

    Parameters
    ----------
    once
        Run one cycle and end; errors are raised instead of retried.
    until_idle
        End when no job of ours waits or runs any more; those left alone do not count.
    """
    wait_s = interval_s
    while True:
        try:
            cycle = controller.cycle()
        except RingschedError as error:
            if once:
                raise
            who = "Slurm: " if isinstance(error, AdapterError) else ""
            controller.say(f"{who}{error}; retrying in {wait_s:g} s")
            wait(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
            continue
        wait_s = interval_s
        if on_cycle is not None:
            on_cycle(cycle)
        if once or (until_idle and cycle.is_idle):
            return
        wait(interval_s)
