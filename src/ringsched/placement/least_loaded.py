"""List scheduling: the least loaded GPUs, wherever they are."""

from __future__ import annotations

from heapq import nsmallest

from ringsched.engine.state import Cluster
from ringsched.placement.trial import Trial


def least_loaded(trial: Trial, cluster: Cluster, job: int) -> list[int] | None:
    """Return the eligible GPUs with the least load, by (U, server, GPU)."""
    eligible, wanted = trial.eligible(cluster, job), trial.problem.gpus[job]
    if len(eligible) < wanted:
        return None
    return nsmallest(wanted, eligible, key=trial.load.__getitem__)
