"""Queue, running jobs, contention and the plan ahead, for people and programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ringsched.clusters.contention_now import SharedLink, contention_now
from ringsched.clusters.planning import Planner
from ringsched.clusters.slurm.comments import job_name
from ringsched.clusters.slurm.jobs import SlurmJob
from ringsched.clusters.slurm.snapshot import SlurmSnapshot
from ringsched.model import Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """A job of ours; seconds are from now.

    Parameters
    ----------
    phase
        `running`, `starting` (given to Slurm), `queued` or `left` (held and not planned).
    servers
        Where it runs, or would by the plan: GPUs on each, in ring order while it runs.
    start_s, finish_s
        When it started or would start, and would end, as planned now.
    predicted_finish_s
        Its finish as predicted at its release.
    done
        The completed share of its iterations, by the model; above 1 if it exceeds the prediction.
    slowdown
        Its iteration time relative to that without other jobs on its links.
    reason
        Why it is left held.
    """

    id: str
    name: str
    user: str
    phase: str
    gpus: int | None
    servers: Mapping[str, Sequence[int] | int] = field(default_factory=dict)
    start_s: float | None = None
    finish_s: float | None = None
    predicted_finish_s: float | None = None
    done: float | None = None
    slowdown: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """A node and its GPUs.

    Parameters
    ----------
    in_use
        GPUs of all jobs, with those of jobs that are about to start.
    other_jobs
        Of these, GPUs of Slurm jobs that ringsched does not plan.
    unavailable
        Free GPUs that get no new jobs, such as those of a drained node.
    """

    name: str
    gpus: int
    in_use: int
    other_jobs: int
    unavailable: int
    state: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Everything `ringsched slurm status` prints."""

    partition: str
    policy: str
    makespan_s: float
    servers: tuple[ServerStatus, ...]
    jobs: tuple[JobStatus, ...]
    shared_links: tuple[SharedLink, ...]


def status_of(snapshot: SlurmSnapshot, planner: Planner) -> Status:
    """Return the status at the moment of a snapshot."""
    planned = planner.plan(snapshot.scenario)
    now = contention_now(snapshot.scenario)
    times, now_s = planned.entries, snapshot.now_s
    placements = {job.name: job.running_on or Placement({}) for job in snapshot.scenario.jobs}
    jobs = [
        _status(
            job.slurm,
            "running",
            job.job.gpus,
            servers={name: list(held) for name, held in placements[job.name].items()},
            start_s=job.slurm.start_s - now_s,
            finish_s=times[job.name].finish_s,
            predicted_finish_s=None if job.note.finish_s is None else job.note.finish_s - now_s,
            done=snapshot.progress[job.name] / job.job.iterations,
            slowdown=now.slowdown[job.name],
        )
        for job in snapshot.sorted.running
        if job.name in times  # others are on nodes outside the partition
    ]
    for job in snapshot.sorted.released:
        finish_s = times[job.name].finish_s if job.name in times else None
        servers = dict(job.note.servers)
        jobs.append(
            _status(job.slurm, "starting", job.job.gpus, servers=servers, start_s=0.0, finish_s=finish_s)
        )
    for name, waiting in snapshot.queued.items():
        job = waiting.ours
        if (entry := times.get(name)) is None:
            reason = str(planned.left.get(name, "too many jobs wait before it"))
            jobs.append(_status(job.slurm, "left", job.job.gpus, reason=reason))
            continue
        servers = {server: len(held) for server, held in entry.gpus.items()}
        jobs.append(
            _status(
                job.slurm,
                "queued",
                job.job.gpus,
                servers=servers,
                start_s=entry.start_s,
                finish_s=entry.finish_s,
            )
        )
    by_name = {job_name(job.id): job for job in snapshot.reading.jobs}
    jobs += [_status(by_name[name], "left", None, reason=reason) for name, reason in snapshot.left.items()]
    return Status(
        partition=",".join(snapshot.reading.partitions),
        policy=planner.policy,
        makespan_s=planned.makespan_s,
        servers=_servers(snapshot),
        jobs=tuple(jobs),
        shared_links=now.links,
    )


def _status(job: SlurmJob, phase: str, gpus: int | None, **more: Any) -> JobStatus:
    return JobStatus(id=job.id, name=job.name, user=job.user, phase=phase, gpus=gpus, **more)


def _servers(snapshot: SlurmSnapshot) -> tuple[ServerStatus, ...]:
    in_use: Counter[str] = Counter()
    for job in snapshot.scenario.jobs:
        for name, gpus in (job.running_on or {}).items():
            in_use[name] += len(gpus)
    others: Counter[str] = Counter()
    endless: Counter[str] = Counter()  # in a scenario, their GPUs are unavailable
    for other in snapshot.sorted.others:
        for name, held in other.placement.items():
            others[name] += len(held)
            endless[name] += len(held) if other.left_s(snapshot.now_s) is None else 0
    closed = {server.name: len(server.unavailable) for server in snapshot.scenario.cluster.servers}
    return tuple(
        ServerStatus(
            name=node.name,
            gpus=node.gpus,
            in_use=in_use[node.name] + endless[node.name],
            other_jobs=others[node.name],
            unavailable=closed[node.name] - endless[node.name],
            state=node.state,
            reason=node.reason,
        )
        for node in snapshot.reading.nodes
    )
