"""`python -m benchmarks.rolling`: `rolling` beside all other online policies, on two sets of workloads.

Its margins and schedules were chosen on `TUNED` and `benchmarks.gaps`. `FRESH` has other seeds, loads,
servers and sizes. Blocks of the Muri trace are drawn in another order: no workload has its arrivals.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import pairwise
from statistics import geometric_mean

import ringsched
from benchmarks.effort import sized
from benchmarks.gaps import BISECTING, SPEEDS, WRONG
from benchmarks.online import TRACES
from ringsched import Cluster, Contention, Job, Scenario, Time, Workload, generate
from ringsched.workloads import offered_load

NUM_JOBS = sized(700, 40)
BLOCK = 50  # jobs of the trace that stay together
ODD = "1:30,2:10,3:12,4:12,5:8,6:10,7:4,8:6,12:5,20:3"
PAPER = Contention.ethernet()
PHASES = Contention(model="phases", server_latency_ms=0.2)
NOTE = "Mean completion of rolling over that of the best other policy. Wrong: by a factor of up to 2."


def shuffled_muri(seed: int, load: float, servers: int, contention: Contention = PHASES) -> Scenario:
    """Return blocks of the Muri trace, drawn at random, with arrivals at a load."""
    whole = _muri(servers, contention)
    draw = random.Random(seed)
    gaps_s = [0.0, *(after.submit_s - before.submit_s for before, after in pairwise(whole.jobs))]
    jobs: list[Job] = []
    now_s = 0.0
    while len(jobs) < NUM_JOBS:
        first = draw.randrange(len(whole.jobs) - BLOCK)
        for at in range(first, first + BLOCK):
            now_s += gaps_s[at] * draw.uniform(0.5, 1.5)
            jobs.append(whole.jobs[at].replace(name=f"j{len(jobs)}", submit_s=now_s))
    scenario = whole.replace(jobs=tuple(jobs[:NUM_JOBS]))
    factor = offered_load(scenario) / load
    return scenario.replace(jobs=tuple(job.replace(submit_s=job.submit_s * factor) for job in scenario.jobs))


def drawn(
    kind: str,
    seed: int,
    load: float,
    servers: int,
    sizes: str,
    contention: Contention,
    *,
    switches: int = 0,
    max_hours: float = 8.0,
) -> Scenario:
    """Return jobs that arrive as a Poisson process, or by day and night."""
    workload = getattr(Workload, kind)(
        load=load,
        jobs=NUM_JOBS,
        sizes=sizes,
        max_hours=max_hours,
        cluster=Cluster.of_servers(servers, 8, switches=switches).replace(**SPEEDS),
        contention=contention,
        time=Time(model="continuous"),
    )
    return generate(workload, seed=seed)


@cache
def _muri(servers: int, contention: Contention) -> Scenario:
    around = Scenario(
        cluster=Cluster.of_servers(servers, 8).replace(**SPEEDS),
        contention=contention,
        time=Time(model="continuous"),
        jobs=(),
    )
    return ringsched.import_trace(TRACES / "muri_trace1.csv.gz", "muri", cluster=around).scenario


TUNED: dict[str, Callable[[], Scenario]] = {
    "muri 0.8, 14 servers": partial(shuffled_muri, 10, 0.8, 14),
    "muri 0.9, 14 servers": partial(shuffled_muri, 11, 0.9, 14),
    "muri 0.9, 14 servers, again": partial(shuffled_muri, 21, 0.9, 14),
    "muri 1.0, 10 servers": partial(shuffled_muri, 12, 1.0, 10),
    "muri 1.1, 14 servers": partial(shuffled_muri, 13, 1.1, 14),
    "muri 1.1, 20 servers, paper": partial(shuffled_muri, 14, 1.1, 20, PAPER),
    "poisson 0.9, paper sizes": partial(drawn, "poisson", 10, 0.9, 10, "paper", PHASES),
    "poisson 1.0, odd sizes": partial(drawn, "poisson", 11, 1.0, 8, ODD, PAPER),
    "poisson 0.9, odd sizes, racks": partial(drawn, "poisson", 12, 0.9, 12, ODD, PHASES, switches=4),
    "diurnal 0.9, philly sizes": partial(drawn, "diurnal", 13, 0.9, 16, "philly", PAPER),
    "diurnal 0.8, paper sizes": partial(drawn, "diurnal", 14, 0.8, 8, "paper", PHASES),
    "diurnal 1.0, paper sizes, racks": partial(
        drawn, "diurnal", 10, 1.0, 16, "paper", PAPER, switches=4, max_hours=48.0
    ),
}
FRESH: dict[str, Callable[[], Scenario]] = {
    "muri 0.8, 10 servers": partial(shuffled_muri, 15, 0.8, 10),
    "muri 0.9, 14 servers": partial(shuffled_muri, 16, 0.9, 14),
    "muri 0.9, 20 servers, paper": partial(shuffled_muri, 17, 0.9, 20, PAPER),
    "muri 1.0, 14 servers": partial(shuffled_muri, 18, 1.0, 14),
    "muri 1.1, 14 servers": partial(shuffled_muri, 19, 1.1, 14),
    "muri 1.1, 28 servers": partial(shuffled_muri, 20, 1.1, 28),
    "poisson 0.8, uniform sizes": partial(drawn, "poisson", 15, 0.8, 12, "uniform", PHASES),
    "poisson 1.1, paper sizes": partial(drawn, "poisson", 16, 1.1, 10, "paper", PAPER),
    "poisson 0.9, odd sizes": partial(drawn, "poisson", 17, 0.9, 10, ODD, PHASES, max_hours=100.0),
    "poisson 1.0, odd sizes, racks": partial(drawn, "poisson", 18, 1.0, 12, ODD, PAPER, switches=3),
    "diurnal 0.9, philly sizes": partial(drawn, "diurnal", 19, 0.9, 18, "philly", PHASES),
    "diurnal 0.9, paper sizes": partial(drawn, "diurnal", 20, 0.9, 12, "paper", PAPER),
    "diurnal 0.8, odd sizes, racks": partial(drawn, "diurnal", 15, 0.8, 16, ODD, PHASES, switches=4),
}


def compare(workloads: Mapping[str, Callable[[], Scenario]]) -> None:
    """Print mean completion of `rolling` over that of the best other policy, for each workload."""
    for error in (0.0, WRONG):
        ratios = []
        for name, scenario_of in workloads.items():
            scenario = scenario_of()
            other, best_s = best_other(scenario, error)
            found_s = ringsched.simulate(scenario, "rolling", estimate_error=error).mean_completion_s
            ratios.append(found_s / best_s)
            print(f"  {name:35s} {found_s / 3600:9.3f} h {ratios[-1]:7.4f} of {other}", flush=True)
        wrong = "wrong" if error else "exact"
        print(
            f"  {wrong} estimates: mean {geometric_mean(ratios):.4f}, largest {max(ratios):.4f}", flush=True
        )


def best_other(scenario: Scenario, error: float) -> tuple[str, float]:
    """Return the best policy but `rolling`, and its mean completion in seconds."""
    found = {}
    for policy in ringsched.list_policies(online=True):
        if policy.name not in BISECTING and not policy.rolls:
            for backfill in ("none", "easy"):
                simulation = ringsched.simulate(
                    scenario, policy.name, backfill=backfill, estimate_error=error
                )
                label = policy.name if backfill == "none" else f"{policy.name} + {backfill}"
                found[label] = simulation.mean_completion_s
    name = min(found, key=found.__getitem__)
    return name, found[name]


if __name__ == "__main__":
    print(f"Workloads of {NUM_JOBS} jobs. {NOTE}")
    for title, workloads in (("tuned", TUNED), ("fresh", FRESH)):
        print(title, flush=True)
        compare(workloads)
