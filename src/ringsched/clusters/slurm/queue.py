"""Which jobs can be planned, and why other jobs cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ringsched.clusters.slurm.comments import JobRequest, Note, is_ours, parse_comment, parse_note
from ringsched.clusters.slurm.jobs import SlurmJob
from ringsched.clusters.slurm.values import gpu_count, number, string
from ringsched.errors import InputError

# After too many failed starts, or without its reservation: not for us to release.
_HELD_BY_SLURM = {"JobHoldMaxRequeue", "ReservationDeleted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OurJob:
    """A job of Slurm whose comment we understand."""

    slurm: SlurmJob
    request: JobRequest
    note: Note

    @property
    def name(self) -> str:
        """Its name in scenarios."""
        return self.request.job.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """All jobs of a partition by category.

    Parameters
    ----------
    queued
        Held, to be planned, in the order of submission.
    released
        Given to Slurm with a placement, not yet on its GPUs.
    running, finished
        Ours on their GPUs, and ours that are over.
    others
        Jobs of other users or without a comment, on GPUs.
    left
        Ours that are left alone, by id, each with the reason.
    """

    queued: tuple[OurJob, ...]
    released: tuple[OurJob, ...]
    running: tuple[OurJob, ...]
    finished: tuple[OurJob, ...]
    others: tuple[SlurmJob, ...]
    left: Mapping[int, str]


def sort_jobs(jobs: Iterable[SlurmJob], partition: str, now_s: float) -> Sorted:
    """Sort jobs into categories; an invalid comment never affects other jobs."""
    queued: list[OurJob] = []
    released: list[OurJob] = []
    running, finished, others = [], [], []
    left: dict[int, str] = {}
    for job in sorted(jobs, key=lambda job: (job.submit_s, job.id)):
        if not is_ours(job.comment):
            others += [job] if job.holding else []
            continue
        try:
            ours = OurJob(slurm=job, request=parse_comment(job.comment, job.id), note=parse_note(job.note))
        except InputError as error:
            if job.holding:
                others.append(job)
            elif not job.done:
                left[job.id] = str(error)
            continue
        if job.done:
            finished.append(ours)
        elif job.holding:
            running.append(ours)
        elif reason := why_not(ours, partition, now_s):
            left[job.id] = reason
        else:
            (queued if job.held else released).append(ours)
    return Sorted(
        queued=tuple(queued),
        released=tuple(released),
        running=tuple(running),
        finished=tuple(finished),
        others=tuple(others),
        left=left,
    )


def why_not(ours: OurJob, partition: str, now_s: float) -> str:
    """Return why a waiting job cannot be planned; None if it can."""
    job, record = ours.slurm, ours.slurm.records[0]
    if job.partition != partition:
        return f"is in partition {job.partition}, not {partition}"
    if not job.held:
        return "" if ours.note.servers else "was released by another user; Slurm places it"
    if job.reason == "JobHeldAdmin":
        return "is held by an operator"
    if job.reason in _HELD_BY_SLURM:
        return f"is held by Slurm: {job.reason}"
    if number(record, "array_job_id"):
        return "is a job array; submit single jobs"
    if dependency := string(record, "dependency"):
        return f"waits for {dependency}"
    if any(gpu_count(string(part, "tres_per_task")) != 1 for part in job.records):
        return "does not ask for --gpus-per-task=1"
    if any(gpu_count(string(part, key)) for part in job.records for key in ("tres_per_node", "tres_per_job")):
        return "asks for GPUs by node or by job beside --gpus-per-task=1"
    if job.tasks != ours.request.job.gpus:
        return (
            f"has {job.tasks} tasks, but its comment has {ours.request.job.gpus} GPUs; use one task per GPU"
        )
    if not job.is_heterogeneous and number(record, "max_nodes"):
        return "asks for a number of nodes; leave it to the plan"
    # Slurm itself excludes the nodes of the other components of a heterogeneous job.
    if not job.is_heterogeneous and string(record, "excluded_nodes"):
        return "excludes nodes; leave them to the plan"
    if (ours.note.refused_until_s or 0) > now_s:
        return f"will be tried again later: {ours.note.refused}"
    return ""
