"""Best fit: the tightest server that holds the job whole, else as few servers as possible."""

from __future__ import annotations

from ringsched.engine.state import IDLE, Cluster
from ringsched.placement.trial import Trial


def best_fit(trial: Trial, cluster: Cluster, job: int) -> list[int] | None:
    """Return idle GPUs of the fullest server that fits; else of the emptiest servers, one after another.

    The load limit θ does not apply.
    """
    wanted, num_idle = trial.problem.gpus[job], cluster.num_idle
    if sum(num_idle) < wanted:
        return None
    fitting = [server for server, idle in enumerate(num_idle) if idle >= wanted]
    if fitting:
        servers = [min(fitting, key=num_idle.__getitem__)]
    else:
        servers = sorted(range(len(num_idle)), key=lambda server: -num_idle[server])
    first = trial.problem.first_gpu
    idle_gpus = [
        gpu
        for server in servers
        for gpu in range(first[server], first[server + 1])
        if cluster.holder[gpu] == IDLE
    ]
    return idle_gpus[:wanted]
