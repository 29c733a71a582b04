"""Unequal splits: Slurm accepts them only at submission, so a new job replaces the held one."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ringsched.clusters.slurm.commands import Commands, DryRun, InMemory, Owner
from ringsched.clusters.slurm.comments import comment_of, is_ours, note_text, parse_comment, parse_note
from ringsched.clusters.slurm.jobs import SlurmJob, read_jobs
from ringsched.clusters.slurm.placements import Component, hostfile_text, rankfile_text, ring_text
from ringsched.clusters.slurm.queue import OurJob
from ringsched.clusters.slurm.values import gpu_type, number, string
from ringsched.errors import AdapterError, InputError
from ringsched.formats.files import umask

MOST_BYTES = 4_000_000
_SUBMISSION = "submission.json"
_OLD_S = 30 * 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """Arguments and environment of a batch script, and the umask of its submission."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] | None  # None if it is not known
    umask: int


def directory_of(owner: Owner, token: str) -> Path:
    """Return where a submission is kept."""
    return owner.home / ".ringsched" / "slurm" / token


def ring_variables(directory: Path) -> dict[str, str]:
    """Return the variables by which a job finds its ring; the files are written when it is released."""
    return {
        "RINGSCHED_RING": str(directory / "ring"),
        "RINGSCHED_HOSTFILE": str(directory / "hostfile"),
        "RINGSCHED_RANKFILE": str(directory / "rankfile"),
    }


def save(owner: Owner, arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[str, Submission]:
    """Store a submission; return its token and the environment of the job."""
    token = secrets.token_hex(8)
    directory = directory_of(owner, token)
    submission = Submission(
        arguments=tuple(arguments),
        environment=dict(environment) | ring_variables(directory),
        umask=umask(),
    )
    text = json.dumps(asdict(submission))
    try:
        for each in (directory.parent.parent, directory.parent, directory):
            each.mkdir(mode=0o700, exist_ok=each != directory)
        handle = os.open(directory / _SUBMISSION, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(directory)) from None
    return token, submission


def load(commands: Commands, owner: Owner, token: str) -> Submission:
    """Read a submission as its owner; it is used for the owner's job only."""
    path = directory_of(owner, token) / _SUBMISSION
    # Non-blocking and without following links, because a user may put anything there.
    flags = "iflag=nofollow,nonblock,count_bytes,fullblock"
    text = commands.ask(
        "dd", f"if={path}", flags, f"count={MOST_BYTES}", "bs=65536", "status=none", owner=owner
    )
    try:
        content = json.loads(text)
        arguments, environment, mask = (content[key] for key in ("arguments", "environment", "umask"))
        if not all(isinstance(word, str) for word in (*arguments, *environment, *environment.values())):
            raise TypeError
        return Submission(arguments=tuple(arguments), environment=dict(environment), umask=int(mask) & 0o777)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise AdapterError(
            f"{path} was changed after it was saved; submit the job again", refused=True
        ) from None


def write_ring(commands: Commands, owner: Owner, token: str, servers: Mapping[str, int]) -> None:
    """Write the ring files of a job, as its owner."""
    files = ring_variables(directory_of(owner, token))
    texts = {
        "RINGSCHED_RING": ring_text(servers),
        "RINGSCHED_HOSTFILE": hostfile_text(servers),
        "RINGSCHED_RANKFILE": rankfile_text(servers),
    }
    for variable, path in files.items():
        commands.tell("dd", f"of={path}", "oflag=nonblock", "status=none", owner=owner, text=texts[variable])


def forget_old(owner: Owner, known: Iterable[str]) -> None:
    """Remove our own submissions of a month ago that no job knows any more."""
    kept = set(known)
    parent = directory_of(owner, "").resolve()
    for directory in parent.iterdir() if parent.is_dir() else ():
        with suppress(OSError):  # another submission may be tidying up as well
            if directory.name not in kept and time.time() - directory.stat().st_mtime > _OLD_S:
                shutil.rmtree(directory, ignore_errors=True)


def resubmit(
    commands: Commands, ours: OurJob, owner: Owner, parts: Sequence[Component], order: Sequence[str]
) -> str:
    """Submit the job again, held, in components, and cancel the old one; return the new id."""
    old = ours.slurm
    script = _without_directives(commands.ask("scontrol", "write", "batch_script", str(old.id), "-"))
    submission = _submission(commands, ours, owner)
    comment = comment_of({**ours.request.fields, "origin": old.id})
    request: list[str | InMemory] = ["sbatch", "--parsable", "--hold", "--propagate=NONE"]
    # Without a saved environment, Slurm uses the owner's login environment.
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
        if error.refused:  # its owner cancelled it meanwhile
            commands.tell("scancel", "--verbose", new)
        raise
    return new


def _check_new(commands: Commands, new: str, ours: OurJob) -> None:
    """Raise unless Slurm knows `new` as the job that replaces ours.

    A command in a user's environment may print anything, such as another user's job id.
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
        raise AdapterError(
            "sbatch, run as its owner, did not print the id of the replacing job", refused=True
        )


def _submission(commands: Commands, ours: OurJob, owner: Owner) -> Submission:
    """Return arguments and environment of the script; what SBATCH_ variables said is in the record."""
    if ours.request.saved is not None:
        saved = load(commands, owner, ours.request.saved)
        environment = saved.environment or {}
        kept = {name: value for name, value in environment.items() if not name.startswith("SBATCH_")}
        return replace(saved, environment=kept)
    if " " in string(ours.slurm.records[0], "command"):
        raise AdapterError(
            "needs an unequal split, which requires its saved arguments; submit it with "
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
    record, first = ours.slurm.records[0], str(ours.request.origin or ours.slurm.id)
    directory = string(record, "current_working_directory")
    output = string(record, "standard_output") or f"{directory}/slurm-%j.out"
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


def superfluous(jobs: Sequence[SlurmJob], partition: str) -> list[tuple[SlurmJob, str]]:
    """Return the jobs to be cancelled, each with the reason.

    The controller of another partition may be resubmitting jobs there.
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
                # Marked: the old job is being cancelled, so continue with the new one.
                found.append((origin, f"job {job.id} replaces it"))
            elif reason := _why_not(job, origin):
                found.append((job, reason))
        elif origin.held and _was_released(job):
            # The replacement has started, so the old job must never start.
            found.append((origin, f"job {job.id} has replaced it"))
    return found


def _why_not(job: SlurmJob, origin: SlurmJob) -> str:
    """Return why a held job does not take the place of `origin`; nothing if it does."""
    if not origin.done:
        return f"job {origin.id} has kept its place"
    replaced_by = parse_note(origin.note).replaced_by
    if replaced_by == job.id:
        return ""
    return f"job {origin.id} was cancelled" if replaced_by is None else f"job {replaced_by} replaced it"


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
