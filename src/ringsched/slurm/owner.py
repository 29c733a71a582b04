"""Whose job it is, and acting as that user: Slurm and the file system then decide what is allowed."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringsched.errors import AdapterError


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A user of this machine."""

    uid: int
    gid: int
    name: str
    home: Path
    umask: int = 0o022

    @property
    def is_me(self) -> bool:
        """Whether we act as this user already."""
        return self.uid == os.geteuid()

    @property
    def is_reachable(self) -> bool:
        """Whether we can act as this user."""
        return self.is_me or os.geteuid() == 0

    def rights(self) -> dict[str, Any]:
        """Return what makes a subprocess act as this user, and no more."""
        if self.is_me:
            return {"umask": self.umask}
        if not self.is_reachable:
            raise AdapterError(f"only root can act as user {self.name!r}", refused=True)
        groups = os.getgrouplist(self.name, self.gid)
        return {"user": self.uid, "group": self.gid, "extra_groups": groups, "umask": self.umask}


def owner_of(uid: int, gid: int | None = None) -> Owner:
    """Return the user with this number, in the given group or the usual one.

    Examples
    --------
    >>> owner_of(os.geteuid()).is_me
    True
    """
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise AdapterError(f"user {uid} is not known on this machine", refused=True) from None
    return Owner(
        uid=uid, gid=entry.pw_gid if gid is None else gid, name=entry.pw_name, home=Path(entry.pw_dir)
    )
