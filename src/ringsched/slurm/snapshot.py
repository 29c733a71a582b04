"""The cluster at one moment, as a scenario whose time 0 is now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringsched.model import Job, Placement, Scenario
from ringsched.slurm.commands import Commands
from ringsched.slurm.comment import job_name
from ringsched.slurm.gpus import Gpus
from ringsched.slurm.jobs import SlurmJob, read_jobs
from ringsched.slurm.network import Network
from ringsched.slurm.nodes import Node, read_nodes
from ringsched.slurm.progress import Stint, counted, done_iterations, placed_somewhere
from ringsched.slurm.queue import OurJob, Sorted, sort_jobs
from ringsched.slurm.topology import read_racks

# The end of someone else's job that is farther away is none: those GPUs are not counted on.
_NEVER_S = 30 * 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What Slurm said, and when."""

    now_s: float
    partition: str
    nodes: tuple[Node, ...]
    racks: Mapping[str, str]
    jobs: tuple[SlurmJob, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Astray:
    """A job that was released but cannot start; `in_vain` if nothing we know of is in its way."""

    job: OurJob
    reason: str
    in_vain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What Slurm said, understood.

    Parameters
    ----------
    scenario
        Jobs that run or were released first, with `running_on`, then those to be planned.
    queued
        The jobs to be planned by their name in the scenario.
    progress
        Of every running job of ours: iterations behind it, not rounded.
    astray
        Jobs that were released to where they cannot start.
    left
        Ours that are left alone, by id, each with the reason.
    """

    reading: Reading
    sorted: Sorted
    scenario: Scenario
    queued: Mapping[str, OurJob]
    progress: Mapping[str, float]
    astray: tuple[Astray, ...]
    left: Mapping[int, str]


def read_slurm(commands: Commands, partition: str, now_s: float) -> Reading:
    """Ask Slurm for nodes, switches and jobs."""
    nodes = read_nodes(commands, partition)
    racks = read_racks(commands, [node.name for node in nodes])
    jobs = read_jobs(commands)
    return Reading(now_s=now_s, partition=partition, nodes=nodes, racks=racks, jobs=jobs)


def snapshot_of(reading: Reading, network: Network, start_timeout_s: float = 60.0) -> Snapshot:
    """Return the scenario of what was read.

    Parameters
    ----------
    start_timeout_s
        How long a released job may wait for Slurm to start it.
    """
    sorted_jobs = sort_jobs(reading.jobs, reading.partition, reading.now_s)
    gpus = Gpus(reading.nodes, reading.racks)
    running = [job for job in sorted_jobs.running if gpus.hold(job.slurm.id, job.slurm.placement)]
    others = [job for job in sorted_jobs.others if gpus.hold(job.id, job.placement)]
    for other in others:
        if _never_ends(other, reading.now_s):
            gpus.close(other.id)
    gpus.close_unusable()
    unseen = gpus.hold_unseen()  # asked before the released are let in
    astray, released = [], []
    for job in sorted_jobs.released:
        if found := _astray(job, gpus, reading.now_s, start_timeout_s):
            astray.append(found)
        else:
            gpus.claim(job.slurm.id, job.note.servers)
            released.append(job)
    cluster = network.cluster(gpus.servers())
    progress = done_iterations(
        [*_stints(running, gpus), *_stints_over(sorted_jobs.finished, gpus)],
        cluster,
        network.contention,
        reading.now_s,
    )
    fixed = [
        *(_running(job, gpus.held_by(job.slurm.id), progress[job.name]) for job in running),
        *(_running(job, gpus.held_by(job.slurm.id), 0.0) for job in released),
        *(_other(job, gpus.held_by(job.id), reading.now_s) for job in others if gpus.holds(job.id)),
        *(_known_by_end(f"on-{node}", {node: held}, 1.0) for node, held in unseen.items()),
    ]
    left = dict(sorted_jobs.left)
    queued = {}
    for job in sorted_jobs.queued:
        if job.wish.job.gpus > cluster.capacity:
            left[job.slurm.id] = f"needs {job.wish.job.gpus} GPUs, {cluster.capacity} can be used now"
        else:
            queued[job.name] = job
    waiting = [
        job.wish.job.replace(submit_s=max(0.0, job.slurm.eligible_s - reading.now_s))
        for job in queued.values()
    ]
    scenario = Scenario(
        cluster=cluster, contention=network.contention, time=network.time, jobs=(*fixed, *waiting)
    )
    return Snapshot(
        reading=reading,
        sorted=sorted_jobs,
        scenario=scenario,
        queued=queued,
        progress=progress,
        astray=tuple(astray),
        left=left,
    )


def _astray(job: OurJob, gpus: Gpus, now_s: float, start_timeout_s: float) -> Astray | None:
    if job.slurm.eligible_s > now_s + 1:
        return Astray(job=job, reason="Slurm has requeued it", in_vain=False)
    if problem := gpus.why_no_room(job.note.servers):
        return Astray(job=job, reason=problem, in_vain=False)
    if now_s - (job.note.released_s or now_s) > start_timeout_s:
        reason = f"did not start within {start_timeout_s:g} s ({job.slurm.reason})"
        return Astray(job=job, reason=reason, in_vain=True)
    return None


def _running(job: OurJob, held: Mapping[str, Sequence[int]], done: float) -> Job:
    placement = Placement(held)
    if placement.num_gpus != job.wish.job.gpus:  # its owner let it run in another shape than it says
        return job.wish.job.replace(gpus=placement.num_gpus, running_on=placement)
    return job.wish.job.replace(running_on=placement, done_iterations=counted(job.wish.job, done))


def _other(job: SlurmJob, held: Mapping[str, Sequence[int]], now_s: float) -> Job:
    """Return a job of which only its limit is known."""
    return _known_by_end(job_name(job.id), held, max(1.0, job.end_s - now_s))


def _known_by_end(name: str, held: Mapping[str, Sequence[int]], left_s: float) -> Job:
    """Return a running job of one iteration, as long as it still takes."""
    placement = Placement(held)
    return Job(
        name=name,
        gpus=placement.num_gpus,
        iterations=1,
        gradient_mb=0.0,
        minibatch=1,
        forward_ms=0.0,
        backward_ms=left_s * 1e3,
        running_on=placement,
    )


def _never_ends(job: SlurmJob, now_s: float) -> bool:
    """Whether nobody knows when someone else's job ends."""
    return not job.end_s or job.end_s - now_s > _NEVER_S


def _stints(jobs: Sequence[OurJob], gpus: Gpus) -> list[Stint]:
    return [
        Stint(
            job=job.wish.job,
            start_s=float(job.slurm.start_s),
            end_s=None,
            gpus=Placement(gpus.held_by(job.slurm.id)),
        )
        for job in jobs
    ]


def _stints_over(jobs: Sequence[OurJob], gpus: Gpus) -> list[Stint]:
    """Return where jobs were that are over; Slurm forgets their GPUs, the note has them."""
    return [
        Stint(
            job=job.wish.job,
            start_s=float(job.slurm.start_s),
            end_s=float(job.slurm.end_s),
            gpus=placed_somewhere(job.note.servers),
        )
        for job in jobs
        if job.note.servers and gpus.know(job.note.servers) and job.slurm.end_s > job.slurm.start_s > 0
    ]
