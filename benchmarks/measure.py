"""The figures of docs/benchmarks.md, one function each; ratios are measured within one run."""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.reference.algorithm_1 import sjf_bco

import ringsched
from benchmarks.effort import sized
from ringsched import Cluster, Scenario, Time, Workload, generate
from ringsched.engine.problem import problem_of
from ringsched.policies.policy import priorities
from ringsched.rules.runner import Runner
from ringsched.rules.table import BALANCED, LEAST_LOADED, Rule

PAPER_SEEDS = sized(3, 1)
COMPARE_SEEDS = sized(20, 2)
LARGE_SERVERS = sized(1_250, 20)
SCALED_JOBS = sized((500, 1000, 2000, 4000, 8000), (50, 100))
SCALED_SERVERS = sized((64, 128, 256, 512, 1024), (64, 128))
SCALED_PERCENT = sized((5, 10, 25, 50, 100), (5, 100))
MANY_JOBS = sized(2000, 100)
TRIALS = sized(60, 2)
SCALED_TRIALS = sized(15, 2)


def best_of(work: Callable[[], object], *, repeats: int, number: int = 1) -> float:
    """Return the shortest time of one call in seconds: what the machine can do when left alone."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        for _ in range(number):
            work()
        times.append((time.perf_counter() - started) / number)
    return min(times)


def one_trial() -> dict[str, Any]:
    """One (theta, kappa) trial of the paper's workload: 160 jobs on 20 servers."""
    results = {}
    for kappa in (1, 8, 32):
        problem = problem_of(generate(Workload.paper(horizon_s=None)))
        runner = Runner(problem, priorities(problem, "smallest-first"))
        runner.run(BALANCED, theta=problem.horizon, kappa=kappa)

        def trial(runner: Runner = runner, kappa: int = kappa, theta: int = problem.horizon) -> None:
            runner.run(BALANCED, theta=theta, kappa=kappa)

        results[f"kappa {kappa}, ms"] = 1e3 * best_of(trial, repeats=TRIALS, number=20)
    return results


def algorithm_1() -> dict[str, Any]:
    """All of SJF-BCO, from scenario to plan, against the literal Algorithm 1 of the tests."""
    ours, literal = 0.0, 0.0
    for seed in range(PAPER_SEEDS):
        scenario = generate(Workload.paper(), seed=seed)
        ours += best_of(lambda scenario=scenario: _planned(scenario, "sjf-bco"), repeats=5)  # type: ignore[misc]
        literal += best_of(lambda scenario=scenario: sjf_bco(scenario, exact=False, jump=True), repeats=1)  # type: ignore[misc]
    return {
        "kernels, s": ours / PAPER_SEEDS,
        "literal, s": literal / PAPER_SEEDS,
        "times faster": literal / ours,
    }


def large() -> dict[str, Any]:
    """10,000 jobs on 1,250 servers x 8 GPUs, each policy in a separate process."""
    results: dict[str, Any] = {}
    for policy in ("longest-first", "first-fit", "list-scheduling", "sjf-bco"):
        answer = subprocess.run(
            [sys.executable, "-m", "benchmarks.measure", policy],
            capture_output=True,
            text=True,
            check=True,
        )
        results |= {f"{policy}, {key}": value for key, value in json.loads(answer.stdout).items()}
    return results


def one_large_plan(policy: str) -> dict[str, Any]:
    """Plan the large scenario once, kernels loaded; time and peak memory of the whole process."""
    slots = Time(slot_s=60.0)
    scenario = generate(
        Workload.uniform(jobs=8 * LARGE_SERVERS, cluster=Cluster.of_servers(LARGE_SERVERS), time=slots)
    )
    _planned(generate(Workload.uniform(jobs=10, cluster=Cluster.of_servers(8), time=slots)), policy)
    started = time.perf_counter()
    plan = ringsched.plan(scenario, policy)
    seconds = time.perf_counter() - started
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"s": seconds, "gap": plan.gap, "peak MiB": peak_mib}


def compare() -> dict[str, Any]:
    """`ringsched compare`: 20 seeds of the paper's workload x 5 policies, warm."""
    with TemporaryDirectory() as directory:
        files = []
        for seed in range(COMPARE_SEEDS):
            path = Path(directory, f"{seed}.json")
            path.write_text(json.dumps(generate(Workload.paper(), seed=seed).expanded()))
            files.append(str(path))
        policies = "sjf-bco,first-fit,list-scheduling,random,longest-first"
        command = [sys.executable, "-m", "ringsched", "compare", *files, "--policies", policies, "--json"]
        started = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        return {"s": time.perf_counter() - started}


def scaling() -> dict[str, Any]:
    """How the time of one trial grows with jobs, with GPUs and with spread jobs; fitted exponents."""
    series: dict[str, list[tuple[float, float]]] = {"jobs": [], "GPUs": [], "6-GPU jobs, %": []}
    for jobs in SCALED_JOBS:
        series["jobs"].append((jobs, _time_of(jobs=jobs, servers=256)))
    for servers in SCALED_SERVERS:
        series["GPUs"].append((8 * servers, _time_of(jobs=MANY_JOBS, servers=servers)))
    # Contention: more and more of the jobs are spread, by a rule that spreads them as widely as can be.
    for percent in SCALED_PERCENT:
        sizes = {1: 100 - percent, 6: percent} if percent < 100 else {6: 100}
        seconds = _time_of(jobs=MANY_JOBS, servers=256, sizes=sizes, rule=LEAST_LOADED)
        series["6-GPU jobs, %"].append((percent, seconds))
    return {name: {"points": points, "exponent": exponent(points)} for name, points in series.items()}


def _time_of(*, jobs: int, servers: int, sizes: Any = "paper", rule: Rule = BALANCED) -> float:
    cluster, slots = Cluster.of_servers(servers), Time(slot_s=600.0)
    problem = problem_of(generate(Workload.uniform(jobs=jobs, sizes=sizes, cluster=cluster, time=slots)))
    runner = Runner(problem, priorities(problem, "smallest-first"))
    return best_of(lambda: runner.run(rule, theta=problem.horizon, kappa=4), repeats=SCALED_TRIALS)


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of a least-squares line through the logarithms."""
    pairs = [(math.log(x), math.log(y)) for x, y in points]
    mean_x = sum(x for x, _ in pairs) / len(pairs)
    mean_y = sum(y for _, y in pairs) / len(pairs)
    return sum((x - mean_x) * (y - mean_y) for x, y in pairs) / sum((x - mean_x) ** 2 for x, _ in pairs)


def _planned(scenario: Scenario, policy: str) -> None:
    with suppress(ringsched.Infeasible):
        ringsched.plan(scenario, policy)


if __name__ == "__main__":
    print(json.dumps(one_large_plan(sys.argv[1])))
