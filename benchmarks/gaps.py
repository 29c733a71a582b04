"""`python -m benchmarks.gaps`: how far every online policy is at most from the best possible.

On all of Philly with the defaults of its import, on Muri at two loads, and on a diurnal workload; with exact
estimates, and with estimates that are wrong by a factor of up to 2; with EASY, and without it. The lower
bound holds for every policy, even one that knows the future.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import ringsched
from benchmarks.effort import sized
from benchmarks.online import TRACES
from ringsched import Cluster, Scenario, Workload, generate
from ringsched.analysis.certified import certified_gaps
from ringsched.workloads import offered_load

NUM_JOBS = sized(None, 60)  # all
WRONG = 1.0  # estimates: by a factor between 1/2 and 2
BISECTING = ("sjf-bco", "first-fit", "list-scheduling")
MOST_BISECTED = 5000  # jobs: beyond, policies that bisect at every arrival take hours


def gaps(name: str) -> dict[str, Any]:
    """Return mean completion and gap of every policy on a workload, and how far `rolling` is from the best."""
    scenario = WORKLOADS[name]()
    figures: dict[str, Any] = {"jobs": len(scenario.jobs), "load": offered_load(scenario)}
    for error in (0.0, WRONG):
        found: dict[str, float] = {}
        for policy, backfill in _runs(scenario):
            simulation = ringsched.simulate(scenario, policy, backfill=backfill, estimate_error=error)
            label = policy if backfill == "none" else f"{policy} + {backfill}"
            label += ", wrong estimates" if error else ""
            certified = {each.objective: each for each in certified_gaps(simulation)}["mean-completion"]
            found[label] = certified.value_s
            figures[f"{label}, mean completion, h"] = certified.value_s / 3600
            figures[f"{label}, gap"] = certified.gap
        rolling = min(value for label, value in found.items() if label.startswith("rolling"))
        key = "rolling over the best policy" + (", wrong estimates" if error else "")
        figures[key] = rolling / min(found.values())
    return figures


def _runs(scenario: Scenario) -> Iterator[tuple[str, str]]:
    for policy in ringsched.list_policies(online=True):
        if policy.name not in BISECTING or len(scenario.jobs) <= MOST_BISECTED:
            for backfill in ("none", "easy"):
                yield policy.name, backfill


@cache
def _philly() -> Scenario:
    scenario = ringsched.import_trace(TRACES / "philly.csv.gz", "philly").scenario
    return scenario.replace(jobs=scenario.jobs[:NUM_JOBS])


@cache
def muri(load: float, num_servers: int = 14) -> Scenario:
    """Return the Muri trace on so many servers, its arrivals brought to a load."""
    cluster = Cluster.of_servers(num_servers, 8)
    around = Scenario(cluster=cluster, time=ringsched.Time(model="continuous"), jobs=())
    scenario = ringsched.import_trace(TRACES / "muri_trace1.csv.gz", "muri", cluster=around).scenario
    factor = offered_load(scenario) / load
    jobs = tuple(job.replace(submit_s=job.submit_s * factor) for job in scenario.jobs[:NUM_JOBS])
    return scenario.replace(jobs=jobs)


def _diurnal() -> Scenario:
    workload = Workload.diurnal(load=0.9, jobs=sized(1000, 60), cluster=Cluster.of_servers(16))
    return generate(workload, seed=1)


WORKLOADS: dict[str, Callable[[], Scenario]] = {
    "philly": _philly,
    "muri 0.9": lambda: muri(0.9),
    "muri 1.1": lambda: muri(1.1),
    "diurnal": _diurnal,
}


def main(names: Sequence[str]) -> None:
    """Print the figures of the named workloads, or of all."""
    for name in names or WORKLOADS:
        for key, value in gaps(name).items():
            print(f"{name}: {key:60s} {value:12.5g}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
