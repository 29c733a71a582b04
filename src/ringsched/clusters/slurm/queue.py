"""Which jobs can be planned, and why other jobs cannot."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ringsched.clusters.slurm.comments import Note, is_ours, job_name, parse_comment, parse_note
from ringsched.clusters.slurm.jobs import SlurmJob
from ringsched.clusters.slurm.requests import Request, request_of
from ringsched.clusters.slurm.values import expand, number, string
from ringsched.errors import InputError
from ringsched.model import Job

# After too many failed starts, or without its reservation: not for us to release.
_HELD_BY_SLURM = {"JobHoldMaxRequeue", "ReservationDeleted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OurJob:
    """A job of Slurm with a comment for us; that of a held job may still turn out to be wrong."""

    slurm: SlurmJob
    note: Note

    @property
    def name(self) -> str:
        """Its name in scenarios."""
        return job_name(self.slurm.id)

    @property
    def job(self) -> Job:
        """What its comment says, or an InputError."""
        return parse_comment(self.slurm.comment, self.slurm.id)

    def request(self) -> Request:
        """Return what its owner asked for, or raise an InputError if it cannot be planned.

        The controller's own changes do not count. If the owner has required other nodes since, these do.
        """
        before, record = self.note.before, self.slurm.record
        required = expand(string(record, "required_nodes"))
        if before is not None and required and set(required) != set(self.note.servers):
            before = {**before, "required": required}
        return request_of(record, before)


@dataclass(slots=True, kw_only=True)
class Sorted:
    """All jobs by category.

    Parameters
    ----------
    queued
        Held, to be planned, in the order of submission.
    released
        Given to Slurm with a placement, not yet on its GPUs.
    running, finished
        Ours on their GPUs, and ours that are over.
    others
        Jobs without a valid comment, on GPUs.
    left
        Ours that are left alone, by id, each with the reason.
    """

    queued: list[OurJob] = field(default_factory=list)
    released: list[OurJob] = field(default_factory=list)
    running: list[OurJob] = field(default_factory=list)
    finished: list[OurJob] = field(default_factory=list)
    others: list[SlurmJob] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)


def sort_jobs(jobs: Iterable[SlurmJob], now_s: float) -> Sorted:
    """Sort jobs into categories; an invalid comment never affects other jobs."""
    found = Sorted()
    in_array: Counter[int] = Counter()  # tasks that run or are about to
    jobs = sorted(jobs, key=lambda job: job.submit_s)
    by_id = {job.id: job for job in jobs}
    for job in jobs:
        if not is_ours(job.comment):
            found.others += [job] if job.holding else []
            continue
        ours = OurJob(slurm=job, note=parse_note(job.comment))
        try:
            if not job.held:
                parse_comment(job.comment, job.id)
        except InputError as error:
            if job.holding:
                found.others.append(job)
            elif not job.done:
                found.left[job.id] = str(error)
            continue
        in_array[job.array] += job.holding or job.waiting
        if job.done:
            found.finished.append(ours)
        elif job.holding:
            found.running.append(ours)
        elif reason := why_not(ours, now_s, by_id):
            found.left[job.id] = reason
        else:
            (found.queued if job.held else found.released).append(ours)
    for ours in found.queued:
        array, limit = ours.slurm.array, ours.slurm.array_limit
        in_array[array] += 1
        if array and limit and in_array[array] > limit:
            found.left[ours.slurm.id] = f"waits for other tasks of its array, which runs {limit} at a time"
    found.queued = [ours for ours in found.queued if ours.slurm.id not in found.left]
    return found


def why_not(ours: OurJob, now_s: float, jobs: Mapping[str, SlurmJob]) -> str:
    """Return why a waiting job cannot be planned; nothing if it can. `jobs` has all jobs by id."""
    job = ours.slurm
    if number(job.record, "het_job_id"):
        return "is a heterogeneous job; submit it as one job with --gpus"
    if not job.held:
        return "" if ours.note.servers else "was released by its owner; Slurm places it"
    if open_dependency := unfulfilled(job, jobs):
        return f"waits for {open_dependency}"
    if job.reason == "JobHeldAdmin":
        return "is held by an operator"
    if job.reason in _HELD_BY_SLURM:
        return f"is held by Slurm: {job.reason}"
    if (ours.note.refused_until_s or 0) > now_s:
        return f"will be tried again later: {ours.note.refused}"
    return ""


_DEPENDENCY = re.compile(r"(after|afterany|afterok|afternotok|aftercorr):(\d+)(_\*|_\d+)?(?:\(\w+\))?")


def unfulfilled(job: SlurmJob, jobs: Mapping[str, SlurmJob]) -> str:
    """Return the dependency of a job if it is not fulfilled yet, `(failed)` if it never will be.

    Slurm looks at the dependencies of a held job once a minute only. It tests them again at the release, so
    that a wrong guess here does no harm. What is not understood is left to Slurm.
    """
    text = string(job.record, "dependency")
    results = [_is_met(item, job, jobs) for item in re.split("[,?]", text)] if text else [True]
    is_met = any(results) if "?" in text else all(results)
    if is_met:
        return ""
    failed = False in results and ("?" not in text or None not in results)
    return re.sub(r"\(\w+\)", "(failed)", text) if failed else text


def _is_met(item: str, job: SlurmJob, jobs: Mapping[str, SlurmJob]) -> bool | None:
    """Whether one dependency is fulfilled; False if it never will be, None if it is not yet."""
    if (found := _DEPENDENCY.fullmatch(item)) is None:
        return None
    kind, first, task = found[1], found[2], found[3] or ""
    if kind == "aftercorr":
        task = f"_{job.id.partition('_')[2]}"
    others = [jobs[first + task]] if first + task in jobs else []
    if task == "_*":
        others = [other for other in jobs.values() if other.array == int(first)]
    if not others or any(not (other.done or (kind == "after" and other.holding)) for other in others):
        return None
    if kind in ("after", "afterany"):
        return True
    return (kind == "afternotok") != all(other.states[0] == "COMPLETED" for other in others)
