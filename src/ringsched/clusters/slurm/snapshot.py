"""A Slurm cluster at one moment, as a scenario whose time 0 is now."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from ringsched.clusters.controller import SetAside, Snapshot, TakeBack
from ringsched.clusters.gpus import Gpus
from ringsched.clusters.network import Network
from ringsched.clusters.planning import MOST_PLANNED, with_possible
from ringsched.clusters.progress import counted, done_iterations, known_by_end
from ringsched.clusters.slurm.commands import Commands
from ringsched.clusters.slurm.comments import job_name
from ringsched.clusters.slurm.eligibility import Eligible, Surroundings, eligible, labels_of
from ringsched.clusters.slurm.jobs import SlurmJob, read_jobs
from ringsched.clusters.slurm.nodes import SlurmNode, read_nodes, read_topology
from ringsched.clusters.slurm.priorities import Priorities, read_priorities
from ringsched.clusters.slurm.queue import OurJob, Sorted, sort_jobs
from ringsched.clusters.slurm.requests import Request
from ringsched.clusters.slurm.site import Reservation, Site, read_site
from ringsched.contention.over_time import Stay
from ringsched.errors import InputError
from ringsched.formats.topologies.topology import Topology
from ringsched.model import Job, Placement, Scenario

# Of a released job: Slurm will not start it soon, whatever ends.
_REFUSALS = ("Assoc", "BadConstraints", "Invalid", "Licenses", "Partition", "QOS", "Reservation")
# Slurm says ReqNodeNotAvail for a moment also when a node comes back, or before it tries another partition.
_MOMENT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The output of Slurm, and its time."""

    now_s: float
    partitions: tuple[str, ...]
    nodes: tuple[SlurmNode, ...]
    topology: Topology
    jobs: tuple[SlurmJob, ...]
    site: Site
    priorities: Priorities = field(default_factory=Priorities)


