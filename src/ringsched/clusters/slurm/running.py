"""Running jobs of a Slurm cluster as jobs of a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringsched.clusters.gpus import Gpus
from ringsched.clusters.progress import Stint, counted, known_by_end, placed_somewhere
from ringsched.clusters.slurm.comments import job_name
from ringsched.clusters.slurm.jobs import SlurmJob
from ringsched.clusters.slurm.queue import OurJob
from ringsched.model import Job, Placement

# A later end of another user's job counts as unknown, and its GPUs as unavailable.
_NEVER_S = 30 * 86400


def running_job(ours: OurJob, held: Mapping[str, Sequence[int]], done: float, now_s: float) -> Job:
    """Return a job of ours on its GPUs; Slurm ends it at its time limit."""
    placement = Placement(held)
    # Its owner may have started it in another shape; then its progress is not known.
    known = counted(ours.job, done) if placement.num_gpus == ours.job.gpus else 0
    return ours.job.replace(
        gpus=placement.num_gpus,
        running_on=placement,
        done_iterations=known,
        limit_s=_limit_s(ours.slurm, now_s),
    )


def _limit_s(job: SlurmJob, now_s: float) -> float | None:
    return None if not job.holding or never_ends(job, now_s) else max(1.0, job.end_s - now_s)


def others_job(job: SlurmJob, held: Mapping[str, Sequence[int]], now_s: float) -> Job:
    """Return a job of which only its limit is known."""
    return known_by_end(job_name(job.id), held, max(1.0, job.end_s - now_s))


def never_ends(job: SlurmJob, now_s: float) -> bool:
    """Whether Slurm does not know when a job ends."""
    return not job.end_s or job.end_s - now_s > _NEVER_S


def stints(jobs: Sequence[OurJob], gpus: Gpus) -> list[Stint]:
    """Return since when and where jobs run."""
    return [
        Stint(
            job=ours.job,
            start_s=float(ours.slurm.start_s),
            end_s=None,
            gpus=Placement(gpus.held_by(ours.slurm.id)),
        )
        for ours in jobs
    ]


def stints_over(jobs: Sequence[OurJob], gpus: Gpus) -> list[Stint]:
    """Return the placements of finished jobs from their notes, because Slurm forgets them."""
    return [
        Stint(
            job=ours.job,
            start_s=float(ours.slurm.start_s),
            end_s=float(ours.slurm.end_s),
            gpus=placed_somewhere(ours.note.servers),
        )
        for ours in jobs
        if ours.note.servers and gpus.know(ours.note.servers) and ours.slurm.end_s > ours.slurm.start_s > 0
    ]
