"""FA-FFP, Algorithm 2: fragment-aware first-fit packing."""

from __future__ import annotations

from heapq import nsmallest

from ringsched.engine.state import Cluster
from ringsched.placement.trial import Trial


def fragment_aware(trial: Trial, cluster: Cluster, job: int) -> list[int] | None:
    """Return the eligible GPUs by (U, -busy share of the server, server, GPU).

    Line 4 of the pseudo-code sorts by U alone, which is list scheduling; the text packs into servers
    that are occupied already, so the busiest server wins a tie.
    """
    problem = trial.problem
    eligible, wanted = trial.eligible(cluster, job), problem.gpus[job]
    if len(eligible) < wanted:
        return None
    # The idle share orders servers as the busy share does, the other way round.
    idle_share = [idle * weight for idle, weight in zip(cluster.num_idle, trial.per_gpu, strict=True)]
    return nsmallest(
        wanted, eligible, key=lambda gpu: (trial.load[gpu], idle_share[problem.server_of[gpu]], gpu)
    )
