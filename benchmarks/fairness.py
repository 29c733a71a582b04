"""`python -m benchmarks.fairness`: mean completion against the largest slowdown and the longest wait.

It prints the table of docs/concepts/search.md: one queue beside running jobs, planned for two objectives and
with several limits on waiting.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import ringsched
from benchmarks.worlds import worlds
from ringsched import Plan, Scenario, Stop
from ringsched.formatting import duration, percent_above

WORLD = "running"
MAX_WAITS_S = (14400.0, 7200.0, 3600.0)
SCHEDULES = 20_000


def main() -> None:
    """Measure and print."""
    options = _options()
    scenario = worlds()[options.world](options.seed)
    print("| objective | `--max-wait` | mean completion | longest wait | largest slowdown | gap |")
    print("|---|---|---|---|---|---|")
    for limit, plan in plans(scenario, Stop(max_schedules=options.max_schedules)):
        waits_s = [job.start_s - each.submit_s for job, each in zip(plan.jobs, scenario.jobs, strict=True)]
        cells = (
            f"`{plan.objective}`",
            limit,
            duration(plan.mean_completion_s),
            duration(max(waits_s)),
            f"{plan.max_slowdown:.2f}",
            percent_above(plan.gap),
        )
        print(f"| {' | '.join(cells)} |", flush=True)


def plans(scenario: Scenario, stop: Stop) -> Iterator[tuple[str, Plan]]:
    """Yield plans with the limit on waiting in words."""
    for objective in ("mean-completion", "max-slowdown"):
        yield "none", ringsched.plan(scenario, objective=objective, stop=stop)
        if objective == "mean-completion":
            for limit_s in MAX_WAITS_S:
                yield (
                    duration(limit_s),
                    ringsched.plan(scenario, objective=objective, max_wait_s=limit_s, stop=stop),
                )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fairness", description=__doc__)
    parser.add_argument("world", nargs="?", default=WORLD, choices=[*worlds()])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-schedules", type=int, default=SCHEDULES, help="Schedules of each search.")
    return parser.parse_args()


if __name__ == "__main__":
    main()
