"""What one cycle of the controller takes with a long queue, apart from Slurm's commands."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from ringsched.clusters.slurm import commands


def slurm_cycle() -> dict[str, Any]:
    """A cycle with some thirty running and two hundred queued jobs on a local Slurm."""
    if shutil.which("slurmctld") is None:
        return {"skipped": "there is no slurmctld on this machine"}
    from tests.integration.slurm.load import timed_cycle

    with TemporaryDirectory() as name, mock.patch.object(commands.pwd, "getpwuid", _at_home_in(Path(name))):
        timed = timed_cycle()
    queued = 0 if timed.cycle.snapshot is None else len(timed.cycle.snapshot.queued)
    return {"queued jobs": queued, "controller, s": timed.own_seconds, "cycle, s": timed.seconds}


def _at_home_in(home: Path) -> Any:
    """Return a look-up of users by which the files of jobs go to a temporary directory."""
    found, mine = commands.pwd.getpwuid, os.geteuid()

    def getpwuid(uid: int) -> object:
        entry = found(uid)
        return entry if uid != mine else type(entry)((*entry[:5], str(home), entry[6]))

    return getpwuid
