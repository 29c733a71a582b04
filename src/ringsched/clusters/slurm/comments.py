"""Comments of jobs: what their owner writes, and the controller's note beside it.

An operator may write a job's comment, but not its `AdminComment`. The owner may write it as well. So a note
is read with care, and says something about its own job only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from ringsched.errors import InputError, did_you_mean
from ringsched.formats.decode import once_each
from ringsched.formats.job_description import DESCRIPTION_KEYS
from ringsched.formats.jobs import job_from_fields
from ringsched.model import Job
from ringsched.model.checks import shown

KEY = "ringsched"
EXAMPLE = '{"ringsched": {"gpus": 2, "iterations": 100, "model": "resnet50"}}'
NOTE_KEY = "ringsched_note"
MOST_CHARACTERS = 600  # Slurm has 1024; the rest is for the note
_LONGEST_REASON = 120
# The fields of a job, as in a scenario.
JOB_FIELDS = (
    "gpus", "iterations", "model", "gradient_mb", "minibatch", "forward_ms", "backward_ms", "buckets",
    "weight", "server_slack", "estimate_s", *DESCRIPTION_KEYS,
)  # fmt: skip


def is_ours(comment: str) -> bool:
    """Whether a comment is meant for us, valid or not."""
    return KEY in comment


@lru_cache(maxsize=32_768)  # the same jobs are read in every cycle
def parse_comment(comment: str, job_id: str) -> Job:
    """Return the job that a comment describes, under the name `job-ID`, or raise an InputError.

    Examples
    --------
    >>> job = parse_comment('{"ringsched": {"gpus": 6, "iterations": 900, "model": "resnet50"}}', "17")
    >>> job.name, job.gpus, job.gradient_mb
    ('job-17', 6, 99.2)
    >>> parse_comment('{"ringsched": {"gpus": 0, "iterations": 900, "model": "resnet50"}}', "17")
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
    if len(comment) > MOST_CHARACTERS < (length := len(note_text(Note(), comment))):
        raise InputError(f"has {length} characters; at most {MOST_CHARACTERS} are allowed", field="comment")
    for key in fields:
        if key not in JOB_FIELDS:
            raise InputError(f"unknown key {shown(key)}{did_you_mean(key, JOB_FIELDS)}", place="comment")
    try:
        return job_from_fields({"name": job_name(job_id)} | fields, "comment")
    except InputError as error:
        raise error.located(place="comment") from None


def job_name(job_id: str) -> str:
    """Return the name of a Slurm job in a scenario; Slurm names are neither unique nor restricted."""
    return f"job-{job_id}"


def comment_of(fields: Mapping[str, Any]) -> str:
    """Return a comment with `fields`, or raise an InputError if it is too long.

    Examples
    --------
    >>> comment_of({"gpus": 2, "iterations": 10})
    '{"ringsched":{"gpus":2,"iterations":10}}'
    """
    text = json.dumps({KEY: fields}, separators=(",", ":"), allow_nan=False)
    if len(text) > MOST_CHARACTERS:
        raise InputError(
            f"would have {len(text)} characters; at most {MOST_CHARACTERS} are allowed", field="comment"
        )
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """The controller's note on a job; times are Unix seconds.

    Parameters
    ----------
    servers
        Its placement at release: GPUs on each server, servers in ring order.
    released_s, finish_s
        When it was released, and its predicted finish at that time.
    before
        What it asked for before its first placement was written into it.
    refused, refused_until_s, refusals
        Why Slurm did not start it on its planned servers, when it may be tried again, and how often this
        has happened.
    """

    servers: Mapping[str, int] = field(default_factory=dict)
    released_s: int | None = None
    finish_s: int | None = None
    before: Mapping[str, Any] | None = None
    refused: str | None = None
    refused_until_s: int | None = None
    refusals: int | None = None


def parse_note(comment: str) -> Note:
    """Return the note in a comment; an empty one if there is none, or none that can be read.

    Examples
    --------
    >>> parse_note(note_text(Note(servers={"n1": 3}, released_s=7), "{}")).servers
    {'n1': 3}
    >>> parse_note("ask Bob before you touch this") == parse_note("") == Note()
    True
    """
    if NOTE_KEY not in comment:
        return Note()
    fields = _content(comment).get(NOTE_KEY)
    if not isinstance(fields, dict):
        return Note()
    servers = fields.get("servers")
    return Note(
        servers={str(name): count for name, count in servers.items() if (_whole(count) or 0) > 0}
        if isinstance(servers, dict)
        else {},
        **{key: _whole(fields.get(key)) for key in ("released_s", "finish_s", "refused_until_s", "refusals")},
        before=before if isinstance(before := fields.get("before"), dict) else None,
        refused=str(fields["refused"]) if fields.get("refused") else None,
    )


def note_text(note: Note, comment: str) -> str:
    """Return a comment with another note; an empty note is left out."""
    others = {key: value for key, value in _content(comment).items() if key != NOTE_KEY}
    ours = {key: value for key, value in asdict(note).items() if value not in (None, {})}
    if note.refused is not None:
        ours["refused"] = note.refused[:_LONGEST_REASON]
    return json.dumps(others | ({NOTE_KEY: ours} if ours else {}), separators=(",", ":"))


def _content(comment: str) -> dict[str, Any]:
    try:
        content = json.loads(comment)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None
