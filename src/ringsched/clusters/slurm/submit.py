"""`sbatch --hold` with a comment, for every user."""

from __future__ import annotations

import os
import shlex
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


def partition_of(script: Path, options: Sequence[str] = ()) -> str | None:
    """Return the partition that `options`, SBATCH_PARTITION or a line of the script name, as sbatch does.

    None if there is none.
    """
    found = _partition_in(options) or os.environ.get("SBATCH_PARTITION") or _partition_in(_words_of(script))
    if found is not None and "," in found:
        problem = f"partition {found!r} is a list; choose one with --partition"
        raise InputError(problem, file=str(script))
    return found


def _words_of(script: Path) -> list[str]:
    """Return the options in the #SBATCH lines, which end at the first command."""
    with reading(script):
        lines = script.read_text(errors="replace").splitlines()
    words: list[str] = []
    for line in lines:
        if line.strip() and not line.startswith("#"):
            break
        if line.startswith("#SBATCH"):
            try:
                words += shlex.split(line.removeprefix("#SBATCH"), comments=True)
            except ValueError:  # sbatch itself will refuse it
                continue
    return words


def _partition_in(words: Sequence[str]) -> str | None:
    """Return the last partition that the options of sbatch name.

    Examples
    --------
    >>> _partition_in(["--time=60", "-p", "a"]), _partition_in(["--partition=a", "-pb"]), _partition_in([])
    ('a', 'b', None)
    """
    found = None
    for at, word in enumerate(words):
        if word in ("-p", "--partition"):
            found = words[at + 1] if at + 1 < len(words) else found
        elif word.startswith("--partition="):
            found = word.partition("=")[2]
        elif word.startswith("-p"):
            found = word[2:]
    return found or None


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
