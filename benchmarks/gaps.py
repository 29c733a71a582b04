"""`python -m benchmarks.gaps`: how far every online policy is at most from the best possible.

On all of Philly with the defaults of its import, on Muri at two loads, and on a diurnal workload; with exact
estimates, and with estimates that are wrong by a factor of up to 2; with EASY, and without it. The lower
bound holds for every policy, even one that knows the future. All that defines a scenario is explicit, and its
digest is checked, so that later defaults do not change what is measured.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import ringsched
from benchmarks import adapters
from benchmarks.effort import sized
from benchmarks.online import TRACES
from ringsched import Cluster, Contention, Scenario, Time, Workload, generate
from ringsched.analysis.certified import certified_gaps
from ringsched.workloads import offered_load

NUM_JOBS = sized(None, 60)  # all
WRONG = 1.0  # estimates: by a factor between 1/2 and 2
BISECTING = ("sjf-bco", "first-fit", "list-scheduling")
GOAL = "rolling within 1 % of the best policy, with and without wrong estimates"
NOTE = "The bound holds for every policy, even one that knows the future. Wrong: by a factor of up to 2."
SPEEDS = {"inter_server_gbps": 100.0, "intra_server_gbps": 200.0, "reduce_gbps": 400.0}
SHA256 = {
    "diurnal": "164471f65ea4f46c84436ef5426f9a3136da3afa9e2440ff114baf096bcf5a36",
    "muri 0.9 14": "36298b581e2bed83b2121be6bee8ff53078543d4dbc6ba2be3d44bdadabd2611",
    "muri 1.1 14": "a2abaf8e20c9e6f5a805c57a185de7db52e18a2d7a03ba5964323b1bfaba3e41",
}
MOST_BISECTED = 500  # jobs: beyond, policies that bisect at every arrival take hours


def philly() -> dict[str, Any]:
    """Every online policy on all of Philly with the defaults of its import: gaps in mean completion."""
    scenario = adapters.philly_phased(TRACES / "philly.csv.gz")
    return gaps(scenario.replace(jobs=scenario.jobs[:NUM_JOBS]))


def muri_09() -> dict[str, Any]:
    """Every online policy on Muri at a load of 0.9 on 14 servers x 8 GPUs: gaps in mean completion."""
    return gaps(muri(0.9))


def muri_11() -> dict[str, Any]:
    """Every online policy on Muri at a load of 1.1 on 14 servers x 8 GPUs: gaps in mean completion."""
    return gaps(muri(1.1))


def diurnal() -> dict[str, Any]:
    """Every online policy on 1,000 diurnal jobs at a load of 0.9 on 16 servers: gaps in mean completion."""
    workload = Workload.diurnal(
        load=0.9,
        swing=0.8,
        peak_hour=14.0,
        jobs=sized(1000, 60),
        sizes="philly",
        models="uniform",
        min_hours=0.5,
        max_hours=8.0,
        cluster=Cluster.of_servers(16, 8).replace(**SPEEDS),
        contention=Contention(model="paper", share=1.0, degradation=0.2745, server_latency_ms=0.2),
        time=Time(model="continuous"),
    )
    return gaps(_checked("diurnal", generate(workload, seed=1)))


def gaps(scenario: Scenario) -> dict[str, Any]:
    """Return mean completion and gap of every policy, and how far `rolling` is from the best."""
    figures: dict[str, Any] = {"jobs": len(scenario.jobs), "load": offered_load(scenario)}
    for error in (0.0, WRONG):
        wrong = ", wrong estimates" if error else ""
        found: dict[str, float] = {}
        for policy, backfill in _runs(scenario):
            simulation = ringsched.simulate(scenario, policy, backfill=backfill, estimate_error=error)
            label = (policy if backfill == "none" else f"{policy} + {backfill}") + wrong
            certified = {each.objective: each for each in certified_gaps(simulation)}["mean-completion"]
            found[label] = certified.value_s
            figures[f"{label}, mean completion, h"] = certified.value_s / 3600
            figures[f"{label}, gap"] = certified.gap
            print(f"{label:50s} {certified.value_s / 3600:10.3f} h {certified.gap:8.3f}", flush=True)
        figures[f"rolling over the best policy{wrong}"] = found[f"rolling{wrong}"] / min(found.values())
    return figures


def _runs(scenario: Scenario) -> Iterator[tuple[str, str]]:
    for policy in ringsched.list_policies(online=True):
        if policy.name not in BISECTING or len(scenario.jobs) <= MOST_BISECTED:
            for backfill in ("none",) if policy.rolls else ("none", "easy"):
                yield policy.name, backfill


@cache
def muri(load: float, num_servers: int = 14) -> Scenario:
    """Return the Muri trace on so many servers, its arrivals brought to a load."""
    around = Scenario(
        cluster=Cluster.of_servers(num_servers, 8).replace(**SPEEDS),
        contention=Contention(model="phases", server_latency_ms=0.2),
        time=Time(model="continuous"),
        jobs=(),
    )
    scenario = ringsched.import_trace(TRACES / "muri_trace1.csv.gz", "muri", cluster=around).scenario
    factor = offered_load(scenario) / load
    jobs = tuple(job.replace(submit_s=job.submit_s * factor) for job in scenario.jobs)
    checked = _checked(f"muri {load:g} {num_servers}", scenario.replace(jobs=jobs))
    return checked.replace(jobs=checked.jobs[:NUM_JOBS])


def _checked(name: str, scenario: Scenario) -> Scenario:
    """Return a scenario that is the same as ever, if all of it is simulated."""
    found = scenario.sha256()
    assert sized(SHA256.get(name, found), found) == found, f"{name} is another scenario: {found}"
    return scenario


if __name__ == "__main__":
    for name in sys.argv[1:] or ("diurnal", "muri_09", "muri_11", "philly"):
        print(name, flush=True)
        for key, value in globals()[name]().items():
            print(f"{key:60s} {value:12.5g}", flush=True)
