"""After a crash: of a job and the one that was to take its place, exactly one stays.

Only jobs of one user are ever a pair: `origin` is in the comment, where anyone can write anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from ringsched.errors import InputError
from ringsched.slurm.comment import is_ours, parse_comment
from ringsched.slurm.jobs import SlurmJob
from ringsched.slurm.note import parse_note
from ringsched.slurm.values import string


def superfluous(jobs: Sequence[SlurmJob], partition: str) -> list[tuple[SlurmJob, str]]:
    """Return the jobs to be cancelled, each with the reason.

    Those of another partition may be in the hands of its own controller, in the middle of a resubmission.
    """
    by_id = {job.id: job for job in jobs}
    found = []
    for job in jobs:
        origin = by_id.get(origin_of(job) or 0)
        if job.partition != partition:
            continue
        if origin is None or origin.user_id != job.user_id or origin.id == job.id:
            continue
        if job.held:
            if origin.held and parse_note(origin.note).replaced_by == job.id:
                # Marked, so a cancellation of the old one may still be on its way: go on with the new one.
                found.append((origin, f"job {job.id} takes its place"))
            elif reason := _why_not(job, origin):
                found.append((job, reason))
        elif origin.held and _was_released(job):
            # By whomever: then the old one must never be.
            found.append((origin, f"job {job.id} has taken its place"))
    return found


def _why_not(job: SlurmJob, origin: SlurmJob) -> str:
    """Return why a held job does not take the place of `origin`; nothing if it does."""
    if not origin.done:
        return f"job {origin.id} has kept its place"
    replaced_by = parse_note(origin.note).replaced_by
    if replaced_by == job.id:
        return ""
    return f"job {origin.id} was cancelled" if replaced_by is None else f"job {replaced_by} took its place"


def _was_released(job: SlurmJob) -> bool:
    """Whether a job may run or has run; one that was cancelled while held never had nodes."""
    return job.waiting or job.holding or any(string(record, "nodes") for record in job.records)


def origin_of(job: SlurmJob) -> int | None:
    """Return the id of the job whose place this one takes, as its comment says."""
    if not is_ours(job.comment):
        return None
    try:
        return parse_comment(job.comment, job.id).origin
    except InputError:
        return None
