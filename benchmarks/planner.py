"""The figures about the planner: how close `search` comes, beside what a user would try instead."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from statistics import fmean
from typing import Any

import ringsched
from benchmarks.effort import sized
from ringsched import Infeasible, Plan, Scenario
from ringsched.engine.problem import problem_of
from ringsched.rules.runner import Runner
from ringsched.rules.table import BEST_FIT

SEEDS = sized(range(1, 9), range(1, 2))
COMPLETION_SEEDS = sized(range(1, 6), range(1, 2))
SETTINGS = [(0.15, 20), (0.3, 20), (0.15, 10), (0.3, 10)]
LIMIT_S = sized(10.0, 0.5)
CP_SAT_SEEDS = sized(range(1, 3), range(1, 2))
CP_SAT_LIMIT_S = sized(20.0, 2.0)
LARGE_JOBS, LARGE_LIMIT_S = sized((2000, 60.0), (100, 1.0))


def makespans() -> dict[str, Any]:
    """Gap of `search` in makespan, paper's mix, 10 s a plan, and what it gains on SJF-BCO."""
    results: dict[str, Any] = {}
    for contention, servers in SETTINGS:
        rows = [_makespan_row(_scenario(seed, servers, contention)) for seed in SEEDS]
        gaps = [row["gap"] for row in rows]
        below = [1 - row["makespan_s"] / row["sjf_bco_s"] for row in rows]
        prefix = f"contention {contention}, {servers} servers"
        results |= {
            f"{prefix}: seeds": len(SEEDS),
            f"{prefix}: mean gap": fmean(gaps),
            f"{prefix}: largest gap": max(gaps),
            f"{prefix}: proved optimal": sum(gap <= 1 for gap in gaps),
            f"{prefix}: mean gap of longest-first": fmean(row["longest_first_gap"] for row in rows),
            f"{prefix}: mean gap of SJF-BCO": fmean(row["sjf_bco_gap"] for row in rows),
            f"{prefix}: below SJF-BCO, mean %": 100 * fmean(below),
            f"{prefix}: below SJF-BCO, least %": 100 * min(below),
            f"{prefix}: seeds above longest-first": sum(
                row["gap"] > row["longest_first_gap"] + 1e-12 for row in rows
            ),
        }
        _told(results, prefix)
    return results


def completions() -> dict[str, Any]:
    """Mean completion under `search --objective mean-completion`, 10 s a plan, against SJF-BCO."""
    results: dict[str, Any] = {}
    for contention, servers in SETTINGS[:1]:
        below, gaps = [], []
        for seed in COMPLETION_SEEDS:
            scenario = _scenario(seed, servers, contention)
            plan = ringsched.plan(
                scenario, "search", objective="mean-completion", stop=ringsched.Stop(time_limit_s=LIMIT_S)
            )
            paper = ringsched.plan(scenario, "sjf-bco")
            below.append(1 - plan.mean_completion_s / paper.mean_completion_s)
            gaps.append(plan.gap)
        prefix = f"contention {contention}, {servers} servers"
        results |= {
            f"{prefix}: below SJF-BCO, mean %": 100 * fmean(below),
            f"{prefix}: below SJF-BCO, least %": 100 * min(below),
            f"{prefix}: mean gap": fmean(gaps),
            f"{prefix}: largest gap": max(gaps),
        }
        _told(results, prefix)
    return results


def large_search() -> dict[str, Any]:
    """2,000 jobs of the paper's mix on 128 servers, 60 s, in a separate process."""
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.planner"], capture_output=True, text=True, check=True
    )
    result: dict[str, Any] = json.loads(answer.stdout)
    return result


