"""What there is to do now, and whether anything has happened since the last plan."""

from __future__ import annotations

import math

from ringsched.model import PlannedJob
from ringsched.slurm.planning import PlannedQueue
from ringsched.slurm.snapshot import Snapshot

_NOW_S = 1e-6  # what starts so soon starts now
# A job may be so late, or by such a share of what it was to take, before the queue is planned anew.
_LATE_S = 2.0
_LATE_SHARE = 0.05

Situation = tuple[frozenset[str], frozenset[str], tuple[object, ...]]


def due(planned: PlannedQueue, snapshot: Snapshot) -> list[PlannedJob]:
    """Return the queued jobs that start now."""
    entries = [entry for entry in planned.plan.jobs if entry.name in snapshot.queued]
    return [entry for entry in entries if entry.start_s <= _NOW_S]


def situation_of(snapshot: Snapshot) -> Situation:
    """Return all that a plan depends on, but for how far the running jobs are."""
    jobs = snapshot.scenario.jobs
    return (
        frozenset(job.name for job in jobs if not job.is_running and job.submit_s == 0),
        frozenset(job.name for job in jobs if job.is_running),
        tuple((server.name, server.unavailable) for server in snapshot.scenario.cluster.servers),
    )


def overdue_s(planned: PlannedQueue, now_s: float) -> float:
    """Return when the plan's next completion is overdue: then it is worth planning anew."""
    finishes = [entry.finish_s for entry in planned.plan.jobs if entry.start_s <= _NOW_S]
    if not finishes:
        return math.inf
    return now_s + min(finishes) + max(_LATE_S, _LATE_SHARE * min(finishes))
