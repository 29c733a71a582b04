"""The placement rules, by sorting."""

from __future__ import annotations

from heapq import nsmallest
from random import Random

from tests.core_engine.state import IDLE, Cluster
from tests.core_engine.trial import Rule, Trial


def first_fit(trial: Trial, cluster: Cluster, job: int) -> list[int] | None:
    """Return the first eligible GPUs by (server, GPU)."""
    eligible, wanted = trial.eligible(cluster, job), trial.problem.gpus[job]
    return eligible[:wanted] if len(eligible) >= wanted else None


def least_loaded(trial: Trial, cluster: Cluster, job: int) -> list[int] | None:
    """Return the eligible GPUs with the least load, by (U, server, GPU)."""
    eligible, wanted = trial.eligible(cluster, job), trial.problem.gpus[job]
    if len(eligible) < wanted:
        return None
    return nsmallest(wanted, eligible, key=trial.load.__getitem__)


def random_fit(seed: int) -> Rule:
    """Return a rule with a generator of its own; one trial, one rule."""
    generator = Random(seed)

    def rule(trial: Trial, cluster: Cluster, job: int) -> list[int] | None:
        eligible, wanted = trial.eligible(cluster, job), trial.problem.gpus[job]
        if len(eligible) < wanted:
            return None
        # Fisher-Yates for the first places only, on `random()`, the one stream Python keeps stable.
        for place in range(wanted):
            chosen = place + int(generator.random() * (len(eligible) - place))
            eligible[place], eligible[chosen] = eligible[chosen], eligible[place]
        return eligible[:wanted]

    return rule


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
