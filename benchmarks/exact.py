"""How large an instance policy exact proves.

Servers of three GPUs and jobs of two to six, so that most jobs must span servers and contend.
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any

import ringsched
from benchmarks.effort import sized
from ringsched import Cluster, Contention, Job, Scenario, Server, Time
from ringsched.engine.problem import problem_of
from ringsched.policies.exact import solve_exact
from ringsched.policies.policy import ANY_ORDER, Limits, Settings

KINDS = {
    "slotted, up to 20 slots a job": ("slotted", 20),
    "slotted, up to 200 slots a job": ("slotted", 200),
    "continuous, up to 20 s a job": ("continuous", 20),
}
SIZES = sized([(4, 3), (5, 3), (5, 4), (6, 4), (8, 4)], [(4, 3)])
SEEDS = sized(3, 1)
TIME_LIMIT_S = sized(10.0, 1.0)


def instance(num_jobs: int, num_servers: int, model: str, seed: int, longest: int) -> Scenario:
    """Return jobs of up to about `longest` slots, half of whose time or more is exchange when spread."""
    draw = random.Random(seed)
    servers = tuple(Server(name=f"s{at}", gpus=3) for at in range(num_servers))
    jobs = tuple(
        Job(
            name=f"j{at}",
            gpus=draw.choice([2, 2, 4, 4, 5, 6]),
            iterations=10 * draw.randint(longest // 4, longest),
            gradient_mb=draw.choice([10, 40, 80]),
            minibatch=1,
            forward_ms=0,
            backward_ms=draw.choice([20, 40, 60]),
        )
        for at in range(num_jobs)
    )
    return Scenario(
        cluster=Cluster(servers=servers, inter_server_gbps=10, intra_server_gbps=200, reduce_gbps=400),
        jobs=jobs,
        contention=Contention(degradation=0.2745),
        time=Time(model=model),
    )


def exact() -> dict[str, Any]:
    """How many jobs policy `exact` proves a best plan for, on servers of three GPUs."""
    _measured(instance(2, 2, "slotted", 0, 4))  # loads the kernels
    results: dict[str, Any] = {"seeds": SEEDS, "limit, s": TIME_LIMIT_S}
    for kind, (model, longest) in KINDS.items():
        for num_jobs, num_servers in SIZES:
            proofs, times_s = zip(
                *(_measured(instance(num_jobs, num_servers, model, seed, longest)) for seed in range(SEEDS)),
                strict=True,
            )
            name = f"{kind}, {num_jobs} jobs, {num_servers} servers"
            results |= {
                f"{name}: optimal": sum(proof == "optimal" for proof in proofs),
                f"{name}: within 1 %": sum(proof.startswith("within") for proof in proofs),
                f"{name}: median s": sorted(times_s)[SEEDS // 2],
                f"{name}: longest s": max(times_s),
            }
            print(f"{name}: {max(times_s):.1f} s at most", file=sys.stderr, flush=True)
    return results


def _measured(scenario: Scenario) -> tuple[str, float]:
    """Return what was proved, and in how many seconds."""
    problem = problem_of(scenario)
    started = time.perf_counter()
    try:
        found = solve_exact(problem, Settings(order=ANY_ORDER, limits=Limits(time_limit_s=TIME_LIMIT_S)))
    except ringsched.TooLarge:
        return "none", time.perf_counter() - started
    return str(found.params["proof"]), time.perf_counter() - started
