"""Instances so small that the optimum is proved: what section 6 promises, held against it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from ringsched import api
from ringsched.engine.problem import problem_of
from ringsched.model import Cluster, Contention, Job, Scenario, Server
from ringsched.paper.experiments import TinyRow, rounded
from ringsched.rules.shared import CHARGE_UNITS, charges
from ringsched.workloads.draw import JOBS, SERVERS, Draw

ONE_GPU, NO_EXCHANGE, EXCHANGE = "one-GPU jobs", "no exchange", "exchange"
KINDS = (ONE_GPU, NO_EXCHANGE, EXCHANGE)
COMPUTE_MS = 100.0  # ten iterations a slot of a second
DURATION_SLOTS = (2, 9)
GRADIENT_MB = (10.0, 60.0)  # alone between two servers: 8 to 48 ms beside the computation


def tiny_rows(seed: int) -> list[TinyRow]:
    """Return a row for an instance of each kind."""
    return [_row(kind, seed) for kind in KINDS]


def tiny_instance(kind: str, seed: int) -> Scenario:
    """Return four to six jobs on a few GPUs, with an exchange of gradients only for one kind."""
    draw = Draw(seed, SERVERS)
    sizes = [draw.integer(2, 3)] if kind == ONE_GPU else [draw.integer(2, 3), 2]
    servers = tuple(Server(name=f"s{at}", gpus=gpus) for at, gpus in enumerate(sizes))
    return Scenario(
        name=f"tiny, {kind}, seed {seed}",
        cluster=Cluster(servers=servers, inter_server_gbps=10.0, intra_server_gbps=200.0, reduce_gbps=400.0),
        contention=Contention(degradation=0.2745),
        jobs=_jobs(Draw(seed, JOBS), kind),
    )


def _jobs(draw: Draw, kind: str) -> tuple[Job, ...]:
    return tuple(
        Job(
            name=f"job-{at}",
            gpus=1 if kind == ONE_GPU else draw.choice((1, 1, 2, 3)),
            iterations=10 * draw.integer(*DURATION_SLOTS),
            gradient_mb=round(draw.uniform(*GRADIENT_MB), 1) if kind == EXCHANGE else 0.0,
            minibatch=1,
            forward_ms=0.0,
            backward_ms=COMPUTE_MS,
        )
        for at in range(draw.integer(4, 6))
    )


def _row(kind: str, seed: int) -> TinyRow:
    scenario = tiny_instance(kind, seed)
    plan, optimum = api.plan(scenario, "sjf-bco"), api.plan(scenario, "exact")
    certificate = plan.certificate
    assert certificate is not None  # sjf-bco has one wherever there are jobs
    problem = problem_of(scenario)
    return TinyRow(
        seed=seed,
        kind=kind,
        jobs=len(scenario.jobs),
        gpus=scenario.cluster.capacity,
        optimum_s=rounded(optimum.makespan_s),
        makespan_s=rounded(plan.makespan_s),
        theta=certificate.theta,
        largest_load=rounded(certificate.max_load),
        best_largest_load=least_largest_load(
            charges(problem).tolist(), problem.gpus, scenario.cluster.capacity
        )
        / CHARGE_UNITS,
        largest_job=certificate.largest_job,
        worst_over_best=rounded(certificate.worst_over_best),
        claimed_ratio=rounded(certificate.claimed_ratio),
    )


def least_largest_load(charged: Sequence[int], sizes: Sequence[int], num_gpus: int) -> int:
    """Return θ*: the least largest load over all ways to give every job its number of GPUs.

    Which GPU is which does not matter to loads, so sorted loads are all that is remembered.

    Examples
    --------
    >>> least_largest_load([10, 10, 20], [1, 1, 1], num_gpus=2)
    20
    """
    reached = {(0,) * num_gpus}
    for charge, size in zip(charged, sizes, strict=True):
        reached = {
            tuple(sorted(load + charge * (at in chosen) for at, load in enumerate(loads)))
            for loads in reached
            for chosen in combinations(range(num_gpus), size)
        }
    return min(max(loads) for loads in reached)
