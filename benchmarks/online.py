"""The figures of jobs that arrive over time: real traces, a million jobs, and plain SimPy beside it."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ringsched
from benchmarks import adapters
from benchmarks.effort import sized
from benchmarks.measure import best_of, exponent
from ringsched import Cluster, Scenario, Simulation, Stop, Workload, generate
from ringsched.analysis.over_time import over_time
from ringsched.workloads import offered_load

TRACES = Path(os.environ.get("RINGSCHED_TRACES", Path(__file__).parents[2] / "shared" / "data" / "traces"))
MURI_LOAD = 0.8
LARGE_JOBS = sized((10_000, 30_000, 100_000, 300_000, 1_000_000), (1_000, 2_000))
SIMPY_JOBS = sized(4000, 400)
TRACE_JOBS = sized(None, 60)  # all
SCHEDULES = sized(200, 10)


def philly() -> dict[str, Any]:
    """All jobs of the Philly trace on 64 servers x 8 GPUs in 8 racks, contention on."""
    return _dispatching(_philly()) | _command(_philly())


def muri() -> dict[str, Any]:
    """The Muri trace at a load of 0.8 on 64 servers x 8 GPUs in 8 racks; most jobs have several GPUs."""
    scenario = _muri()
    results = {"jobs": len(scenario.jobs), "load": offered_load(scenario)}
    return results | _dispatching(scenario)


def planning() -> dict[str, Any]:
    """Policies that plan again at every arrival: the Muri trace at a load of 0.8."""
    scenario = _muri()
    results: dict[str, Any] = {}
    for policy, stop in (("sjf-bco", None), ("rolling", Stop(max_schedules=SCHEDULES))):
        ringsched.simulate(scenario.replace(jobs=scenario.jobs[:20]), policy, stop=stop)
        started = time.perf_counter()
        simulation = ringsched.simulate(scenario, policy, stop=stop)
        seconds = time.perf_counter() - started
        results |= {f"{policy}, jobs/s": len(scenario.jobs) / seconds}
        results |= {f"{policy}, {key}": value for key, value in _quality(simulation).items()}
        results[f"{policy}, plans"] = simulation.num_plans
    return results


def million() -> dict[str, Any]:
    """Up to a million generated jobs at a load of 0.8 on 12,500 GPUs, each in a separate process."""
    results: dict[str, Any] = {}
    points = []
    for jobs in LARGE_JOBS:
        answer = _in_process("one_large", str(jobs))
        points.append((jobs, answer["s"]))
        results |= {
            f"{jobs} jobs, s": answer["s"],
            f"{jobs} jobs, us a job": 1e6 * answer["s"] / jobs,
            f"{jobs} jobs, peak MiB": answer["peak MiB"],
        }
    results["cost of a job, last over first"] = (points[-1][1] / LARGE_JOBS[-1]) / (
        points[0][1] / LARGE_JOBS[0]
    )
    results["exponent"] = exponent(points)
    return results


def one_large(jobs: str) -> dict[str, Any]:
    """Simulate so many jobs once, kernels loaded; time and peak memory of the whole process."""
    cluster = Cluster.of_servers(1250, 10, switches=50)
    scenario = generate(Workload.poisson(load=0.8, jobs=int(jobs), cluster=cluster))
    ringsched.simulate(scenario.replace(jobs=scenario.jobs[:100]))
    repeats = max(2, 100_000 // int(jobs))
    seconds = best_of(lambda: ringsched.simulate(scenario), repeats=repeats)
    return {"s": seconds, "peak MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def simpy() -> dict[str, Any]:
    """The same scenario in plain SimPy: 4,000 jobs at a load of 0.8 on 64 servers x 8 GPUs, fifo."""
    from benchmarks import simpy_model

    cluster = Cluster.of_servers(64, switches=8)
    scenario = generate(Workload.poisson(load=0.8, jobs=SIMPY_JOBS, cluster=cluster))
    started = time.perf_counter()
    starts_s, finishes_s = simpy_model.run(scenario)
    theirs = time.perf_counter() - started
    ringsched.simulate(scenario)  # loads the kernels
    ours = best_of(lambda: ringsched.simulate(scenario), repeats=20)
    simulation = ringsched.simulate(scenario)
    return {
        "simpy, jobs/s": SIMPY_JOBS / theirs,
        "ringsched, jobs/s": SIMPY_JOBS / ours,
        "times faster": theirs / ours,
        "largest difference, s": max(
            *abs(simulation.start_s - starts_s), *abs(simulation.finish_s - finishes_s)
        ),
    }


def _dispatching(scenario: Scenario) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for policy in ("fifo", "contention-aware", "free-links"):
        for backfill in ("none", "easy"):
            if (policy, backfill) == ("free-links", "easy"):
                continue
            name = policy if backfill == "none" else f"{policy} + {backfill}"
            simulation = ringsched.simulate(scenario, policy, backfill=backfill)

            def again(policy: str = policy, backfill: str = backfill) -> None:
                ringsched.simulate(scenario, policy, backfill=backfill)

            repeats = 3 if len(scenario.jobs) > 10_000 else 20
            results[f"{name}, jobs/s"] = len(scenario.jobs) / best_of(again, repeats=repeats)
            results |= {f"{name}, {key}": value for key, value in _quality(simulation).items()}
    return results


def _quality(simulation: Simulation) -> dict[str, Any]:
    result = over_time(simulation)
    figures = {"max queue": result.max_queue, "mean completion, h": result.mean_completion_s / 3600}
    if simulation.backfill == "easy":
        figures["backfilled, %"] = 100 * result.num_backfilled / result.num_jobs
    return figures


def _command(scenario: Scenario) -> dict[str, Any]:
    """Return how long the whole command takes, from the file to the table."""
    results = {}
    with TemporaryDirectory() as directory:
        path = Path(directory, "scenario.json")
        ringsched.save_scenario(scenario, path)
        for backfill in ("none", "easy"):
            command = [sys.executable, "-m", "ringsched", "simulate", str(path), "--backfill", backfill]
            started = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True)
            results[f"command, {backfill}, s"] = time.perf_counter() - started
    return results


@cache
def _philly() -> Scenario:
    return _imported("philly.csv.gz", "philly")


@cache
def _muri() -> Scenario:
    """Return the trace with its arrivals brought closer together, or further apart, to the load."""
    scenario = _imported("muri_trace1.csv.gz", "muri")
    factor = offered_load(scenario) / MURI_LOAD
    jobs = tuple(job.replace(submit_s=job.submit_s * factor) for job in scenario.jobs)
    return scenario.replace(jobs=jobs)


def _imported(name: str, kind: str) -> Scenario:
    scenario = adapters.imported(TRACES / name, kind)
    return scenario.replace(jobs=scenario.jobs[:TRACE_JOBS])


def _in_process(name: str, argument: str) -> dict[str, Any]:
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.online", name, argument],
        capture_output=True,
        text=True,
        check=True,
    )
    result: dict[str, Any] = json.loads(answer.stdout)
    return result


if __name__ == "__main__":
    print(json.dumps({"one_large": one_large}[sys.argv[1]](sys.argv[2])))
