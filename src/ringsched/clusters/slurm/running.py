"""Running jobs of a Slurm cluster as jobs of a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringsched.clusters.gpus import Gpus
from ringsched.clusters.progress import counted, known_by_end
from ringsched.clusters.slurm.comments import job_name
from ringsched.clusters.slurm.jobs import SlurmJob
from ringsched.clusters.slurm.queue import OurJob
from ringsched.contention.over_time import Stay
from ringsched.model import Job, Placement

# A later end of another user's job counts as unknown, and its GPUs as unavailable.
_NEVER_S = 30 * 86400
_MOMENT_S = 1e-3  # Slurm's clock has whole seconds: a start may seem to lie ahead


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


def stay_until(ours: OurJob, held: Mapping[str, Sequence[int]], now_s: float) -> Stay:
    """Return where a job is since its start."""
    start_s = float(ours.slurm.start_s)
    return Stay(ours.job, start_s, max(now_s, start_s + _MOMENT_S), Placement(held))


def stays_over(jobs: Sequence[OurJob], gpus: Gpus) -> list[Stay]:
    """Return where finished jobs were, from their notes, because Slurm forgets it; not on which GPUs."""
    return [
        Stay(ours.job, float(ours.slurm.start_s), float(ours.slurm.end_s), _somewhere(ours.note.servers))
        for ours in jobs
        if ours.note.servers and gpus.know(ours.note.servers) and ours.slurm.end_s > ours.slurm.start_s > 0
    ]


def _somewhere(counts: Mapping[str, int]) -> Placement:
    return Placement({server: range(count) for server, count in counts.items()})
