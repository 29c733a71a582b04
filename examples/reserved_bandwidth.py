"""Reserved bandwidth against shared links, on the paper's workload: what lies idle, and what that costs."""

from __future__ import annotations

import sys
from statistics import mean

import ringsched


def idle_share(scenario: ringsched.Scenario, plan: ringsched.Plan) -> float:
    """Share of all lanes that is idle on servers' links, while at least one job is on them."""
    times: dict[str, list[tuple[float, float]]] = {}
    for job in plan.jobs:
        for server in job.gpus if len(job.gpus) > 1 else ():
            times.setdefault(server, []).append((job.start_s, job.finish_s))
    used = sum(finish - start for link in times.values() for start, finish in link)
    return 1 - used / (scenario.contention.lanes * sum(covered(link) for link in times.values()))


def covered(times: list[tuple[float, float]]) -> float:
    """Length of the union of intervals."""
    total, until = 0.0, 0.0
    for start, finish in sorted(times):
        total += max(0.0, finish - max(start, until))
        until = max(until, finish)
    return total


def main(num_seeds: int = 3) -> None:
    workloads = [ringsched.generate(ringsched.Workload.paper(), seed=seed) for seed in range(num_seeds)]
    print("links    makespan s  mean completion s  lanes idle")
    show("shared", [plan_shared(scenario) for scenario in workloads])
    for lanes in (1, 2, 4, 8):
        reserved = [
            scenario.replace(contention=scenario.contention.replace(model="reserved", lanes=lanes))
            for scenario in workloads
        ]
        plans = [ringsched.plan(scenario, "free-links") for scenario in reserved]
        idle = mean(idle_share(scenario, plan) for scenario, plan in zip(reserved, plans, strict=True))
        show(f"{lanes} lane{'s' * (lanes > 1)}", plans, f"{idle:.0%}")


def plan_shared(scenario: ringsched.Scenario) -> ringsched.Plan:
    """Best fit in the order of free-links: the same policy, except that it ignores the links."""
    return ringsched.plan(scenario, "longest-first", order="smallest-area-first")


def show(name: str, plans: list[ringsched.Plan], idle: str = "") -> None:
    makespan_s, completion_s = (
        mean(plan.makespan_s for plan in plans),
        mean(plan.mean_completion_s for plan in plans),
    )
    print(f"{name:8} {makespan_s:10.1f} {completion_s:18.1f} {idle:>11}".rstrip())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
