"""How many iterations jobs complete that hold given GPUs at given times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ringsched.contention.fabric import fabric_of
from ringsched.contention.iteration_time import work_of
from ringsched.model import Cluster, Contention, Job, Placement


class Stay(NamedTuple):
    """A job on its GPUs from start to end, one iteration being what `job` describes."""

    job: Job
    start_s: float
    end_s: float
    gpus: Placement


def iterations_done(stays: Sequence[Stay], cluster: Cluster, contention: Contention) -> list[float]:
    """Return the iterations of each stay, a real number: the integral of 1/tau over its time.

    Examples
    --------
    >>> from ringsched.generate.like_servers import CONTENTION, like_servers
    >>> job = Job(
    ...     name="a", gpus=1, iterations=1, gradient_mb=9, minibatch=1, forward_ms=0, backward_ms=200
    ... )
    >>> stay = Stay(job, 0.0, 10.0, Placement({"s0": [3]}))
    >>> iterations_done([stay], like_servers(1, 8), CONTENTION.replace(server_latency_ms=0))
    [50.0]
    """
    fabric = fabric_of(cluster, contention)
    index = {server.name: at for at, server in enumerate(cluster.servers)}
    rings = [
        fabric.ring(
            work_of(stay.job, cluster),
            fabric.shape({index[name]: len(held) for name, held in stay.gpus.items()}),
        )
        for stay in stays
    ]
    paces = fabric.paces(rings, [stay.start_s for stay in stays], [stay.end_s for stay in stays])
    instants, taus = paces.instant.tolist(), paces.tau.tolist()
    done = []
    for stay, (first, end) in zip(stays, pairwise(paces.first.tolist()), strict=True):
        steps = zip(pairwise([*instants[first:end], stay.end_s]), taus[first:end], strict=True)
        done.append(sum((until - since) / tau for (since, until), tau in steps))
    return done
