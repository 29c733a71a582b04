"""Job descriptions in `--comment`, and the controller's notes in `AdminComment`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from ringsched.errors import InputError, did_you_mean
from ringsched.formats.decode import once_each
from ringsched.formats.job_description import DESCRIPTION_KEYS
from ringsched.formats.jobs import job_from_fields
from ringsched.model import Job
from ringsched.model.checks import integer, shown

KEY = "ringsched"
EXAMPLE = '{"ringsched": {"gpus": 2, "iterations": 100, "model": "resnet50"}}'
MOST_CHARACTERS = 1024  # of a comment, as slurmctld has it
# The fields of a job, as in a scenario.
JOB_FIELDS = (
    "gpus", "iterations", "model", "gradient_mb", "minibatch", "forward_ms", "backward_ms", "buckets",
    "weight", "server_slack", "estimate_s", *DESCRIPTION_KEYS,
)  # fmt: skip
# Added by the wrapper and the controller.
OWN_FIELDS = ("saved", "origin")
_TOKEN = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """A job as its comment describes it.

    Parameters
    ----------
    job
        For a scenario, under the name `job-ID`.
    fields
        The fields as written, so that they can be written again.
    saved
        Name of the directory in the user's home where the wrapper keeps arguments and environment.
    origin
        Id of the job that this one replaces.
    """

    job: Job
    fields: Mapping[str, Any]
    saved: str | None = None
    origin: int | None = None


def is_ours(comment: str) -> bool:
    """Whether a comment is meant for us, valid or not."""
    return KEY in comment


@lru_cache(maxsize=4096)  # the same jobs are read in every cycle
def parse_comment(comment: str, job_id: int) -> JobRequest:
    """Return the parsed comment, or raise an InputError.

    Examples
    --------
    >>> request = parse_comment('{"ringsched": {"gpus": 6, "iterations": 900, "model": "resnet50"}}', 17)
    >>> request.job.name, request.job.gpus, request.job.gradient_mb
    ('job-17', 6, 99.2)
    >>> parse_comment('{"ringsched": {"gpus": 0, "iterations": 900, "model": "resnet50"}}', 17)
    Traceback (most recent call last):
    ...
    ringsched.errors.InputError: comment: gpus must be an integer >= 1, not 0
    """
    try:
        content = json.loads(comment, object_pairs_hook=once_each)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "nested too deeply"
        problem = f"is not valid JSON ({reason}); write it as {EXAMPLE}"
        raise InputError(problem, field="comment") from None
    fields = content.get(KEY) if isinstance(content, dict) else None
    if not isinstance(fields, dict):
        raise InputError(f"must be an object such as {EXAMPLE}", field="comment")
    known = (*JOB_FIELDS, *OWN_FIELDS)
    for key in fields:
        if key not in known:
            raise InputError(f"unknown key {shown(key)}{did_you_mean(key, known)}", place="comment")
    described = {key: value for key, value in fields.items() if key in JOB_FIELDS}
    try:
        job = job_from_fields({"name": job_name(job_id)} | described, "comment")
        origin = fields.get("origin")
        return JobRequest(
            job=job,
            fields=fields,
            saved=_token(fields.get("saved")),
            origin=None if origin is None else integer(origin, "origin", minimum=1),
        )
    except InputError as error:
        raise error.located(place="comment") from None


def job_name(job_id: int) -> str:
    """Return the name of a Slurm job in a scenario; Slurm names are neither unique nor restricted."""
    return f"job-{job_id}"


def comment_of(fields: Mapping[str, Any]) -> str:
    """Return a comment with `fields`, or raise an InputError if it is too long for Slurm.

    Examples
    --------
    >>> comment_of({"gpus": 2, "iterations": 10})
    '{"ringsched":{"gpus":2,"iterations":10}}'
    """
    text = json.dumps({KEY: fields}, separators=(",", ":"), allow_nan=False)
    if len(text) > MOST_CHARACTERS:
        raise InputError(
            f"would have {len(text)} characters; Slurm accepts at most {MOST_CHARACTERS}", field="comment"
        )
    return text


def tokens_in(comment: str) -> list[str]:
    """Return all possible names of saved directories in a comment, valid or not.

    Examples
    --------
    >>> tokens_in('{"ringsched": {"gpus": 6, "saved": "0123456789abcdef", oops')
    ['0123456789abcdef']
    """
    return _TOKEN.findall(comment)


def _token(value: object) -> str | None:
    """Return the name of a saved directory; user-defined paths are refused."""
    if value is None:
        return None
    if not isinstance(value, str) or not _TOKEN.fullmatch(value):
        raise InputError(f"must be 16 hexadecimal digits, not {shown(value)}", field="saved")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """The controller's note on a job; times are Unix seconds.

    Parameters
    ----------
    servers
        Its placement at release: GPUs on each server, servers in ring order.
    released_s, finish_s
        When it was released, and its predicted finish at that time.
    replaced_by
        The job that replaces it.
    refused, refused_until_s
        Why Slurm did not start it on its planned servers, and when it may be tried again.
    """

    servers: Mapping[str, int] = field(default_factory=dict)
    released_s: int | None = None
    finish_s: int | None = None
    replaced_by: int | None = None
    refused: str | None = None
    refused_until_s: int | None = None


def parse_note(text: str) -> Note:
    """Return the note; an empty one for other texts.

    Examples
    --------
    >>> parse_note(note_text(Note(servers={"n1": 3}, released_s=7), "")).servers
    {'n1': 3}
    >>> parse_note("ask Bob before you touch this") == parse_note("") == Note()
    True
    """
    fields = _content(text).get(KEY)
    if not isinstance(fields, dict):
        return Note()
    servers = fields.get("servers")
    return Note(
        servers={str(name): count for name, count in servers.items() if isinstance(count, int) and count > 0}
        if isinstance(servers, dict)
        else {},
        **{
            key: _whole(fields.get(key))
            for key in ("released_s", "finish_s", "replaced_by", "refused_until_s")
        },
        refused=str(fields["refused"]) if fields.get("refused") else None,
    )


def note_text(note: Note, before: str) -> str:
    """Return the text of a note; text by other programs is kept."""
    others = {key: value for key, value in _content(before).items() if key != KEY}
    ours = {key: value for key, value in asdict(note).items() if value not in (None, {})}
    return json.dumps(others | {KEY: ours}, separators=(",", ":"))


def _content(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = text
    return content if isinstance(content, dict) else {"before": text} if text else {}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