def read_slurm(commands: Commands, partitions: Sequence[str], now_s: float) -> Reading:
    """Read nodes, switches, partitions, reservations and jobs from Slurm."""
    nodes = read_nodes(commands, partitions)
    site = read_site(commands)
    return Reading(
        now_s=now_s,
        partitions=tuple(partitions),
        nodes=nodes,
        topology=read_topology(commands, [node.name for node in nodes]),
        site=site,
        priorities=read_priorities(commands, site),
        jobs=read_jobs(commands),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A held job that can be planned: what it asks for, where it may run, and its class."""

    ours: OurJob
    request: Request
    choice: Eligible
    priority: int

    def in_scenario(self, label: str | None, now_s: float) -> Job:
        """Return the job of a scenario; `label` marks the servers it may use, None if all."""
        limit_s = self.choice.limit_s
        return self.ours.job.replace(
            submit_s=max(0.0, self.ours.slurm.eligible_s - now_s),
            requires={label: "yes"} if label else {},
            layout="balanced",
            servers=self.choice.servers,
            limit_s=None if math.isinf(limit_s) else limit_s,
            priority=self.priority,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmSnapshot(Snapshot):
    """The parsed state of Slurm.

    Parameters
    ----------
    queued
        The jobs to be planned by their name in the scenario.
    progress
        Completed iterations of every running job of ours, not rounded.
    """

    reading: Reading
    sorted: Sorted
    queued: Mapping[str, Waiting]
    progress: Mapping[str, float]

    @property
    def is_idle(self) -> bool:
        """Whether no job of ours waits or runs; those held for another reason do not count."""
        if self.queued or self.astray or self.sorted.released or self.sorted.running:
            return False
        # A dependency may still be fulfilled, unless the other job has failed.
        return not any(
            reason.startswith("waits for") and "(failed)" not in reason for reason in self.left.values()
        )


def snapshot_of(reading: Reading, network: Network, start_timeout_s: float = 60.0) -> SlurmSnapshot:
    """Return the scenario of what was read.

    Parameters
    ----------
    start_timeout_s
        How long a released job may wait for Slurm to start it.
    """
    now_s, jobs = reading.now_s, sort_jobs(reading.jobs, reading.now_s)
    gpus = Gpus(reading.nodes, reading.topology.switch_of)
    running = [job for job in jobs.running if gpus.hold(job.slurm.id, job.slurm.placement)]
    others = [job for job in jobs.others if gpus.hold(job.id, job.placement)]
    for other in others:
        if other.left_s(now_s) is None:
            gpus.close(other.id)
    gpus.close_unusable()
    unseen = gpus.hold_unseen()  # checked before released jobs are added
    astray: list[TakeBack | SetAside] = [
        SetAside(name=job.name, reason="Slurm refuses its nodes (BadConstraints)")
        for job in jobs.queued
        if job.slurm.reason == "BadConstraints" and job.note.released_s
    ]
    released = []
    for job in jobs.released:
        if found := _astray(job, gpus, now_s, start_timeout_s):
            astray.append(found)
        else:
            gpus.claim(job.slurm.id, job.note.servers)
            released.append(job)
    refused = {decision.name for decision in astray}
    waiting, left = _sorted_out(
        (job for job in jobs.queued if job.name not in refused), reading, gpus.capacity()
    )
    labels = labels_of((job.choice.nodes for job in waiting), [node.name for node in reading.nodes])
    on_node = {
        node.name: [label for nodes, label in labels.items() if node.name in nodes] for node in reading.nodes
    }
    cluster = network.cluster(
        gpus.servers(on_node, windows_of(reading.site.reservations, now_s)), reading.topology.parent_of
    )
    stays = [_stay(job, gpus.held_by(job.slurm.id), now_s) for job in running]
    # Slurm forgets where finished jobs were. Their notes know on how many GPUs of a node, but not on which.
    over = [
        _stay(job, {name: range(count) for name, count in job.note.servers.items()}, job.slurm.end_s)
        for job in jobs.finished
        if job.note.servers and gpus.know(job.note.servers) and job.slurm.end_s > job.slurm.start_s > 0
    ]
    progress = done_iterations(stays, over, cluster, network.contention)
    fixed = [
        *(_running(job, gpus.held_by(job.slurm.id), progress[job.name], now_s) for job in running),
        *(_running(job, gpus.held_by(job.slurm.id), 0.0, now_s) for job in released),
        *(
            known_by_end(job_name(job.id), gpus.held_by(job.id), job.left_s(now_s) or 1.0)
            for job in others
            if gpus.holds(job.id)
        ),
        *(known_by_end(f"on-{node}", {node: held}, 1.0) for node, held in unseen.items()),
    ]
    empty = Scenario(cluster=cluster, contention=network.contention, time=network.time)
    planned = [job.in_scenario(labels.get(job.choice.nodes), now_s) for job in waiting]
    scenario = with_possible(empty, fixed, planned, left)
    names = {job.name for job in scenario.jobs}
    return SlurmSnapshot(
        now_s=now_s,
        scenario=scenario,
        astray=tuple(astray),
        left={job_name(job_id): reason for job_id, reason in jobs.left.items()} | left,
        reading=reading,
        sorted=jobs,
        queued={job.ours.name: job for job in waiting if job.ours.name in names},
        progress=progress,
    )


def _stay(ours: OurJob, held: Mapping[str, Sequence[int]], until_s: float) -> Stay:
    """Return where a job is since its start, which may seem to lie ahead: Slurm counts whole seconds."""
    start_s = float(ours.slurm.start_s)
    return Stay(ours.job, start_s, max(until_s, start_s + 1e-3), Placement(held))


def _running(ours: OurJob, held: Mapping[str, Sequence[int]], done: float, now_s: float) -> Job:
    """Return a job of ours on its GPUs; Slurm ends it at its time limit."""
    placement = Placement(held)
    # Its owner may have started it in another shape; then its progress is not known.
    known = counted(ours.job, done) if placement.num_gpus == ours.job.gpus else 0
    return ours.job.replace(
        gpus=placement.num_gpus,
        running_on=placement,
        done_iterations=known,
        limit_s=ours.slurm.left_s(now_s) if ours.slurm.holding else None,
    )


def _sorted_out(
    jobs: Iterable[OurJob], reading: Reading, capacity: Mapping[str, int]
) -> tuple[list[Waiting], dict[str, str]]:
    """Return the jobs that can be planned, and by name why others cannot.

    Only so many jobs of a class and a set of nodes are planned; comments of later ones are not even read.
    """
    site = reading.site
    around = Surroundings(
        now_s=reading.now_s,
        nodes=reading.nodes,
        capacity=capacity,
        partitions={name: site.partitions[name] for name in reading.partitions if name in site.partitions},
        reservations=site.reservations,
        shares_memory=site.shares_memory,
    )

    @cache  # a queue has few kinds of jobs
    def choice_of(request: Request, partitions: str) -> Eligible | InputError:
        try:
            return eligible(request, partitions.split(","), around)
        except InputError as error:
            return error

    count: Counter[tuple[frozenset[str], int]] = Counter()
    found: list[Waiting] = []
    left: dict[str, str] = {}
    for job in jobs:
        try:
            request = job.request()
            if isinstance(choice := choice_of(request, job.slurm.partition), InputError):
                raise choice
            kind = (choice.nodes, reading.priorities.of(job.slurm, choice.partition))
            if count[kind] == MOST_PLANNED:
                left[job.name] = "too many jobs wait before it"
                continue
            if request.gpus != job.job.gpus:
                raise InputError(f"asks for {request.gpus} GPUs, but its comment has {job.job.gpus}")
        except InputError as error:
            left[job.name] = str(error)
            continue
        count[kind] += 1
        found.append(Waiting(ours=job, request=request, choice=choice, priority=kind[1]))
    return found, left


def windows_of(reservations: Iterable[Reservation], now_s: float) -> dict[str, list[tuple[float, float]]]:
    """Return when each node will be reserved, in seconds from now.

    What is reserved already concerns the choice of nodes, since jobs of the reservation may run there.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for each in reservations:
        for node in each.nodes if each.start_s > now_s else ():
            found.setdefault(node, []).append((each.start_s - now_s, each.end_s - now_s))
    return found


def _astray(job: OurJob, gpus: Gpus, now_s: float, patience_s: float) -> TakeBack | SetAside | None:
    if job.slurm.eligible_s > now_s + 1:
        return TakeBack(name=job.name, reason="Slurm has requeued it")
    if problem := gpus.why_no_space(job.note.servers):
        return TakeBack(name=job.name, reason=problem)
    waited_s = now_s - (job.note.released_s or now_s)
    if job.slurm.reason.startswith(_REFUSALS) or (
        waited_s > _MOMENT_S and job.slurm.reason.startswith("ReqNodeNotAvail")
    ):
        return SetAside(name=job.name, reason=f"Slurm does not start it ({job.slurm.reason})")
    if waited_s > patience_s:
        reason = f"did not start within {patience_s:g} s ({job.slurm.reason})"
        return SetAside(name=job.name, reason=reason)
    return None
