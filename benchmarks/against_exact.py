"""`python -m benchmarks.against_exact`: the search against the best plans of tiny queues, proved by `exact`.

It prints in how many cases the search is within 1 % of the best plan, and the worst of all.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import islice

import ringsched
from benchmarks.worlds import NUM_TWINS, twins
from ringsched import Stop, TooLarge

NEAR = 1.01
OBJECTIVE = "weighted-completion"
EXACT_S = 20.0


def main() -> int:
    """Measure; return 1 if fewer than 95 % of the searches are near the best plan."""
    options = _options()
    ratios: dict[str, float] = {}
    unproved = 0
    for name, scenario in islice(twins(), options.first, options.first + options.number):
        try:
            best = ringsched.plan(
                scenario, "exact", objective=OBJECTIVE, stop=Stop(time_limit_s=options.exact_time_limit)
            )
        except TooLarge:
            unproved += 1
            continue
        plan = ringsched.plan(
            scenario, "search", objective=OBJECTIVE, stop=Stop(time_limit_s=options.time_limit)
        )
        ratios[name] = plan.objective_s / best.objective_s
        if ratios[name] > NEAR:
            print(f"{name}: {ratios[name]:.4f}", flush=True)
    near = 100 * sum(ratio <= NEAR for ratio in ratios.values()) / max(1, len(ratios))
    worst = max(ratios, key=ratios.__getitem__, default="none")
    print(
        json.dumps(
            {
                "cases": len(ratios),
                "without a proof": unproved,
                "within 1 %, %": near,
                "worst": worst,
                "worst ratio": ratios.get(worst),
            },
            indent=1,
        )
    )
    return int(near < 95)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against_exact", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="The first case.")
    parser.add_argument("--number", type=int, default=NUM_TWINS, help="How many cases.")
    parser.add_argument("--time-limit", type=float, default=1.0, help="Seconds of each search.")
    parser.add_argument("--exact-time-limit", type=float, default=EXACT_S, help="Seconds of each proof.")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
