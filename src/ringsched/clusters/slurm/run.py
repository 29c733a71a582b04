"""The controller loop, one per partition."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from ringsched.clusters.slurm.commands import owner_of
from ringsched.clusters.slurm.controller import Controller, Cycle
from ringsched.errors import AdapterError, InputError, RingschedError

_LONGEST_WAIT_S = 30.0
_USUAL_CONFIG = "/etc/slurm/slurm.conf"


def run(
    controller: Controller,
    *,
    interval_s: float,
    wait: Callable[[float], None],
    once: bool = False,
    until_idle: bool = False,
    on_cycle: Callable[[Cycle], None] | None = None,
) -> None:
    """Run cycles; while Slurm does not respond, retry with increasing delays.

    Parameters
    ----------
    once
        Run one cycle and end; errors are raised instead of retried.
    until_idle
        End when no job of ours waits or runs any more; those left alone do not count.
    """
    wait_s = interval_s
    while True:
        try:
            cycle = controller.cycle()
        except RingschedError as error:
            if once:
                raise
            who = "Slurm: " if isinstance(error, AdapterError) else ""
            controller.say(f"{who}{error}; retrying in {wait_s:g} s")
            wait(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
            continue
        wait_s = interval_s
        if on_cycle is not None:
            on_cycle(cycle)
        if (once and cycle.snapshot is not None) or (until_idle and cycle.is_idle):
            return
        wait(interval_s)


@contextlib.contextmanager
def alone(partition: str) -> Iterator[None]:
    """Lock the partition against a second controller; the kernel frees the lock when this process ends."""
    # Resolved, so that another spelling of the path has the same lock.
    cluster = Path(os.environ.get("SLURM_CONF") or _USUAL_CONFIG).resolve()
    mark = hashlib.sha256(f"{cluster}\0{partition}".encode()).hexdigest()[:16]
    path = owner_of(os.geteuid()).home / ".ringsched" / f"controller-{mark}.lock"
    # It must be a lock that the kernel frees; and the file stays, since on NFS one that is removed while
    # others have it open keeps its locks.
    lock = FileLock(path, mode=0o600, blocking=False, fallback_to_soft=False)
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        lock.acquire()
    except Timeout:
        said = f"another controller is running for partition {partition!r} ({path} is locked); stop it first"
        raise AdapterError(said, refused=True) from None
    except OSError as error:
        raise InputError(f"cannot be locked: {error.strerror}", file=str(path)) from None
    try:
        yield
    finally:
        lock.release()
