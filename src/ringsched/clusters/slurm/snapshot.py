"""The cluster at one moment, as a scenario whose time 0 is now; how far running jobs are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ringsched.clusters.slurm.commands import Commands
from ringsched.clusters.slurm.jobs import SlurmJob, read_jobs
from ringsched.clusters.slurm.network import Network, Node, read_nodes, read_topology
from ringsched.clusters.slurm.placements import Gpus
from ringsched.clusters.slurm.queue import OurJob, Sorted, sort_jobs
from ringsched.clusters.slurm.running import (
    done_iterations,
    known_by_end,
    never_ends,
    others_job,
    running_job,
    stints,
    stints_over,
)
from ringsched.errors import InputError
from ringsched.formats.topologies.topology import Topology
from ringsched.model import Cluster, Job, Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The output of Slurm, and its time."""

    now_s: float
    partition: str
    nodes: tuple[Node, ...]
    topology: Topology
    jobs: tuple[SlurmJob, ...]


def read_slurm(commands: Commands, partition: str, now_s: float) -> Reading:
    """Read nodes, switches and jobs from Slurm."""
    nodes = read_nodes(commands, partition)
    topology = read_topology(commands, [node.name for node in nodes])
    jobs = read_jobs(commands)
    return Reading(now_s=now_s, partition=partition, nodes=nodes, topology=topology, jobs=jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Astray:
    """A job that was released but cannot start; `in_vain` if no known job blocks it."""

    job: OurJob
    reason: str
    in_vain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The parsed state of Slurm.

    Parameters
    ----------
    scenario
        Jobs that run or were released first, with `running_on`, then those to be planned.
    queued
        The jobs to be planned by their name in the scenario.
    progress
        Completed iterations of every running job of ours, not rounded.
    astray
        Released jobs that cannot start on their servers.
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


def snapshot_of(reading: Reading, network: Network, start_timeout_s: float = 60.0) -> Snapshot:
    """Return the scenario of what was read.

    Parameters
    ----------
    start_timeout_s
        How long a released job may wait for Slurm to start it.
    """
    sorted_jobs = sort_jobs(reading.jobs, reading.partition, reading.now_s)
    gpus = Gpus(reading.nodes, reading.topology.switch_of)
    running = [job for job in sorted_jobs.running if gpus.hold(job.slurm.id, job.slurm.placement)]
    others = [job for job in sorted_jobs.others if gpus.hold(job.id, job.placement)]
    for job in running:  # some components of a heterogeneous job may not have started yet
        missing = {name: count for name, count in job.note.servers.items() if name not in job.slurm.placement}
        if not gpus.why_no_space(missing):
            gpus.claim(job.slurm.id, missing)
    for other in others:
        if never_ends(other, reading.now_s):
            gpus.close(other.id)
    gpus.close_unusable()
    unseen = gpus.hold_unseen()  # checked before released jobs are added
    astray, released = [], []
    # Heterogeneous jobs may have to wait for each other: Slurm starts them one by one.
    patience_s = start_timeout_s * max(1, len(sorted_jobs.released))
    for job in sorted_jobs.released:
        if found := _astray(job, gpus, reading.now_s, patience_s):
            astray.append(found)
        else:
            gpus.claim(job.slurm.id, job.note.servers)
            released.append(job)
    cluster = network.cluster(gpus.servers(), reading.topology.parent_of)
    progress = done_iterations(
        [*stints(running, gpus), *stints_over(sorted_jobs.finished, gpus)],
        cluster,
        network.contention,
        reading.now_s,
    )
    fixed = [
        *(running_job(job, gpus.held_by(job.slurm.id), progress[job.name]) for job in running),
        *(running_job(job, gpus.held_by(job.slurm.id), 0.0) for job in released),
        *(others_job(job, gpus.held_by(job.id), reading.now_s) for job in others if gpus.holds(job.id)),
        *(known_by_end(f"on-{node}", {node: held}, 1.0) for node, held in unseen.items()),
    ]
    left = dict(sorted_jobs.left)
    queued, waiting = {}, []
    for job in sorted_jobs.queued:
        later = job.request.job.replace(submit_s=max(0.0, job.slurm.eligible_s - reading.now_s))
        if reason := _why_unplannable(later, cluster, network):
            left[job.slurm.id] = reason
        else:
            queued[job.name] = job
            waiting.append(later)
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


def _astray(job: OurJob, gpus: Gpus, now_s: float, patience_s: float) -> Astray | None:
    if job.slurm.eligible_s > now_s + 1:
        return Astray(job=job, reason="Slurm has requeued it", in_vain=False)
    if problem := gpus.why_no_space(job.note.servers):
        return Astray(job=job, reason=problem, in_vain=False)
    waited_s = now_s - (job.note.released_s or now_s)
    if waited_s > patience_s:
        reason = f"did not start within {patience_s:g} s ({job.slurm.reason})"
        return Astray(job=job, reason=reason, in_vain=True)
    return None


def _why_unplannable(job: Job, cluster: Cluster, network: Network) -> str:
    """Return why a job cannot be in a scenario, so that it does not block other jobs; None if it can."""
    if job.gpus > cluster.capacity:
        return f"needs {job.gpus} GPUs, but {cluster.capacity} are available now"
    try:
        Scenario(cluster=cluster, time=network.time, jobs=(job,))
    except InputError as error:
        return str(InputError(error.problem, field=error.field))
    return ""
