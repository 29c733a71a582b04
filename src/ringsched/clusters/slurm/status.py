"""Queue, running jobs, contention and the plan ahead, for people and programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringsched.clusters.slurm.controller import Planner
from ringsched.clusters.slurm.queue import OurJob
from ringsched.clusters.slurm.running import never_ends
from ringsched.clusters.slurm.snapshot import Snapshot
from ringsched.contention.fabric import fabric_of
from ringsched.contention.iteration_time import work_of
from ringsched.model import Placement, Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLink:
    """The uplink of a server or a switch that several jobs cross; each has at least 1/factor of it."""

    name: str
    jobs: int
    factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentionNow:
    """Links with more than one job, and how much longer an iteration of each job takes than alone."""

    links: tuple[SharedLink, ...]
    slowdown: dict[str, float]


def contention_now(scenario: Scenario) -> ContentionNow:
    """Return the contention among the jobs that run at time 0."""
    cluster, fabric = scenario.cluster, fabric_of(scenario.cluster, scenario.contention)
    index = {server.name: at for at, server in enumerate(cluster.servers)}
    rings = {
        job.name: fabric.ring(
            work_of(job, cluster),
            fabric.shape({index[name]: len(held) for name, held in job.running_on.items()}),
        )
        for job in scenario.jobs
        if job.running_on is not None
    }
    paces = fabric.iteration_times(rings)
    on_link = Counter(link for ring in rings.values() for link in ring.links)
    names = [*(server.name for server in cluster.servers), *(switch.name for switch in cluster.switches)]
    return ContentionNow(
        links=tuple(
            SharedLink(name=names[link], jobs=count, factor=fabric.model.factor(count))
            for link, count in sorted(on_link.items())
            if count > 1
        ),
        slowdown={
            name: pace.tau / fabric.alone_tau(rings[name].work, rings[name].shape)
            for name, pace in paces.items()
        },
    )


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
        Its finish as predicted at its release.
    done
        The completed share of its iterations, by the model; above 1 if it exceeds the prediction.
    slowdown
        Its iteration time relative to that without other jobs on its links.
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
            continue  # on nodes outside the partition
        jobs.append(
            _status(
                job,
                "running",
                servers={name: list(held) for name, held in placements[job.name].items()},
                start_s=job.slurm.start_s - now_s,
                finish_s=times[job.name].finish_s,
                predicted_finish_s=_ahead(job.note.finish_s, now_s),
                done=snapshot.progress[job.name] / job.request.job.iterations,
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
        origin=job.request.origin,
        name=job.slurm.name,
        user=job.slurm.user,
        phase=phase,
        gpus=job.request.job.gpus,
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
    in_use: Counter[str] = Counter()
    for job in snapshot.scenario.jobs:
        for name, gpus in (job.running_on or {}).items():
            in_use[name] += len(gpus)
    others: Counter[str] = Counter()
    endless: Counter[str] = Counter()  # in a scenario, their GPUs are unavailable
    for other in snapshot.sorted.others:
        for name, held in other.placement.items():
            others[name] += len(held)
            endless[name] += len(held) if never_ends(other, snapshot.reading.now_s) else 0
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


def _ahead(moment_s: int | None, now_s: float) -> float | None:
    return None if moment_s is None else moment_s - now_s
