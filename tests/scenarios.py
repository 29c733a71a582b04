"""Small builders shared by the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ringsched.model import Cluster, Contention, Job, Scenario, Server, Switch, Time


def job(name: str = "job", gpus: int = 1, iterations: int = 10, **fields: Any) -> Job:
    """A job that computes 100 ms an iteration and exchanges nothing, unless told otherwise."""
    defaults: dict[str, Any] = {"gradient_mb": 0, "minibatch": 1, "forward_ms": 0, "backward_ms": 100}
    return Job(name=name, gpus=gpus, iterations=iterations, **(defaults | fields))


def cluster(*gpus: int, switches: Mapping[str, float] | Sequence[Switch] = (), **fields: Any) -> Cluster:
    """Servers s0, s1, ... with the given numbers of GPUs; switches as they are, or as uplinks by name."""
    defaults: dict[str, Any] = {"inter_server_gbps": 10, "intra_server_gbps": 200, "reduce_gbps": 400}
    servers = tuple(Server(name=f"s{at}", gpus=size) for at, size in enumerate(gpus))
    if isinstance(switches, Mapping):
        switches = [Switch(name=name, uplink_gbps=speed) for name, speed in switches.items()]
    return Cluster(**(defaults | {"servers": servers, "switches": tuple(switches)} | fields))


def scenario(cluster: Cluster, *jobs: Job, contention: Any = None, time: Any = None) -> Scenario:
    """A scenario of these parts; `contention` and `time` are dicts of fields."""
    return Scenario(
        cluster=cluster, jobs=jobs, contention=Contention(**(contention or {})), time=Time(**(time or {}))
    )
