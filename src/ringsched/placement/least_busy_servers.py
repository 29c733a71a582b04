"""LBSGF, Algorithm 3: least busy server-GPU first."""

from __future__ import annotations

from heapq import nsmallest

from ringsched.engine.state import Cluster
from ringsched.placement.trial import Trial


def least_busy_servers(trial: Trial, cluster: Cluster, job: int) -> list[int] | None:
    """Return the least loaded GPUs of the least busy servers that hold λ_j G_j GPUs together."""
    servers, wanted = selected_servers(trial, job), trial.problem.gpus[job]
    eligible = trial.eligible(cluster, job, servers)
    if len(eligible) < wanted:
        return None
    return nsmallest(wanted, eligible, key=trial.load.__getitem__)


def selected_servers(trial: Trial, job: int) -> list[int]:
    """Return the shortest prefix of servers by load per GPU that is large enough; all if none is (line 2)."""
    capacity = trial.problem.network.capacity
    usable = [server for server in range(trial.problem.num_servers) if capacity[server]]
    usable.sort(key=lambda server: trial.server_load[server] * trial.per_gpu[server])
    needed = trial.slack(job) * trial.problem.gpus[job] - 1e-9
    total = 0
    for count, server in enumerate(usable, start=1):
        total += capacity[server]
        if total >= needed:
            return usable[:count]
    return usable
