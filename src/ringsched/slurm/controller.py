"""The controller: reads Slurm, plans, and releases what can start now.

It keeps nothing that matters: whatever it needs to know it reads from Slurm in every cycle, so that it can
be killed at any point and started again, on this machine or another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from ringsched.errors import AdapterError
from ringsched.slurm.commands import Commands
from ringsched.slurm.layout import servers_in_ring_order
from ringsched.slurm.network import Network
from ringsched.slurm.planning import PlannedQueue, Planner
from ringsched.slurm.queue import OurJob
from ringsched.slurm.reading import Reading, read_slurm
from ringsched.slurm.reconcile import superfluous
from ringsched.slurm.release import leave_alone, release, take_back
from ringsched.slurm.situation import Situation, due, overdue_s, situation_of
from ringsched.slurm.snapshot import Astray, Snapshot, snapshot_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """What one cycle found and did."""

    snapshot: Snapshot | None
    planned: PlannedQueue | None  # None if nothing had changed
    released: Mapping[str, str]  # names of jobs and the ids they run under

    @property
    def is_idle(self) -> bool:
        """Whether nothing of ours waits or runs."""
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
        All it has of the world: how Slurm is asked and told, and the time in seconds of Unix.
    say
        Told what happened, a line each.
    """

    commands: Commands
    clock: Callable[[], float]
    network: Network
    partition: str
    planner: Planner = field(default_factory=Planner)
    start_timeout_s: float = 60.0
    say: Callable[[str], None] = lambda _line: None
    # Only to save work: without it, the next cycle would plan anew.
    _situation: Situation | None = field(default=None, init=False)
    _late_s: float = field(default=math.inf, init=False)

    def cycle(self) -> Cycle:
        """Look once, and do what is to be done now."""
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
        """Cancel what a crash left over; whether there was any."""
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

        Their GPUs are free and apart, so that no order is better by the plan. Slurm starts equal splits at
        once, but not past a heterogeneous job that waits for its next backfill pass: hence these last.
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
                    raise  # nobody knows what was done: look again before anything else
                self._leave_alone(job, str(error), now_s)
                continue
            released[entry.name] = job_id
            where = " ".join(f"{name}:{count}" for name, count in servers.items())
            anew = "" if job_id == str(job.slurm.id) else f" as {job_id}"
            self.say(f"release {job.slurm.id}{anew}: {where}")
        return released

    def _try(self, action: Callable[[], object]) -> None:
        """Do what may come too late: a job that is gone needs nothing any more."""
        try:
            action()
        except AdapterError as error:
            if not error.refused:
                raise
