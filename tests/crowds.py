"""Crowded clusters out of a seed: most jobs wait, many are spread, and some fit past those that wait.

Hypothesis likes its scenarios small, and in small ones hardly anybody steps past a head.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.reference import formulas
from tests.strategies import BACKWARD_MS, FORWARD_MS, GRADIENT_MB, SUBMIT_STEP, SWITCH_GBPS, UPLINK_GBPS

from ringsched.model import Cluster, Contention, Job, Scenario, Server, Switch, Time

# As multiples of the best case; none makes half an iteration of any number up to a hundred.
ERRORS = (0.1103, 0.3107, 1.7013, 5.3091)


def crowd(
    seed: int,
    *,
    model: str | None = None,
    estimates: bool | None = None,
    max_jobs: int = 16,
    contention: Contention | None = None,
) -> Scenario:
    """A scenario with arrivals; `estimates`: whether some jobs state `estimate_s`, else in half of all."""
    chance = Random(seed)
    model = model or chance.choice(["slotted", "continuous"])
    estimates = chance.random() < 0.5 if estimates is None else estimates
    cluster = _cluster(chance)
    free = [(s.name, gpu) for s in cluster.servers for gpu in range(s.gpus) if gpu not in s.unavailable]
    chance.shuffle(free)
    jobs = [_job(chance, f"j{at}", cluster, free) for at in range(chance.randint(6, max_jobs))]
    scenario = Scenario(
        cluster=cluster,
        jobs=tuple(jobs),
        contention=contention or _contention(chance),
        time=Time(model="continuous"),
    )
    longest_tau = max(float(formulas.worst_case_tau(scenario, job)) for job in jobs)
    time = Time(model=model, slot_s=longest_tau * chance.choice([1.0001, 1.9]))
    scenario = scenario.replace(time=time)
    return scenario.replace(jobs=tuple(_submitted(chance, scenario, job, estimates) for job in jobs))


def _cluster(chance: Random) -> Cluster:
    switches: list[Switch] = []
    for at in range(chance.randint(0, 4)):
        parent = chance.choice([None, *(switch.name for switch in switches)])
        switches.append(Switch(name=f"r{at}", uplink_gbps=chance.choice(SWITCH_GBPS), parent=parent))
    servers = []
    for at in range(chance.randint(2, 4)):
        gpus = chance.randint(2, 5)
        is_below = switches and chance.random() < 0.8
        servers.append(
            Server(
                name=f"s{at}",
                gpus=gpus,
                switch=chance.choice(switches).name if is_below else None,
                uplink_gbps=chance.choice(UPLINK_GBPS),
                unavailable=(chance.randrange(gpus),) if chance.random() < 0.2 else (),
            )
        )
    return Cluster(
        servers=tuple(servers),
        switches=tuple(switches),
        inter_server_gbps=10.0,
        intra_server_gbps=chance.choice([100.0, 7.7460]),
        reduce_gbps=400.0,
    )


def _contention(chance: Random) -> Contention:
    latency = chance.choice([0.0, 0.2])
    kind = chance.random()
    if kind < 0.1:
        return Contention(model="reserved", server_latency_ms=latency, lanes=chance.randint(1, 3))
    if kind < 0.4:
        return Contention(server_latency_ms=latency, table=(1.0, 1.5, 2.8))
    return Contention(server_latency_ms=latency, share=1.0, degradation=chance.choice([0.0, 0.2745]))


def _job(chance: Random, name: str, cluster: Cluster, free: list[tuple[str, int]]) -> Job:
    largest = max(server.capacity for server in cluster.servers)
    gpus = chance.choice(
        [1, 1, 2, chance.randint(1, largest), chance.randint(1, cluster.capacity), largest + 1]
    )
    fields: dict[str, Any] = {
        "gpus": min(gpus, cluster.capacity),
        "iterations": chance.choice([chance.randint(1, 10), chance.randint(10, 60), chance.randint(40, 99)]),
        "gradient_mb": chance.choice(GRADIENT_MB),
        "minibatch": chance.randint(1, 3),
        "forward_ms": chance.choice(FORWARD_MS),
        "backward_ms": chance.choice(BACKWARD_MS),
    }
    if fields["gpus"] <= len(free) and chance.random() < 0.1:
        held: dict[str, list[int]] = {}
        for _ in range(fields["gpus"]):
            server, gpu = free.pop()
            held.setdefault(server, []).append(gpu)
        fields |= {"running_on": held, "done_iterations": chance.randrange(fields["iterations"])}
    return Job(name=name, **fields)


def _submitted(chance: Random, scenario: Scenario, job: Job, estimates: bool) -> Job:
    """In continuous time no arrival falls on a completion, and no two but alike ones on one instant."""
    slot_s, changes = scenario.time.slot_s, dict[str, Any]()
    if not job.is_running:
        offset = chance.choice([0.0, 0.37]) if scenario.time.slotted else 0.0
        step = slot_s if scenario.time.slotted else slot_s * SUBMIT_STEP
        changes["submit_s"] = (chance.randint(0, chance.choice([2, 6, 20])) + offset) * step
    if estimates and chance.random() < 0.6:
        best_s = float(formulas.best_case_duration_s(scenario, job))
        changes["estimate_s"] = best_s * chance.choice(ERRORS)
    return job.replace(**changes)
