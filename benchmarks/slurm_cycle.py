"""What one cycle of the controller takes with a long queue, apart from Slurm's commands."""

from __future__ import annotations

import shutil
from typing import Any


def slurm_cycle() -> dict[str, Any]:
    """A cycle with some thirty running and two hundred queued jobs on a local Slurm."""
    if shutil.which("slurmctld") is None:
        return {"skipped": "there is no slurmctld on this machine"}
    from tests.integration.slurm.load import timed_cycle

    timed = timed_cycle()
    queued = len(timed.cycle.snapshot.waiting)
    return {"queued jobs": queued, "controller, s": timed.own_seconds, "cycle, s": timed.seconds}
