"""Unequal splits: Slurm takes them only at submission, so a new job takes the place of the held one.

The order makes every crash harmless, since a held job cannot run by itself:

    1. the new job is submitted, held, and says whose place it takes (`origin`)
    2. the old one is marked with the new one's id, which fails if its owner has cancelled it
    3. the old one is cancelled
    4. the new one is released

A crash before 2 leaves the old job held and without mark: it stays, and the new one is cancelled. After 2 the
new one is the job. `reconcile.py` tells them apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ringsched.errors import AdapterError
from ringsched.slurm.commands import Commands, InMemory
from ringsched.slurm.comment import comment_of
from ringsched.slurm.dry_run import DryRun
from ringsched.slurm.gres import gpu_type
from ringsched.slurm.jobs import read_jobs
from ringsched.slurm.layout import Component
from ringsched.slurm.note import note_text
from ringsched.slurm.owner import Owner
from ringsched.slurm.queue import OurJob
from ringsched.slurm.reconcile import origin_of
from ringsched.slurm.saved import Submission, load
from ringsched.slurm.values import number, string


def resubmit(
    commands: Commands, ours: OurJob, owner: Owner, parts: Sequence[Component], order: Sequence[str]
) -> str:
    """Submit the job anew, held, in components, and cancel the old one; return the new id."""
    old = ours.slurm
    script = _without_directives(commands.ask("scontrol", "write", "batch_script", str(old.id), "-"))
    submission = _submission(commands, ours, owner)
    comment = comment_of({**ours.wish.fields, "origin": old.id})
    request: list[str | InMemory] = ["sbatch", "--parsable", "--hold", "--propagate=NONE"]
    # Without a saved environment Slurm makes the owner's login environment.
    request += [f"--export={'NONE' if submission.environment is None else 'ALL'}"]
    for at, part in enumerate(parts):
        request += [":"] if at else _streams(ours)
        request += [*_carried(ours, comment), *_shape(part, order)]
    body = InMemory("", script.encode("utf-8", "surrogateescape"), "script")
    said = commands.tell(
        *request,
        body,
        *submission.arguments,
        owner=replace(owner, umask=submission.umask),
        environment=submission.environment,
    )
    new = said.strip().partition(";")[0]
    if not isinstance(commands, DryRun):
        _check_new(commands, new, ours)
    try:
        mark = replace(ours.note, servers={}, replaced_by=int(new) if new.isdigit() else 0)
        commands.tell("scontrol", "update", f"jobid={old.id}", f"AdminComment={note_text(mark, old.note)}")
        commands.tell("scancel", "--verbose", str(old.id))
    except AdapterError as error:
        if error.refused:  # its owner was faster: what was cancelled stays cancelled
            commands.tell("scancel", "--verbose", new)
        raise
    return new


def _check_new(commands: Commands, new: str, ours: OurJob) -> None:
    """Raise unless Slurm knows `new` as the job that takes the place of ours.

    What runs with a user's rights and environment may print anything: another user's job, or an option.
    """
    old = ours.slurm
    job = {str(job.id): job for job in read_jobs(commands)}.get(new)
    if (
        job is None
        or job.user_id != old.user_id
        or origin_of(job) != old.id
        or not job.held
        or job.reason == "JobHeldAdmin"
    ):
        raise AdapterError("sbatch, run as its owner, named no held job that takes its place", refused=True)


def _submission(commands: Commands, ours: OurJob, owner: Owner) -> Submission:
    """Return arguments and environment of the script; what SBATCH_ variables said is in the record."""
    if ours.wish.saved is not None:
        saved = load(commands, owner, ours.wish.saved)
        environment = saved.environment or {}
        kept = {name: value for name, value in environment.items() if not name.startswith("SBATCH_")}
        return replace(saved, environment=kept)
    if " " in string(ours.slurm.records[0], "command"):
        raise AdapterError(
            "needs an unequal split, for which its arguments must be known word by word; submit it by "
            "`ringsched slurm submit`",
            refused=True,
        )
    return Submission(arguments=(), environment=None, umask=owner.umask)


def _shape(part: Component, order: Sequence[str]) -> list[str]:
    nodes = sorted(part.servers, key=list(order).index)
    return [
        f"--nodes={len(nodes)}",
        f"--nodelist={','.join(nodes)}",
        f"--ntasks={len(nodes) * part.gpus_each}",
        f"--ntasks-per-node={part.gpus_each}",
    ]


def _streams(ours: OurJob) -> list[str]:
    """Return where input comes from and output goes: to the files of the first id, which its owner knows."""
    record, first = ours.slurm.records[0], str(ours.wish.origin or ours.slurm.id)
    folder = string(record, "current_working_directory")
    output = string(record, "standard_output") or f"{folder}/slurm-%j.out"
    streams = {"output": output, "error": string(record, "standard_error")}
    named = [
        f"--{option}={path.replace('%j', first).replace('%A', first)}"
        for option, path in streams.items()
        if path
    ]
    stdin = string(record, "standard_input")
    return [*named, *([f"--input={stdin}"] if stdin not in ("", "/dev/null") else [])]


def _carried(ours: OurJob, comment: str) -> list[str]:
    """Return what of the old request does not depend on its shape."""
    job, record = ours.slurm, ours.slurm.records[0]
    texts = {
        "job-name": job.name,
        "partition": job.partition,
        "comment": comment,
        "chdir": string(record, "current_working_directory"),
        "account": string(record, "account"),
        "qos": string(record, "qos"),
        "reservation": string(record, "resv_name"),
        "constraint": string(record, "features"),
        "licenses": string(record, "licenses"),
        "wckey": string(record, "wckey").removeprefix("*"),
    }
    numbers = {
        "time": number(record, "time_limit"),
        "mem": _megabytes(number(record, "memory_per_node")),
        "mem-per-cpu": _megabytes(number(record, "memory_per_cpu")),
        "nice": number(record, "nice"),
    }
    carried = [f"--{option}={value}" for option, value in texts.items() if value]
    carried += [f"--{option}={value}" for option, value in numbers.items() if value is not None]
    kind = gpu_type(string(record, "tres_per_task"))
    carried += [f"--cpus-per-task={_cpus_each(job.records)}", f"--gpus-per-task={kind and f'{kind}:'}1"]
    return [*carried, "--requeue" if record.get("requeue") else "--no-requeue"]


def _megabytes(value: int | None) -> str | None:
    return None if value is None else f"{value}M"


def _cpus_each(records: Sequence[Mapping[str, Any]]) -> int:
    cpus, tasks = number(records[0], "cpus") or 1, number(records[0], "tasks") or 1
    return max(1, cpus // tasks)


def _without_directives(script: str) -> str:
    """Return the script with its `#SBATCH` lines as plain comments: what they said is in the record."""
    return re.sub(r"^#SBATCH", "# SBATCH", script, flags=re.MULTILINE)
