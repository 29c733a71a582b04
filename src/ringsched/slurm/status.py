"""Queue, running jobs, contention and the plan ahead, for people and programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringsched.model import Placement
from ringsched.slurm.contention_now import SharedLink, contention_now
from ringsched.slurm.planning import Planner
from ringsched.slurm.queue import OurJob
from ringsched.slurm.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """A job of ours; seconds are from now.

    Parameters
    ----------
    origin
        The id under which it was submitted, if it had to be resubmitted.
    phase
        `running`, `starting` (given to Slurm), `queued` or `left` (held and not planned).
    servers
        Where it runs, or would by the plan: GPUs on each, in ring order while it runs.
    start_s, finish_s
        When it started or would start, and would end, as planned now.
    predicted_finish_s
        When it was to end as planned at its release.
    done
        The share of its iterations behind it, by the model; above 1 if it outlives the prediction.
    slowdown
        How much longer an iteration takes now than without others on its links.
    reason
        Why it is left held.
    """

    id: int
    origin: int | None
    name: str
    user: str
    phase: str
    gpus: int | None
    servers: Mapping[str, Sequence[int] | int]
    start_s: float | None = None
    finish_s: float | None = None
    predicted_finish_s: float | None = None
    done: float | None = None
    slowdown: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """A node: how many of its GPUs are held, and whether it can be used."""

    name: str
    gpus: int
    held: int
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


def status_of(snapshot: Snapshot, planner: Planner) -> Status:
    """Return the status at the moment of a snapshot."""
    planned = planner.plan(snapshot)
    now = contention_now(snapshot.scenario)
    times = {entry.name: entry for entry in planned.plan.jobs}
    placements = {job.name: job.running_on or Placement({}) for job in snapshot.scenario.jobs}
    now_s = snapshot.reading.now_s
    jobs = []
    for job in snapshot.sorted.running:
        if job.name not in times:
            continue  # on nodes that are none of ours
        jobs.append(
            _status(
                job,
                "running",
                servers={name: list(held) for name, held in placements[job.name].items()},
                start_s=job.slurm.start_s - now_s,
                finish_s=times[job.name].finish_s,
                predicted_finish_s=_ahead(job.note.finish_s, now_s),
                done=snapshot.progress[job.name] / job.wish.job.iterations,
                slowdown=now.slowdown[job.name],
            )
        )
    for job in snapshot.sorted.released:
        finish_s = times[job.name].finish_s if job.name in times else None
        jobs.append(_status(job, "starting", servers=dict(job.note.servers), start_s=0.0, finish_s=finish_s))
    for name, job in snapshot.queued.items():
        if name in planned.left:
            jobs.append(_status(job, "left", servers={}, reason=str(planned.left[name])))
            continue
        entry = times[name]
        servers = {server: len(held) for server, held in entry.gpus.items()}
        jobs.append(_status(job, "queued", servers=servers, start_s=entry.start_s, finish_s=entry.finish_s))
    return Status(
        partition=snapshot.reading.partition,
        policy=planner.policy,
        # From now on, which may be before the first job can start.
        makespan_s=max((entry.finish_s for entry in planned.plan.jobs), default=0.0),
        servers=_servers(snapshot),
        jobs=(*jobs, *_left(snapshot)),
        shared_links=now.links,
    )


def _status(job: OurJob, phase: str, **more: object) -> JobStatus:
    return JobStatus(
        id=job.slurm.id,
        origin=job.wish.origin,
        name=job.slurm.name,
        user=job.slurm.user,
        phase=phase,
        gpus=job.wish.job.gpus,
        **more,  # type: ignore[arg-type]
    )


def _left(snapshot: Snapshot) -> list[JobStatus]:
    by_id = {job.id: job for job in snapshot.reading.jobs}
    return [
        JobStatus(
            id=job_id,
            origin=None,
            name=by_id[job_id].name,
            user=by_id[job_id].user,
            phase="left",
            gpus=None,
            servers={},
            reason=reason,
        )
        for job_id, reason in snapshot.left.items()
    ]


def _servers(snapshot: Snapshot) -> tuple[ServerStatus, ...]:
    held: dict[str, int] = {}
    for job in snapshot.scenario.jobs:
        for name, gpus in (job.running_on or {}).items():
            held[name] = held.get(name, 0) + len(gpus)
    unavailable = {server.name: len(server.unavailable) for server in snapshot.scenario.cluster.servers}
    return tuple(
        ServerStatus(
            name=node.name,
            gpus=node.gpus,
            held=held.get(node.name, 0),
            unavailable=unavailable[node.name],
            state=node.state,
            reason=node.reason,
        )
        for node in snapshot.reading.nodes
    )


def _ahead(moment_s: int | None, now_s: float) -> float | None:
    return None if moment_s is None else moment_s - now_s
