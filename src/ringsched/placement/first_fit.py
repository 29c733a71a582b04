"""First fit: the first eligible GPUs, from server to server."""

from __future__ import annotations

from ringsched.engine.state import Cluster
from ringsched.placement.trial import Trial


def first_fit(trial: Trial, cluster: Cluster, job: int) -> list[int] | None:
    """Return the first eligible GPUs by (server, GPU)."""
    eligible, wanted = trial.eligible(cluster, job), trial.problem.gpus[job]
    return eligible[:wanted] if len(eligible) >= wanted else None
