"""The paper's workload under simple policies, and how near its lower bounds are; no clock is involved."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import ringsched
from benchmarks.effort import sized
from ringsched import Scenario, Workload
from ringsched.bounds.makespan import core_bounds
from ringsched.engine.problem import problem_of

SHARES = (0.05, 0.15, 0.3)
SEEDS = sized(range(12), range(2))
# The first is what the others are compared with, all in their own orders.
POLICIES = ("free-links", "sjf-bco", "lwf", "adaptive-overlap")
LONGEST_FIRST = ("longest-first", "free-links")
METRICS = {"makespan_s": "makespan", "mean_completion_s": "mean completion"}
BOUND_SEEDS = sized(range(1, 21), range(1, 3))
BOUND_SETTINGS = [(0.15, 20), (0.15, 10), (0.3, 20), (0.3, 10)]


def policies() -> dict[str, Any]:
    """Simple policies on the paper's workload, 12 seeds: makespan over that of `free-links`."""
    results: dict[str, Any] = {}
    for share in SHARES:
        scenarios = [ringsched.generate(Workload.paper(contention_share=share), seed=seed) for seed in SEEDS]
        results |= _ratios(f"contention {share}", scenarios, POLICIES, "own")
        results |= _ratios(f"contention {share}, longest first", scenarios, LONGEST_FIRST, "longest-first")
    return results


def _ratios(prefix: str, scenarios: list[Scenario], names: tuple[str, ...], order: str) -> dict[str, Any]:
    """Return the gap of every policy, and its ratios to the first with their 95 % intervals."""
    results: dict[str, Any] = {}
    for policy in ringsched.compare(scenarios, names, orders=(order,), workers=1).summary:
        results[f"{prefix}, {policy.policy}: mean gap"] = policy.means["gap"]
        for key, metric in METRICS.items():
            if key in policy.pairs:
                pair = policy.pairs[key]
                name = f"{prefix}, {policy.policy} over {names[0]}, {metric}"
                results |= {name: pair.mean, f"{name}, low": pair.low, f"{name}, high": pair.high}
    return results


def bounds() -> dict[str, Any]:
    """Lower bounds on the paper's workload, 20 seeds, means in slots."""
    results: dict[str, Any] = {}
    for share, servers in BOUND_SETTINGS:
        rows = [_bounds(share, servers, seed) for seed in BOUND_SEEDS]
        for key in rows[0]:
            results[f"contention {share}, {servers} servers: {key}"] = fmean(row[key] for row in rows)
        by_long_jobs = sum(row["makespan, all"] > row["makespan, core"] for row in rows)
        results[f"contention {share}, {servers} servers: seeds by long-jobs"] = by_long_jobs
    return results


def _bounds(share: float, servers: int, seed: int) -> dict[str, float]:
    scenario = ringsched.generate(Workload.paper(servers, share, horizon_s=None), seed=seed)
    plan = ringsched.plan(scenario, "longest-first", order="smallest-area-first", objective="mean-completion")
    on_mean = ringsched.lower_bounds(scenario, "mean-completion")
    return {
        "makespan, core": max(bound.value_s for bound in core_bounds(problem_of(scenario))),
        "makespan, all": ringsched.lower_bounds(scenario)[0].value_s,
        **{f"mean completion, {bound.name}": bound.value_s for bound in on_mean},
        "mean completion, longest-first by smallest-area-first: gap": plan.gap,
    }
