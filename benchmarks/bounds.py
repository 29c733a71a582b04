"""How far plans are from lower bounds, and whose fault it is: `python -m benchmarks.bounds`.

For each world and seed, the gap of a plan by `search` to the bounds without and with those that know
placements and links. For tiny twins, policy `exact` proves the optimum: what lies below it is the fault of
the bound, what lies above it that of the search.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from statistics import fmean

import ringsched
from benchmarks.worlds import SEEDS, twins, worlds
from ringsched import Scenario
from ringsched.model import Bound
from ringsched.model.objective import ALL, Objective

NEWER = frozenset({"after-running", "few-at-once", "required-servers", "shared-links", "priced-placements"})
EQUAL = 1 - 1e-9  # a bound that is the optimum but for rounding


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one table of worlds and one of twins."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("worlds", nargs="*", metavar="WORLD", help="Names of worlds; all if none is given.")
    parser.add_argument("--seconds", type=float, default=5.0, help="Time limit of each search.")
    parser.add_argument("--twins", type=int, default=60, help="Number of twins.")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="Number of seeds of each world.")
    options = parser.parse_args(arguments)
    known = worlds()
    print(
        "| world | seed | objective | gap before | gap now | bound now | s |\n|---|---|---|---|---|---|---|"
    )
    for name in options.worlds or known:
        for seed in range(options.seeds):
            for line in _gaps(known[name](seed), options.seconds):
                print(f"| {name} | {seed} | {line} |", flush=True)
    _print_twins(list(islice(twins(), options.twins)), options.seconds)


def _gaps(scenario: Scenario, seconds: float) -> Iterator[str]:
    for objective in ALL[:2]:
        plan = ringsched.plan(
            scenario, "search", objective=objective.name, stop=ringsched.Stop(time_limit_s=seconds)
        )
        value_s = getattr(plan, objective.field)
        started = time.perf_counter()
        bounds = ringsched.lower_bounds(scenario, objective.name)
        spent_s = time.perf_counter() - started
        before, now = (value_s / bound_s - 1 for bound_s in _before_and_now(bounds))
        yield f"{objective.name} | {before:.1%} | {now:.1%} | {bounds[0].name} | {spent_s:.2f}"


def _before_and_now(bounds: Iterable[Bound]) -> tuple[float, float]:
    values = {bound.name: bound.value_s for bound in bounds}
    return max(value for name, value in values.items() if name not in NEWER), max(values.values())


def _print_twins(scenarios: list[tuple[str, Scenario]], seconds: float) -> None:
    head = "fault of the bound before", "now", "bound is the optimum before", "now", "fault of the search"
    print(f"\n| objective | twins proved | {' | '.join(head)} |\n|---|---|---|---|---|---|---|")
    for objective in ALL:
        rows = [row for _, scenario in scenarios if (row := _faults(scenario, objective, seconds))]
        before, now, search = ([row[at] for row in rows] for at in range(3))
        shares = (f"{fmean(fault <= 1 / EQUAL - 1 for fault in faults):.0%}" for faults in (before, now))
        figures = (f"{fmean(before):.1%}", f"{fmean(now):.1%}", *shares, f"{fmean(search):.1%}")
        print(f"| {objective.name} | {len(rows)} | {' | '.join(figures)} |", flush=True)


def _faults(scenario: Scenario, objective: Objective, seconds: float) -> tuple[float, float, float] | None:
    """Return how far the optimum is above the bounds, before and now, and the search above the optimum."""
    stop = ringsched.Stop(time_limit_s=seconds)
    try:
        optimum = ringsched.plan(scenario, "exact", objective=objective.name, stop=stop)
    except ringsched.TooLarge:
        return None
    if optimum.params["proof"] != "optimal":
        return None
    # With a number of schedules the search has no proof to help it.
    found = ringsched.plan(
        scenario, "search", objective=objective.name, stop=ringsched.Stop(max_schedules=2000)
    )
    best_s, value_s = (getattr(plan, objective.field) for plan in (optimum, found))
    before_s, now_s = _before_and_now(optimum.bounds)
    return best_s / before_s - 1, best_s / now_s - 1, value_s / best_s - 1


if __name__ == "__main__":
    main()
