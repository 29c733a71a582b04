"""`python -m benchmarks.against_rules`: the search against all simple policies in all orders, world by world.

It prints a line for each world, objective and seed: the search over the best simple policy, below 1 if it is
better, and both over the lower bound. With `-o FILE` the rows are kept, and `--before FILE` compares with the
rows of another checkout, both over the bounds of this one. For a checkout that has `ringsched.Workload`, run

    PYTHONPATH=CHECKOUT/src python -m benchmarks.against_rules --search-only -o FILE
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import ringsched
from benchmarks.worlds import SEEDS, worlds
from ringsched import Infeasible, Scenario, Stop
from ringsched.policies.policy import ORDERS
from ringsched.policies.table import policies

LARGE = "large"
OBJECTIVES = ("makespan", "mean-completion")
_BISECTING = ("sjf-bco", "list-scheduling", "first-fit")


class Row(NamedTuple):
    """One search against the simple policies."""

    world: str
    objective: str
    seed: int
    search_s: float
    simple_s: float
    simple: str  # the best simple policy and its order
    bound_s: float
    schedules: int

    @property
    def ratio(self) -> float:
        """The search over the best simple policy."""
        return self.search_s / self.simple_s

    @property
    def gap(self) -> float:
        """How far the search is above the bound, in percent."""
        return 100 * (self.search_s / self.bound_s - 1)

    @property
    def simple_gap(self) -> float:
        """How far the best simple policy is above the bound, in percent."""
        return 100 * (self.simple_s / self.bound_s - 1)


def compared(
    world: str, scenario: Scenario, objective: str, seed: int, stop: Stop, *, search_only: bool = False
) -> Row:
    """Return the row of one scenario."""
    simple = (float("inf"), "none")
    if not search_only:
        simple = best_simple(scenario, objective, large=world == LARGE)
    plan = ringsched.plan(scenario, "search", objective=objective, stop=stop)
    return Row(
        world,
        objective,
        seed,
        plan.objective_s,
        *simple,
        plan.lower_bound_s,
        int(plan.params["iterations"]),
    )


def best_simple(scenario: Scenario, objective: str, *, large: bool = False) -> tuple[float, str]:
    """Return the best value of all simple policies in all orders, and which it is."""
    best = (float("inf"), "none")
    for policy in policies():
        if policy.name in ("search", "exact") or (large and policy.name in _BISECTING):
            continue
        if scenario.contention.model_name not in policy.models:
            continue
        for order in ORDERS:
            try:
                plan = ringsched.plan(scenario, policy.name, order=order, objective=objective)
            except Infeasible:
                continue
            best = min(best, (plan.objective_s, f"{policy.name}, {order}"))
    return best


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return how many searches lost, and the mean gaps."""
    result: dict[str, Any] = {"searches": len(rows)}
    result["losses"] = sum(row.ratio > 1 + 1e-9 for row in rows)
    for objective in dict.fromkeys(row.objective for row in rows):
        those = [row for row in rows if row.objective == objective]
        far = [row.ratio for row in those if row.simple_gap > 5]
        result[f"{objective}, mean gap, %"] = fmean(row.gap for row in those)
        result[f"{objective}, mean gap of the best simple policy, %"] = fmean(row.simple_gap for row in those)
        if far:
            result[f"{objective}, better than simple where those are 5 % above, %"] = 100 * (1 - fmean(far))
    return result


def halved(rows: Sequence[Row], before: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each world and objective: the mean gap before and now."""
    then = {row[:3]: row.search_s for row in before}
    for key in dict.fromkeys(row[:2] for row in rows):
        both = [(row, then[row[:3]]) for row in rows if row[:2] == key and row[:3] in then]
        if both:
            now = fmean(row.gap for row, _ in both)
            was = fmean(100 * (value_s / row.bound_s - 1) for row, value_s in both)
            yield f"{key[0]:14} {key[1]:20} mean gap {was:6.2f} % before, {now:6.2f} % now"


def main() -> int:
    """Measure; return 1 if the search lost anywhere."""
    options = _options()
    rows = list(_measured(options))
    print(json.dumps(summary(rows), indent=1))
    if options.before is not None:
        before = [Row(*json.loads(line)) for line in options.before.read_text().splitlines()]
        print("\n".join(halved(rows, before)))
    return int(any(row.ratio > 1 + 1e-9 for row in rows))


def _measured(options: argparse.Namespace) -> Iterator[Row]:
    stop = Stop(time_limit_s=options.time_limit, max_schedules=options.max_schedules)
    for world, build in worlds().items():
        if options.worlds and world not in options.worlds:
            continue
        for seed in list(SEEDS)[options.first_seed : options.first_seed + options.seeds]:
            scenario = build(seed)
            for objective in options.objectives:
                is_weighted = world == "weights" and objective == "mean-completion"
                judged_by = "weighted-completion" if is_weighted else objective
                began_s, load = time.perf_counter(), os.getloadavg()[0]
                row = compared(world, scenario, judged_by, seed, stop, search_only=options.search_only)
                if options.output is not None:
                    with options.output.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                print(
                    f"{world:14} {row.objective:20} {seed}  ratio {row.ratio:.4f}  gap {row.gap:6.2f} %  "
                    f"simple {row.simple_gap:6.2f} % ({row.simple})  {row.schedules} schedules, "
                    f"{time.perf_counter() - began_s:.0f} s, load {load:.1f}",
                    flush=True,
                )
                yield row


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against_rules", description=__doc__)
    parser.add_argument("worlds", nargs="*", metavar="WORLD", help="Worlds (default: all).")
    parser.add_argument("--objectives", nargs="+", default=OBJECTIVES)
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="How many seeds.")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=10.0, help="Seconds of each search.")
    parser.add_argument("--max-schedules", type=int, help="Schedules of each search.")
    parser.add_argument("--search-only", action="store_true", help="Leave out the simple policies.")
    parser.add_argument("-o", "--output", type=Path, help="Add the rows to this file.")
    parser.add_argument("--before", type=Path, help="Rows of another checkout.")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
