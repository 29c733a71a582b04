"""The figures of what is said about plans: who slows whom, and what would be if."""

from __future__ import annotations

from typing import Any

import ringsched
from benchmarks.effort import sized
from benchmarks.measure import best_of
from ringsched import Job, Scenario
from ringsched.analysis.whatif.changes import AddServers, LinkFactor, LinkSpeed, OtherContention, RemoveServer
from ringsched.formats.catalogue import CATALOGUE

REPEATS = sized(5, 1)
JOBS = sized(2_000, 80)
# A handful of questions, as an operator would ask them at once.
CHANGES = (
    AddServers(count=2),
    RemoveServer(name="s0"),
    LinkFactor(factor=2.0),
    LinkSpeed(inter_server_gbps=400.0),
    OtherContention(fields={"degradation": 0.0}),
)


def explain() -> dict[str, Any]:
    """`ringsched.explain`: the ledger of 2,000 jobs on 2,000 GPUs in 10 racks, and one job less."""
    scenario = _uniform(jobs=JOBS, servers=JOBS // 8, switches=10)
    results: dict[str, Any] = {}
    for policy in ("longest-first", "random"):
        plan = ringsched.plan(scenario, policy)
        ledger = ringsched.explain(scenario, plan)
        seconds = best_of(lambda plan=plan: ringsched.explain(scenario, plan), repeats=REPEATS)  # type: ignore[misc]
        results[f"{policy}, s"] = seconds
        results[f"{policy}, entries"] = len(ledger.entries.seconds)
        # Jobs that few or none share a link with are as quick to leave out as the worst.
        worst = next(iter(ledger.by_culprit()), scenario.jobs[0].name)
        without = best_of(lambda ledger=ledger, worst=worst: ledger.without(worst), repeats=REPEATS)  # type: ignore[misc]
        results[f"{policy}, without the worst, s"] = without
    return results


def whatif() -> dict[str, Any]:
    """`ringsched.whatif`: 200 jobs on 256 GPUs by longest-first; five variants, and one more job."""
    scenario = _uniform(jobs=200, servers=32, switches=0)
    job = Job(name="new", gpus=16, iterations=20_000, **CATALOGUE["resnet50"].fields())
    results: dict[str, Any] = {}
    for policy in ("longest-first", "random"):
        plan = ringsched.plan(scenario, policy)

        def variants(plan: ringsched.Plan = plan) -> None:
            ringsched.whatif(scenario, *CHANGES, plan=plan, policy="longest-first")

        def one_more_job(plan: ringsched.Plan = plan) -> None:
            ringsched.whatif_job(scenario, job, plan=plan, policy="longest-first")

        results[f"plan by {policy}, five variants, s"] = best_of(variants, repeats=REPEATS)
        results[f"plan by {policy}, one more job, s"] = best_of(one_more_job, repeats=REPEATS)
    return results


def _uniform(*, jobs: int, servers: int, switches: int) -> Scenario:
    cluster = ringsched.Cluster.of_servers(servers, switches=switches)
    return ringsched.generate(ringsched.Workload.uniform(jobs=jobs, cluster=cluster))
