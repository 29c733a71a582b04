"""Jobs that are on their GPUs already: a plan leaves them there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringsched.model import Job, Placement
from ringsched.slurm.comment import job_name
from ringsched.slurm.gpus import Gpus
from ringsched.slurm.jobs import SlurmJob
from ringsched.slurm.progress import Stint, counted, placed_somewhere
from ringsched.slurm.queue import OurJob

# The end of someone else's job that is farther away is none: those GPUs are not counted on.
_NEVER_S = 30 * 86400


def running_job(job: OurJob, held: Mapping[str, Sequence[int]], done: float) -> Job:
    """Return a job of ours on its GPUs."""
    placement = Placement(held)
    if placement.num_gpus != job.wish.job.gpus:  # its owner let it run in another shape than it says
        return job.wish.job.replace(gpus=placement.num_gpus, running_on=placement)
    return job.wish.job.replace(running_on=placement, done_iterations=counted(job.wish.job, done))


def others_job(job: SlurmJob, held: Mapping[str, Sequence[int]], now_s: float) -> Job:
    """Return a job of which only its limit is known."""
    return known_by_end(job_name(job.id), held, max(1.0, job.end_s - now_s))


def known_by_end(name: str, held: Mapping[str, Sequence[int]], left_s: float) -> Job:
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


def never_ends(job: SlurmJob, now_s: float) -> bool:
    """Whether nobody knows when someone else's job ends."""
    return not job.end_s or job.end_s - now_s > _NEVER_S


def stints(jobs: Sequence[OurJob], gpus: Gpus) -> list[Stint]:
    """Return since when and where jobs run."""
    return [
        Stint(
            job=job.wish.job,
            start_s=float(job.slurm.start_s),
            end_s=None,
            gpus=Placement(gpus.held_by(job.slurm.id)),
        )
        for job in jobs
    ]


def stints_over(jobs: Sequence[OurJob], gpus: Gpus) -> list[Stint]:
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
