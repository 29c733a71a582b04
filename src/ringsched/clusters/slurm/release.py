"""Gives a held job its placement and releases it to Slurm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringsched.clusters.slurm.commands import Commands, owner_of
from ringsched.clusters.slurm.comments import Note, note_text
from ringsched.clusters.slurm.placements import components
from ringsched.clusters.slurm.queue import OurJob
from ringsched.clusters.slurm.resubmission import resubmit, write_ring
from ringsched.clusters.slurm.snapshot import Astray
from ringsched.errors import AdapterError

RETRY_S = 600  # how long a refused job is left alone


def release(
    commands: Commands,
    ours: OurJob,
    servers: Mapping[str, int],
    *,
    order: Sequence[str],
    now_s: float,
    finish_s: float,
) -> str:
    """Place and release a job whose GPUs are free; return its id, a new one if it had to be resubmitted.

    Parameters
    ----------
    servers
        How many GPUs on each server, in ring order.
    order
        All nodes in Slurm's order.
    finish_s
        When it is predicted to end.
    """
    job, parts = ours.slurm, components(servers, order)
    note = note_text(Note(servers=dict(servers), released_s=int(now_s), finish_s=round(finish_s)), job.note)
    owner = owner_of(job.user_id, job.group_id)
    if ours.request.saved is not None and owner.is_reachable:
        write_ring(commands, owner, ours.request.saved, servers)
    if dict(job.wanted) == dict(servers) and job.is_heterogeneous:
        job_id = str(job.id)  # it already has this shape
        shape: list[str] = []
    elif len(parts) == 1 and not job.is_heterogeneous:
        job_id = str(job.id)
        part = parts[0]
        shape = [
            f"NumNodes={len(part.servers)}",
            f"ReqNodeList={','.join(part.servers)}",
            f"TasksPerNode={part.gpus_each}",
        ]
    else:
        job_id = resubmit(commands, ours, owner, parts, order)
        shape = []
    commands.tell("scontrol", "update", f"jobid={job_id}", *shape, f"AdminComment={note}")
    commands.tell("scontrol", "release", job_id)
    return job_id


def take_back(commands: Commands, astray: Astray, *, now_s: float) -> None:
    """Hold a job again that was released but cannot start."""
    commands.tell("scontrol", "uhold", str(astray.job.slurm.id))
    if astray.in_vain:
        leave_alone(commands, astray.job, astray.reason, now_s=now_s)


def leave_alone(commands: Commands, ours: OurJob, reason: str, *, now_s: float) -> None:
    """Record why a job could not start and when it may be tried again, visible to its owner."""
    note = Note(refused=reason, refused_until_s=int(now_s) + RETRY_S)
    text = note_text(note, ours.slurm.note)
    try:
        commands.tell("scontrol", "update", f"jobid={ours.slurm.id}", f"AdminComment={text}")
    except AdapterError as error:
        if not error.refused:  # it is gone
            raise
