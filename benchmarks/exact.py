"""How large an instance policy exact proves: `python -m benchmarks.exact` prints a table.

Servers of three GPUs and jobs of two to six, so that most jobs must span servers and contend.
"""

from __future__ import annotations

import random
import time

import ringsched
from ringsched import Cluster, Contention, Job, Scenario, Server, Time
from ringsched.engine.problem import problem_of
from ringsched.policies.exact import ANY_ORDER, solve_exact
from ringsched.policies.policy import Limits, Settings

SIZES = [(4, 3), (5, 3), (5, 4), (6, 4), (7, 4), (8, 4)]
SEEDS = 5
TIME_LIMIT_S = 20.0


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


def measured(scenario: Scenario) -> tuple[str, float]:
    """Return what was proved, and in how many seconds."""
    problem = problem_of(scenario)
    started = time.perf_counter()
    try:
        found = solve_exact(problem, Settings(order=ANY_ORDER, limits=Limits(time_limit_s=TIME_LIMIT_S)))
    except ringsched.TooLarge:
        return "none", time.perf_counter() - started
    return str(found.params["proof"]), time.perf_counter() - started


def main() -> None:
    """Print one row for each size and time model."""
    measured(instance(2, 2, "slotted", 0, 4))  # compiles
    print(f"{SEEDS} seeds each, {TIME_LIMIT_S:g} s each at most")
    print("| time | jobs | servers | optimal | within 1 % | median s | longest s |")
    print("|---|---|---|---|---|---|---|")
    for model, longest in (("slotted", 20), ("slotted", 200), ("continuous", 20)):
        for num_jobs, num_servers in SIZES:
            results = [
                measured(instance(num_jobs, num_servers, model, seed, longest)) for seed in range(SEEDS)
            ]
            times = sorted(seconds for _, seconds in results)
            optimal = sum(proof == "optimal" for proof, _ in results)
            close = sum(proof.startswith("within") for proof, _ in results)
            unit = f"{model}, up to {longest} {'slots' if model == 'slotted' else 's'}"
            print(
                f"| {unit} a job | {num_jobs} | {num_servers} | {optimal} | {close} "
                f"| {times[len(times) // 2]:.2f} | {times[-1]:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
