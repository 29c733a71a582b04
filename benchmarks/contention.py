"""How near the contention models come to exchanges simulated one by one, and what they cost."""

from __future__ import annotations

import random
from collections.abc import Callable
from statistics import median
from typing import Any

import ringsched
from benchmarks.effort import sized
from benchmarks.measure import best_of
from ringsched import Scenario
from ringsched.calibrate.predict import MODELS, Placed, predict, simulate_exchanges
from ringsched.model.calibration import Calibration

NETWORKS = sized(60, 2)
CROWDED_SERVERS = sized(100, 10)
SCHEDULES = sized(1000, 20)
LINKS = Calibration(inter_server_gbps=1.0)
KINDS = {
    "always exchanging": (1.0,),
    "all kinds": (1.0, 0.7, 0.5, 0.33, 0.2, 0.1),
    "a third to half": (0.5, 0.4, 0.3),
    "seldom": (0.2, 0.1, 0.05),
}


def models() -> dict[str, Any]:
    """Models of contention against exchanges simulated one by one, by how often jobs exchange."""
    results: dict[str, Any] = {}
    for kind, duty_cycles in KINDS.items():
        for model, sizes in errors(duty_cycles, networks=NETWORKS, draws=8, seed=7).items():
            ordered = sorted(sizes)
            results[f"{kind}, {model}, median error, %"] = round(100 * median(ordered), 1)
            results[f"{kind}, {model}, 95 % within, %"] = round(100 * ordered[int(0.95 * len(ordered))], 1)
            results[f"{kind}, {model}, worst, %"] = round(100 * ordered[-1], 1)
    return results | _costs()


def crowded() -> dict[str, Any]:
    """What fair links cost where many share them: 1,000 jobs on 800 GPUs in 5 racks, by two policies."""
    cluster = ringsched.Cluster.of_servers(CROWDED_SERVERS, switches=5)
    scenario = ringsched.generate(
        ringsched.Workload.uniform(jobs=10 * CROWDED_SERVERS, cluster=cluster), seed=1
    )
    results: dict[str, Any] = {}
    for policy in ("longest-first", "first-fit"):
        seconds = {model: _seconds_of(scenario, model, policy) for model in MODELS}
        for name, paper_s in seconds["paper"].items():
            results[f"{policy}, paper, {name}, s"] = paper_s
            for model in ("max-min", "phases"):
                results[f"{policy}, {name}, {model} over paper"] = seconds[model][name] / paper_s
    return results


def _seconds_of(scenario: Scenario, model: str, policy: str) -> dict[str, float]:
    """Return what it takes to plan under a model, to simulate, to verify and to explain."""
    scenario = scenario.replace(contention=scenario.contention.replace(model=model))
    plan = ringsched.plan(scenario, policy)
    work: dict[str, Callable[[], object]] = {
        "plan": lambda: ringsched.plan(scenario, policy),
        "simulate": lambda: ringsched.simulate(scenario, policy),
        "verify": lambda: ringsched.verify(scenario, plan),
        "explain": lambda: ringsched.explain(scenario, plan),
    }
    return {name: best_of(each, repeats=3) for name, each in work.items()}


def _costs() -> dict[str, float]:
    """Return the time of a search under fair models over that under the paper's, 160 jobs on 20 servers."""
    scenario = ringsched.generate(ringsched.Workload.paper())
    seconds = {}
    for model in MODELS:
        changed = scenario.replace(contention=scenario.contention.replace(model=model))

        def plan(changed: ringsched.Scenario = changed) -> None:
            ringsched.plan(changed, "search", stop=ringsched.Stop(max_schedules=SCHEDULES), workers=1)

        seconds[model] = best_of(plan, repeats=3)
    return {
        f"a search, {model} over paper": seconds[model] / seconds["paper"] for model in ("max-min", "phases")
    }


def errors(duty_cycles: tuple[float, ...], *, networks: int, draws: int, seed: int) -> dict[str, list[float]]:
    """Return the sizes of the relative errors of every model, over all jobs of random networks."""
    rng = random.Random(seed)
    found: dict[str, list[float]] = {model: [] for model in MODELS}
    for _ in range(networks):
        jobs = _jobs(duty_cycles, rng)
        simulated_s = _simulated(jobs, draws, rng)
        for model in MODELS:
            predicted_s = predict(jobs, LINKS, model)
            found[model] += [abs(p / s - 1) for p, s in zip(predicted_s, simulated_s, strict=True)]
    return found


def _jobs(duty_cycles: tuple[float, ...], rng: random.Random) -> list[Placed]:
    """Return two to seven jobs, each with a worker on two to four of three to six servers."""
    servers = rng.choice([3, 4, 6])
    jobs = []
    for _ in range(rng.randint(2, 7)):
        placement = tuple(sorted(rng.sample(range(servers), min(servers, rng.choice([2, 2, 2, 3, 4])))))
        alone = Placed(placement=placement, message_mb=rng.uniform(60, 250))
        compute_s = predict([alone], LINKS)[0] * (1 / rng.choice(duty_cycles) - 1)
        jobs.append(Placed(placement=placement, message_mb=alone.message_mb, compute_s=compute_s))
    return jobs


def _simulated(jobs: list[Placed], draws: int, rng: random.Random) -> list[float]:
    """Return seconds per iteration: averaged, by rates, over random starts, since those stay felt."""
    alone_s = [predict([job], LINKS)[0] for job in jobs]
    rates = [0.0] * len(jobs)
    for _ in range(draws):
        starts_s = [rng.uniform(0, each_s) for each_s in alone_s]
        took_s = simulate_exchanges(jobs, starts_s, LINKS, seconds=60 * max(alone_s))
        rates = [rate + 1 / each_s for rate, each_s in zip(rates, took_s, strict=True)]
    return [draws / rate for rate in rates]
