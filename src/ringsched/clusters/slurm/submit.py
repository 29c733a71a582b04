"""`sbatch --hold` with a comment, for every user."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringsched.clusters.controller import servers_in_ring_order
from ringsched.clusters.planning import Planner
from ringsched.clusters.slurm.commands import Commands
from ringsched.clusters.slurm.comments import comment_of, job_name, parse_comment
from ringsched.clusters.slurm.snapshot import SlurmSnapshot
from ringsched.errors import AdapterError, InputError
from ringsched.formats.files import reading

MOST_PREDICTED = 200_000  # jobs times servers; plain Python takes half a second to simulate so many once


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
    partition: str | None = None,
    options: Sequence[str] = (),
) -> int:
    """Submit a job, held until the controller places it; return its id.

    Parameters
    ----------
    fields
        The fields of the comment: `gpus`, `iterations` and the model, as in a scenario.
    partition
        The partition, or several separated by commas; otherwise the script and `options` decide.
    options
        More options for `sbatch`, one word each.
    """
    # Refused here and not in the queue, so that the user sees the error.
    job = parse_comment(comment_of(fields), "1")
    with reading(script):
        start = script.read_bytes()[:2]
    if start != b"#!":
        raise InputError("must begin with #!, as Slurm requires", file=str(script))
    text = commands.tell(
        "sbatch",
        "--parsable",
        "--hold",
        f"--ntasks={job.gpus}",
        "--gpus-per-task=1",
        *([] if partition is None else [f"--partition={partition}"]),
        f"--comment={comment_of(fields)}",
        f"--chdir={Path.cwd()}",
        *options,
        str(script.absolute()),
        *arguments,
        environment=os.environ,
    )
    number = text.strip().partition(";")[0]
    if not number.isdigit():
        raise AdapterError(f"sbatch printed no job id: {text[:80]!r}")
    return int(number)


def predict(snapshot: SlurmSnapshot, planner: Planner, job_id: int) -> Prediction | str:
    """Return when and where a job would run by a plan of now, or why it cannot be predicted.

    Users do not wait for a compiler here, so a very long queue is not planned.
    """
    name, scenario = job_name(str(job_id)), snapshot.scenario
    if reason := snapshot.left.get(name):
        return reason
    if name not in snapshot.queued:
        return "it is no longer in the queue"
    if (num_jobs := len(scenario.jobs)) * len(scenario.cluster.servers) > MOST_PREDICTED:
        return f"there are {num_jobs} jobs; `ringsched slurm status` plans them"
    planned = planner.plan(scenario)
    if name in planned.left:
        return str(planned.left[name])
    if name not in planned.entries:
        return "too many jobs wait before it"
    entry = planned.entries[name]
    return Prediction(start_s=entry.start_s, finish_s=entry.finish_s, servers=servers_in_ring_order(entry))
