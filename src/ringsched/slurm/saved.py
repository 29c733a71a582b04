"""What Slurm does not keep of a submission: its environment, its arguments word by word, its ring.

It stands in the user's own folder, `~/.ringsched/slurm/TOKEN`, for the user alone. The controller reads
and writes there as that user, never as root, so that no link or path can lead it elsewhere.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ringsched.errors import AdapterError, InputError
from ringsched.io.files import umask
from ringsched.slurm.commands import Commands
from ringsched.slurm.layout import hostfile_text, rankfile_text, ring_text
from ringsched.slurm.owner import Owner

MOST_BYTES = 4_000_000
_SUBMISSION = "submission.json"
_OLD_S = 30 * 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """Arguments and environment of a batch script, and the umask of whoever submitted it."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] | None  # None if it is not known
    umask: int


def folder_of(owner: Owner, token: str) -> Path:
    """Return where a submission is kept."""
    return owner.home / ".ringsched" / "slurm" / token


def ring_variables(folder: Path) -> dict[str, str]:
    """Return the variables by which a job finds its ring; the files are written when it is released."""
    return {
        "RINGSCHED_RING": str(folder / "ring"),
        "RINGSCHED_HOSTFILE": str(folder / "hostfile"),
        "RINGSCHED_RANKFILE": str(folder / "rankfile"),
    }


def save(owner: Owner, arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[str, Submission]:
    """Keep a submission of our own; return its token and what the job's environment becomes."""
    token = secrets.token_hex(8)
    folder = folder_of(owner, token)
    submission = Submission(
        arguments=tuple(arguments),
        environment=dict(environment) | ring_variables(folder),
        umask=umask(),
    )
    text = json.dumps(asdict(submission))
    try:
        for each in (folder.parent.parent, folder.parent, folder):
            each.mkdir(mode=0o700, exist_ok=each != folder)
        handle = os.open(folder / _SUBMISSION, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(folder)) from None
    return token, submission


def load(commands: Commands, owner: Owner, token: str) -> Submission:
    """Read a submission as its owner; what it holds is for the owner's own job only."""
    path = folder_of(owner, token) / _SUBMISSION
    # Not blocking and following nothing: whatever a user puts there, we do not wait for it.
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
        raise AdapterError(f"{path} is not what was saved there", refused=True) from None


def write_ring(commands: Commands, owner: Owner, token: str, servers: Mapping[str, int]) -> None:
    """Write the files in which a job finds its ring, as its owner."""
    files = ring_variables(folder_of(owner, token))
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
    parent = folder_of(owner, "").resolve()
    for folder in parent.iterdir() if parent.is_dir() else ():
        with suppress(OSError):  # another submission may be tidying up as well
            if folder.name not in kept and time.time() - folder.stat().st_mtime > _OLD_S:
                shutil.rmtree(folder, ignore_errors=True)
