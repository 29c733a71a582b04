"""`sbatch --hold` with a comment, for every user."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringsched.clusters.slurm.commands import Commands, owner_of
from ringsched.clusters.slurm.comments import comment_of, parse_comment, tokens_in
from ringsched.clusters.slurm.controller import Planner
from ringsched.clusters.slurm.resubmission import forget_old, save
from ringsched.clusters.slurm.snapshot import Snapshot
from ringsched.errors import AdapterError, InputError
from ringsched.formats.files import reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Where and when a job would run if no other job arrived; seconds from now."""

    start_s: float
    finish_s: float
    servers: Mapping[str, int]


def submit(
    commands: Commands,
    fields: Mapping[str, Any],
    script: Path,
    arguments: Sequence[str] = (),
    *,
    partition: str,
    options: Sequence[str] = (),
) -> int:
    """Submit a job, held until the controller places it; return its id.

    Parameters
    ----------
    fields
        The fields of the comment: `gpus`, `iterations` and the model, as in a scenario.
    options
        More options for `sbatch`, one word each.
    """
    # Refused here and not in the queue, so that the user sees the error.
    request = parse_comment(comment_of(fields), 1)
    with reading(script):
        start = script.read_bytes()[:2]
    if start != b"#!":
        raise InputError("must begin with #!, as Slurm requires", file=str(script))
    me = owner_of(os.geteuid(), os.getegid())
    token, submission = save(me, arguments, os.environ)
    text = commands.tell(
        "sbatch",
        "--parsable",
        "--hold",
        f"--ntasks={request.job.gpus}",
        "--gpus-per-task=1",
        f"--partition={partition}",
        f"--comment={comment_of({**fields, 'saved': token})}",
        f"--chdir={Path.cwd()}",
        *options,
        str(script.absolute()),
        *arguments,
        environment=submission.environment,
    )
    number = text.strip().partition(";")[0]
    if not number.isdigit():
        raise AdapterError(f"sbatch printed no job id: {text[:80]!r}")
    return int(number)


def predict(snapshot: Snapshot, planner: Planner, job_id: int) -> Prediction | str:
    """Return when and where a job would run by a plan of now, or why it cannot be predicted."""
    if reason := snapshot.left.get(job_id):
        return reason
    queued = {job.slurm.id: name for name, job in snapshot.queued.items()}
    if job_id not in queued:
        return "it is no longer in the queue"
    planned = planner.plan(snapshot)
    name = queued[job_id]
    if name in planned.left:
        return str(planned.left[name])
    entry = next(entry for entry in planned.plan.jobs if entry.name == name)
    servers = {server: len(held) for server, held in entry.gpus.items()}
    return Prediction(start_s=entry.start_s, finish_s=entry.finish_s, servers=servers)


def tidy(snapshot: Snapshot) -> None:
    """Remove submissions older than a month whose jobs Slurm has forgotten."""
    # Also of those in another partition, or left alone for now, whose comment may still be corrected.
    known = {token for job in snapshot.reading.jobs for token in tokens_in(job.comment)}
    forget_old(owner_of(os.geteuid()), known)
