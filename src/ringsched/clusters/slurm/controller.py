"""The controller: reads Slurm, plans, and releases the jobs that can start now; or a dry run of this."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from ringsched import api
from ringsched.clusters.slurm.commands import Commands
from ringsched.clusters.slurm.network import Network
from ringsched.clusters.slurm.placements import servers_in_ring_order
from ringsched.clusters.slurm.queue import OurJob
from ringsched.clusters.slurm.release import leave_alone, release, take_back
from ringsched.clusters.slurm.resubmission import superfluous
from ringsched.clusters.slurm.running import known_by_end
from ringsched.clusters.slurm.snapshot import Astray, Reading, Snapshot, read_slurm, snapshot_of
from ringsched.errors import AdapterError, Infeasible, InputError
from ringsched.model import Cluster, Plan, PlannedJob, Scenario, Server
from ringsched.model.objective import MAKESPAN
from ringsched.policies.policy import Observer, Stop

ROLLING = "rolling"
TIME_LIMIT_S = 0.3
_FALLBACK = "longest-first"  # it always terminates
_SMALL = Cluster(servers=(Server(name="s", gpus=1),), inter_server_gbps=1, intra_server_gbps=1, reduce_gbps=1)
_PLACE = re.compile(r"jobs\[(\d+)\]")


class _Stopper(Observer):
    """Ends a search when the controller is asked to end."""

    def __init__(self, should_stop: Callable[[], bool] | None) -> None:
        self._should_stop = should_stop

    def should_stop(self) -> bool:
        return self._should_stop is not None and self._should_stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """How the queue is planned.

    Parameters
    ----------
    policy
        `rolling`, a short search on the present queue; or any name from `list_policies()`.
    objective
        What a search minimises.
    time_limit_s, iterations
        Limits of a search; with `iterations` alone it is reproducible.
    """

    policy: str = ROLLING
    objective: str = MAKESPAN.name
    time_limit_s: float | None = None
    iterations: int | None = None
    should_stop: Callable[[], bool] | None = None

    def check(self) -> None:
        """Raise if the settings are incompatible."""
        empty = Scenario(cluster=_SMALL)
        self._plan(empty)

    def plan(self, snapshot: Snapshot) -> PlannedQueue:
        """Plan the queue around the running jobs; a job that cannot be planned is left out with a reason.

        A running job that its owner released counts as if about to end.
        """
        scenario = snapshot.scenario
        left: dict[str, InputError] = {}
        while True:
            try:
                return PlannedQueue(scenario=scenario, plan=self._plan(scenario), left=left)
            except InputError as error:
                place = _PLACE.match(error.place or "")
                if place is None:
                    raise
                jobs, at = list(scenario.jobs), int(place[1])
                bad = jobs.pop(at)
                if bad.running_on is None:
                    left[bad.name] = InputError(error.problem, field=error.field)
                else:
                    jobs.insert(at, known_by_end(bad.name, bad.running_on, 1.0))
                scenario = scenario.replace(jobs=tuple(jobs))

    def _plan(self, scenario: Scenario) -> Plan:
        try:
            if self.policy not in (ROLLING, "search"):
                return api.plan(scenario, self.policy, objective=self.objective)
            unlimited = self.time_limit_s is None and self.iterations is None
            return api.plan(
                scenario,
                "search",
                objective=self.objective,
                stop=Stop(
                    time_limit_s=TIME_LIMIT_S if unlimited else self.time_limit_s,
                    max_schedules=self.iterations,
                ),
                observer=_Stopper(self.should_stop),
            )
        except (
            Infeasible
        ):  # of the horizon or of the size for a proof; use another policy so that jobs still run
            return api.plan(scenario, _FALLBACK, objective=self.objective)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedQueue:
    """A plan, its scenario, and the jobs that are not in it, by name, with reasons."""

    scenario: Scenario
    plan: Plan
    left: dict[str, InputError]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """The result of one cycle."""

    snapshot: Snapshot | None
    planned: PlannedQueue | None  # None if nothing had changed
    released: Mapping[str, str]  # names of jobs and the ids they run under

    @property
    def is_idle(self) -> bool:
        """Whether no job of ours waits or runs."""
        snapshot = self.snapshot
        if snapshot is None or self.released or snapshot.astray:
            return False
        ours = snapshot.sorted
        return not (snapshot.queued or ours.released or ours.running)


@dataclass(kw_only=True)
class Controller:
    """Plans and releases, one `cycle` after another.

    Parameters
    ----------
    commands, clock
        The interface to Slurm, and the time in Unix seconds.
    say
        Called with a line for each event.
    """

    commands: Commands
    clock: Callable[[], float]
    network: Network
    partition: str
    planner: Planner = field(default_factory=Planner)
    start_timeout_s: float = 60.0
    say: Callable[[str], None] = lambda _line: None
    # Only saves work: without it, the next cycle would re-plan.
    _situation: Situation | None = field(default=None, init=False)
    _late_s: float = field(default=math.inf, init=False)

    def cycle(self) -> Cycle:
        """Run one cycle: read Slurm, plan, and act."""
        reading = read_slurm(self.commands, self.partition, self.clock())
        if self._reconciled(reading):
            return Cycle(snapshot=None, planned=None, released={})
        snapshot = snapshot_of(reading, self.network, self.start_timeout_s)
        for astray in snapshot.astray:
            self._take_back(astray, reading.now_s)
        situation = situation_of(snapshot)
        if situation == self._situation and reading.now_s < self._late_s:
            return Cycle(snapshot=snapshot, planned=None, released={})
        self._situation = None
        if not snapshot.queued:
            self._situation, self._late_s = situation, math.inf
            return Cycle(snapshot=snapshot, planned=None, released={})
        planned = self.planner.plan(snapshot)
        for name, error in planned.left.items():
            self._leave_alone(snapshot.queued[name], str(error), reading.now_s)
        released = self._release(snapshot, planned)
        if len(released) == len(due(planned, snapshot)) and not planned.left:
            queued, occupied, servers = situation
            ids = {f"job-{job_id}" for job_id in released.values()}
            self._situation = (queued - set(released), occupied | ids, servers)
        self._late_s = overdue_s(planned, reading.now_s)
        return Cycle(snapshot=snapshot, planned=planned, released=released)

    def _reconciled(self, reading: Reading) -> bool:
        """Cancel jobs that a crash left over; return whether there were any."""
        left_over = superfluous(reading.jobs, reading.partition)
        for job, reason in left_over:
            self.say(f"cancel {job.id}: {reason}")
            self._try(partial(self.commands.tell, "scancel", "--verbose", str(job.id)))
        return bool(left_over)

    def _take_back(self, astray: Astray, now_s: float) -> None:
        self.say(f"take back {astray.job.slurm.id}: {astray.reason}")
        self._try(lambda: take_back(self.commands, astray, now_s=now_s))

    def _leave_alone(self, job: OurJob, reason: str, now_s: float) -> None:
        self.say(f"leave {job.slurm.id} held: {reason}")
        self._try(lambda: leave_alone(self.commands, job, reason, now_s=now_s))

    def _release(self, snapshot: Snapshot, planned: PlannedQueue) -> dict[str, str]:
        """Release the jobs that start now.

        Their GPUs are free and disjoint, so the order does not matter for the plan. Slurm starts equal splits
        at once, but not while a heterogeneous job waits for its next backfill pass, so these come last.
        """
        order = [node.name for node in snapshot.reading.nodes]
        now_s = snapshot.reading.now_s
        released = {}
        starting = [(entry, servers_in_ring_order(entry)) for entry in due(planned, snapshot)]
        for entry, servers in sorted(starting, key=lambda pair: len(set(pair[1].values())) > 1):
            job = snapshot.queued[entry.name]
            try:
                job_id = release(
                    self.commands,
                    job,
                    servers,
                    order=order,
                    now_s=self.clock(),
                    finish_s=now_s + entry.finish_s,
                )
            except AdapterError as error:
                if not error.refused:
                    raise  # the effect is unknown: read Slurm again first
                self._leave_alone(job, str(error), now_s)
                continue
            released[entry.name] = job_id
            where = " ".join(f"{name}:{count}" for name, count in servers.items())
            replacement = "" if job_id == str(job.slurm.id) else f" as {job_id}"
            self.say(f"release {job.slurm.id}{replacement}: {where}")
        return released

    def _try(self, action: Callable[[], object]) -> None:
        """Run a command whose job may be gone; then nothing needs doing."""
        try:
            action()
        except AdapterError as error:
            if not error.refused:
                raise


_NOW_S = 1e-6  # jobs that start this soon start now


# Tolerances of a late job, in seconds and as a share of its duration, before the queue is re-planned.
_LATE_S = 2.0


_LATE_SHARE = 0.05


Situation = tuple[frozenset[str], frozenset[str], tuple[object, ...]]


def due(planned: PlannedQueue, snapshot: Snapshot) -> list[PlannedJob]:
    """Return the queued jobs that start now."""
    entries = [entry for entry in planned.plan.jobs if entry.name in snapshot.queued]
    return [entry for entry in entries if entry.start_s <= _NOW_S]


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
    finishes = [entry.finish_s for entry in planned.plan.jobs if entry.start_s <= _NOW_S]
    if not finishes:
        return math.inf
    return now_s + min(finishes) + max(_LATE_S, _LATE_SHARE * min(finishes))
