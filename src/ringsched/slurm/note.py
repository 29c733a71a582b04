"""What the controller writes down about a job, in Slurm's `AdminComment`, which only operators can change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ringsched.slurm.comment import KEY


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """All that is known of a job beyond what Slurm itself knows; seconds are those of Unix.

    Parameters
    ----------
    servers
        GPUs on each server, servers in ring order: where it was released to.
    released_s, finish_s
        When it was released, and when it was predicted to end then.
    replaced_by
        The job that takes its place.
    refused, refused_until_s
        Why Slurm did not start it where it was to start, and until when it is left alone.
    """

    servers: Mapping[str, int] = field(default_factory=dict)
    released_s: int | None = None
    finish_s: int | None = None
    replaced_by: int | None = None
    refused: str | None = None
    refused_until_s: int | None = None


def parse_note(text: str) -> Note:
    """Return the note, an empty one for whatever is none of ours.

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
    """Return the text for a note; what others wrote before is kept beside it."""
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