def one_large_search() -> dict[str, Any]:
    """Search the large scenario once; how much of the way to the bound it closes, and the peak memory."""
    scenario = ringsched.generate(ringsched.Workload.paper(128, horizon_s=None, jobs=LARGE_JOBS), seed=1)
    best = min(_simple_plans(scenario), key=lambda plan: plan.makespan_s)
    plan = ringsched.plan(scenario, "search", stop=ringsched.Stop(time_limit_s=LARGE_LIMIT_S))
    return {
        "gap of the best simple policy": best.gap,
        "gap": plan.gap,
        "% of the distance closed": 100
        * (best.makespan_s - plan.makespan_s)
        / max(best.makespan_s - best.lower_bound_s, 1e-9),
        "schedules tried": plan.params["iterations"],
        "peak MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def cp_sat() -> dict[str, Any]:
    """What a user would try: CP-SAT on one pool of GPUs without contention, 20 s, and its order replayed."""
    results: dict[str, Any] = {}
    for contention, servers in ((0.15, 20), (0.15, 10)):
        pool, replayed, ours = [], [], []
        for seed in CP_SAT_SEEDS:
            scenario = _scenario(seed, servers, contention)
            problem = problem_of(scenario)
            bound = ringsched.lower_bounds(scenario)[0].value_s
            starts, makespan = _pool(problem.gpus, problem.best_case, problem.num_gpus)  # type: ignore[arg-type]
            pool.append(makespan / bound)
            runner = Runner(problem, starts)
            real = runner.run(BEST_FIT)
            assert real is not None  # best fit always comes to an end
            replayed.append(real / bound)
            ours.append(ringsched.plan(scenario, "search", stop=ringsched.Stop(time_limit_s=LIMIT_S)).gap)
        prefix = f"contention {contention}, {servers} servers"
        results |= {
            f"{prefix}: CP-SAT's own makespan over the bound": fmean(pool),
            f"{prefix}: its order under contention": fmean(replayed),
            f"{prefix}: search": fmean(ours),
        }
        _told(results, prefix)
    return results


def _pool(gpus: list[int], durations: list[int], num_gpus: int) -> tuple[list[int], int]:
    """Return starts and makespan of the best schedule CP-SAT finds on one pool of GPUs."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    horizon = sum(durations)
    starts = [model.new_int_var(0, horizon, f"start{job}") for job in range(len(gpus))]
    makespan = model.new_int_var(0, horizon, "makespan")
    spans = [
        model.new_fixed_size_interval_var(start, int(duration), "")
        for start, duration in zip(starts, durations, strict=True)
    ]
    model.add_cumulative(spans, list(gpus), num_gpus)
    for start, duration in zip(starts, durations, strict=True):
        model.add(makespan >= start + int(duration))
    model.minimize(makespan)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = CP_SAT_LIMIT_S
    solver.parameters.num_workers = 2
    solver.solve(model)
    return [solver.value(start) for start in starts], solver.value(makespan)


def _makespan_row(scenario: Scenario) -> dict[str, float]:
    plan = ringsched.plan(scenario, "search", stop=ringsched.Stop(time_limit_s=LIMIT_S))
    longest_first = ringsched.plan(scenario, "longest-first")
    paper = ringsched.plan(scenario, "sjf-bco")
    return {
        "gap": plan.gap,
        "makespan_s": plan.makespan_s,
        "longest_first_gap": longest_first.gap,
        "sjf_bco_gap": paper.gap,
        "sjf_bco_s": paper.makespan_s,
    }


def _scenario(seed: int, servers: int, contention: float) -> Scenario:
    # Without T: SJF-BCO is infeasible within 1200 slots on some draws of ten servers.
    return ringsched.generate(ringsched.Workload.paper(servers, contention, horizon_s=None), seed=seed)


def _simple_plans(scenario: Scenario) -> list[Plan]:
    plans = [ringsched.plan(scenario, "longest-first", order=order) for order in ringsched.ORDERS]
    for policy in ("sjf-bco", "first-fit", "list-scheduling"):
        try:
            plans.append(ringsched.plan(scenario, policy))
        except Infeasible:
            continue
    return plans


def _told(results: dict[str, Any], prefix: str) -> None:
    """Print what is known so far: these take minutes."""
    for key, value in results.items():
        if key.startswith(prefix):
            print(f"{key}: {value:.4g}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    print(json.dumps(one_large_search()))
