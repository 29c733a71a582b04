"""The timed quantities of docs/benchmarks.md as short tasks with a fixed amount of work.

Each task prepares its scenario from a seed and returns a function to time. A task's name is
`benchmark/case`, with the benchmark's name in `python -m benchmarks.run`. Long benchmarks are scaled down.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ringsched
from benchmarks import adapters
from ringsched import Job, Plan, Scenario
from ringsched.analysis.whatif.changes import AddServers, LinkFactor, LinkSpeed, OtherContention, RemoveServer

CATALOGUE = adapters.known_models()

Work = Callable[[], Any]
# The function to time, and what must be equal in both versions, computed from its result. Of a search, which
# has a fixed time, the value it reaches is compared instead of its time; that function is None then.
Prepared = tuple[Work, Callable[[Any], Any] | None]
Prepare = Callable[[], Prepared]

TRACES = Path(os.environ.get("RINGSCHED_TRACES", Path(__file__).parents[2] / "shared" / "data" / "traces"))
MODELS = ("paper", "max-min", "phases")
DISPATCHING = (
    ("fifo", "none"),
    ("fifo", "easy"),
    ("contention-aware", "none"),
    ("contention-aware", "easy"),
    ("free-links", "none"),
    ("free-links", "easy"),
)
PHILLY_JOBS = 20_000
COMMAND_JOBS = 10_000
PLANNING_JOBS = 80
SEARCH_S = 2.0
COMPARE_SEEDS = 2
COMPARED = ("sjf-bco", "first-fit", "list-scheduling", "random", "longest-first")


def tasks() -> dict[str, Prepare]:
    """Return every task by its name, in the order of docs/benchmarks.md."""
    return dict(_all())


def _all() -> Iterator[tuple[str, Prepare]]:
    yield from _trials()
    yield from _plans()
    yield from _searches()
    yield from _simulations()
    yield from _insights()
    yield from _crowded()
    yield from _lab()


def _trials() -> Iterator[tuple[str, Prepare]]:
    for kappa in (1, 8, 32):
        yield f"one_trial/kappa {kappa}", partial(_one_trial, kappa)
    for jobs, servers in ((500, 256), (8000, 256), (2000, 64), (2000, 1024)):
        yield f"scaling/{jobs} jobs, {8 * servers} GPUs", partial(_scaled_trial, jobs, servers)
    for percent in (5, 100):
        sizes = {1: 100 - percent, 6: percent} if percent < 100 else {6: 100}
        yield f"scaling/{percent} % 6-GPU jobs", partial(_scaled_trial, 2000, 256, sizes, "LEAST_LOADED")


def _one_trial(kappa: int) -> Prepared:
    return adapters.trial(adapters.generated("paper", seed=0, horizon_s=None), kappa=kappa), _itself


def _scaled_trial(jobs: int, servers: int, sizes: Any = "paper", rule: str = "BALANCED") -> Prepared:
    scenario = _uniform(jobs=jobs, servers=servers, sizes=sizes, slot_s=600.0)
    return adapters.trial(scenario, rule=rule, kappa=4), _itself


def _plans() -> Iterator[tuple[str, Prepare]]:
    yield "algorithm_1/3 seeds", _algorithm_1
    for policy, jobs in (
        ("longest-first", 4_000),
        ("first-fit", 4_000),
        ("list-scheduling", 2_000),
        ("sjf-bco", 1_000),
    ):
        yield f"large/{policy}, {jobs} jobs", partial(_large, policy, jobs)
    yield "compare/function", _compare
    yield "compare/command", _compare_command
    for objective in ("makespan", "mean-completion"):
        yield f"bounds/{objective}, 160 jobs", partial(_bounds, "paper", objective)
        yield f"bounds/{objective}, 2000 jobs", partial(_bounds, "large", objective)
    yield "exact/slotted", partial(_exact, "slotted", ((4, 5), (5, 1), (5, 4)))
    yield "exact/continuous", partial(_exact, "continuous", ((4, 2), (4, 4), (5, 2)))


def _algorithm_1() -> Prepared:
    scenarios = [adapters.generated("paper", seed=seed) for seed in range(3)]

    def work() -> list[Plan]:
        plans = []
        for scenario in scenarios:
            with suppress(ringsched.Infeasible):
                plans.append(ringsched.plan(scenario, "sjf-bco"))
        return plans

    return work, lambda plans: [_times(plan) for plan in plans]


def _large(policy: str, jobs: int) -> Prepared:
    scenario = _uniform(jobs=jobs, servers=jobs // 8, slot_s=60.0)
    return partial(ringsched.plan, scenario, policy), _times


def _compare() -> Prepared:
    scenarios = [adapters.generated("paper", seed=seed) for seed in range(COMPARE_SEEDS)]
    work = partial(ringsched.compare, scenarios, COMPARED, workers=1)
    return work, lambda comparison: [row.makespan_s for row in comparison.rows]


def _compare_command() -> Prepared:
    files = [_saved(adapters.generated("paper", seed=seed)) for seed in range(COMPARE_SEEDS)]
    # Few and quick policies: most of this is the start of a command and its processes.
    return _command("compare", *files, "--policies", "longest-first,first-fit", "--json"), _nothing


def _bounds(size: str, objective: str) -> Prepared:
    scenario = (
        adapters.generated("paper", seed=1)
        if size == "paper"
        else _uniform(jobs=2000, servers=250, switches=10)
    )
    work = partial(ringsched.lower_bounds, scenario, objective)
    return work, lambda bounds: [bound.value_s for bound in bounds]


def _exact(model: str, cases: Sequence[tuple[int, int]]) -> Prepared:
    """Plan numbers of jobs with seeds that are proved optimal long before the time limit of the policy."""
    scenarios = [_tiny(num_jobs, model, seed) for num_jobs, seed in cases]

    def work() -> list[Plan]:
        return [ringsched.plan(scenario, "exact") for scenario in scenarios]

    return work, lambda plans: [_times(plan) for plan in plans]


def _tiny(num_jobs: int, model: str, seed: int) -> Scenario:
    """Return jobs that mostly must span servers of three GPUs, and exchange half of their time."""
    draw = random.Random(seed)
    jobs = tuple(
        Job(
            name=f"j{at}",
            gpus=draw.choice([2, 2, 4, 4, 5, 6]),
            iterations=10 * draw.randint(5, 20),
            gradient_mb=draw.choice([10, 40, 80]),
            minibatch=1,
            forward_ms=0,
            backward_ms=draw.choice([20, 40, 60]),
        )
        for at in range(num_jobs)
    )
    servers = tuple(ringsched.Server(name=f"s{at}", gpus=3) for at in range(3))
    return Scenario(
        cluster=ringsched.Cluster(
            servers=servers, inter_server_gbps=10, intra_server_gbps=200, reduce_gbps=400
        ),
        jobs=jobs,
        contention=ringsched.Contention(degradation=0.2745),
        time=ringsched.Time(model=model),
    )


def _searches() -> Iterator[tuple[str, Prepare]]:
    for contention, servers in ((0.15, 20), (0.3, 20), (0.15, 10), (0.3, 10)):
        yield f"makespans/contention {contention}, {servers} servers", partial(_search, contention, servers)
    yield "completions/contention 0.15, 20 servers", partial(_search, 0.15, 20, "mean-completion")
    yield "large_search/2000 jobs, 128 servers", _large_search
    for model in MODELS:
        yield f"models/search, {model}", partial(_search, 0.15, 20, "makespan", model)


def _search(contention: float, servers: int, objective: str = "makespan", model: str = "paper") -> Prepared:
    scenario = adapters.generated("paper", seed=2, servers=servers, contention=contention, horizon_s=None)
    return _searched(_under(scenario, model), objective)


def _large_search() -> Prepared:
    scenario = adapters.generated("paper", seed=1, servers=128, jobs=2000, contention=0.15, horizon_s=None)
    return _searched(scenario, "makespan")


def _searched(scenario: Scenario, objective: str) -> Prepared:
    """Return what a search reaches in its time. A schedule is no unit of work: versions try other ones."""
    limits = adapters.search_time(SEARCH_S, workers=1)

    def value_s() -> float:
        plan = ringsched.plan(scenario, "search", objective=objective, **limits)
        return plan.makespan_s if objective == "makespan" else plan.mean_completion_s

    return value_s, None


def _simulations() -> Iterator[tuple[str, Prepare]]:
    for trace in ("philly", "muri"):
        for policy, backfill in DISPATCHING:
            name = policy if backfill == "none" else f"{policy} + {backfill}"
            yield f"{trace}/{name}", partial(_dispatching, trace, policy, backfill)
    for policy in ("fifo", "free-links"):
        yield f"philly/{policy} + easy, wrong estimates", partial(_wrong_estimates, policy)
    for name, policy, options in (
        ("fifo", "fifo", {}),
        ("fifo + easy", "fifo", {"backfill": "easy"}),
        ("fifo + easy, wrong estimates", "fifo", {"backfill": "easy", "estimate_error": 1.0}),
        ("free-links + easy", "free-links", {"backfill": "easy"}),
    ):
        yield f"all-of-philly/{name}", partial(_all_of_philly, policy, options)
    yield "philly/command", _simulate_command
    yield "planning/sjf-bco", partial(_planning, "sjf-bco")
    yield "planning/rolling", partial(_planning, "rolling", **adapters.search_limits(50))
    for jobs in (10_000, 100_000):
        yield f"million/{jobs} jobs", partial(_million, jobs)
    yield "simpy/4000 jobs", _simpy


def _dispatching(trace: str, policy: str, backfill: str) -> Prepared:
    scenario = _philly() if trace == "philly" else _muri()
    return partial(ringsched.simulate, scenario, policy, backfill=backfill), _times


def _wrong_estimates(policy: str) -> Prepared:
    return partial(ringsched.simulate, _philly(), policy, backfill="easy", estimate_error=1.0), _times


def _all_of_philly(policy: str, options: dict[str, Any]) -> Prepared:
    return partial(ringsched.simulate, _philly_trace(), policy, **options), _times


def _planning(policy: str, **options: Any) -> Prepared:
    scenario = _muri()
    scenario = scenario.replace(jobs=scenario.jobs[:PLANNING_JOBS])
    return partial(ringsched.simulate, scenario, policy, **options), _times


def _million(jobs: int) -> Prepared:
    scenario = adapters.generated(
        "poisson", seed=0, jobs=jobs, servers=1250, gpus_per_server=10, switches=50, load=0.8
    )
    return partial(ringsched.simulate, scenario), _times


def _simpy() -> Prepared:
    scenario = adapters.generated("poisson", seed=0, jobs=4000, servers=64, switches=8, load=0.8)
    return partial(ringsched.simulate, scenario), _times


def _simulate_command() -> Prepared:
    scenario = _philly()
    path = _saved(scenario.replace(jobs=scenario.jobs[:COMMAND_JOBS]))
    return _command("simulate", path, "--backfill", "easy"), _nothing


def _insights() -> Iterator[tuple[str, Prepare]]:
    for policy in ("longest-first", "random"):
        yield f"explain/{policy}", partial(_explain, policy)
        yield f"explain/{policy}, without the worst", partial(_without, policy)
    for policy in ("longest-first", "random"):
        yield f"whatif/plan by {policy}, five variants", partial(_variants, policy)
        yield f"whatif/plan by {policy}, one more job", partial(_one_more_job, policy)
    yield "verify/160 jobs", _verify_paper
    yield "verify/2000 jobs", _verify_large
    yield "report/160 jobs, 3 plans", _report_paper
    yield "report/2000 jobs", _report_large


def _explain(policy: str) -> Prepared:
    scenario = _uniform(jobs=2000, servers=250, switches=10)
    return partial(ringsched.explain, scenario, ringsched.plan(scenario, policy)), _entries


def _without(policy: str) -> Prepared:
    scenario = _uniform(jobs=2000, servers=250, switches=10)
    ledger = ringsched.explain(scenario, ringsched.plan(scenario, policy))
    worst = next(iter(ledger.by_culprit()), scenario.jobs[0].name)
    return partial(ledger.without, worst), _nothing


def _variants(policy: str) -> Prepared:
    scenario = _uniform(jobs=200, servers=32)
    changes = (
        AddServers(count=2),
        RemoveServer(name="s0"),
        LinkFactor(factor=2.0),
        LinkSpeed(inter_server_gbps=400.0),
        OtherContention(fields={"degradation": 0.0}),
    )
    plan = ringsched.plan(scenario, policy)
    work = partial(ringsched.whatif, scenario, *changes, plan=plan, policy="longest-first")
    return work, lambda answer: [_times(variant.plan) for variant in answer.variants]


def _one_more_job(policy: str) -> Prepared:
    scenario = _uniform(jobs=200, servers=32)
    job = Job(name="new", gpus=16, iterations=20_000, **CATALOGUE["resnet50"].fields())
    plan = ringsched.plan(scenario, policy)
    work = partial(ringsched.whatif_job, scenario, job, plan=plan, policy="longest-first")
    return work, lambda answer: [option.finish_s for option in answer.options]


def _verify_paper() -> Prepared:
    scenario = adapters.generated("paper", seed=1)
    return partial(ringsched.verify, scenario, ringsched.plan(scenario, "sjf-bco")), _valid


def _verify_large() -> Prepared:
    scenario = _uniform(jobs=2000, servers=250, switches=10)
    return partial(ringsched.verify, scenario, ringsched.plan(scenario, "list-scheduling")), _valid


def _report_paper() -> Prepared:
    scenario = adapters.generated("paper", seed=1)
    plans = [ringsched.plan(scenario, each) for each in ("list-scheduling", "sjf-bco", "longest-first")]
    return partial(ringsched.report, scenario, plans), _nothing


def _report_large() -> Prepared:
    scenario = _uniform(jobs=2000, servers=250, switches=10)
    return partial(ringsched.report, scenario, ringsched.plan(scenario, "list-scheduling")), _nothing


def _crowded() -> Iterator[tuple[str, Prepare]]:
    for policy in ("longest-first", "first-fit"):
        for model in MODELS:
            for step in ("plan", "simulate", "verify", "explain"):
                yield f"crowded/{policy}, {model}, {step}", partial(_crowded_step, policy, model, step)


def _crowded_step(policy: str, model: str, step: str) -> Prepared:
    # By first-fit nearly all jobs share links; under phases that takes seconds with 1,000 jobs.
    servers = 100 if policy == "longest-first" else 40
    scenario = _uniform(seed=1, jobs=10 * servers, servers=servers, switches=5)
    scenario = _under(scenario, model)
    if step == "plan":
        return partial(ringsched.plan, scenario, policy), _times
    if step == "simulate":
        return partial(ringsched.simulate, scenario, policy), _times
    plan = ringsched.plan(scenario, policy)
    if step == "verify":
        return partial(ringsched.verify, scenario, plan), _valid
    return partial(ringsched.explain, scenario, plan), _entries


def _lab() -> Iterator[tuple[str, Prepare]]:
    for policy in ("longest-first", "list-scheduling", "sjf-bco"):
        yield f"lab/160 jobs, {policy}", partial(_request, 160, policy)
        yield f"lab/1000 jobs, {policy}", partial(_request, 1000, policy)


def _request(jobs: int, policy: str) -> Prepared:
    if jobs == 160:
        scenario = adapters.generated("paper", seed=1, horizon_s=None)
    else:
        scenario = _uniform(jobs=jobs, servers=jobs // 8, switches=10)
    return adapters.plan_request(scenario, policy), lambda reply: json.loads(reply.content)["plan"][
        "makespan_s"
    ]


def _uniform(*, jobs: int, servers: int, seed: int = 0, **options: Any) -> Scenario:
    return adapters.generated("uniform", seed=seed, servers=servers, jobs=jobs, **options)


def _under(scenario: Scenario, model: str) -> Scenario:
    return scenario.replace(contention=scenario.contention.replace(model=model))


@lru_cache(maxsize=1)
def _philly() -> Scenario:
    """Return the first jobs of the trace."""
    scenario = _philly_trace()
    return scenario.replace(jobs=scenario.jobs[:PHILLY_JOBS])


@lru_cache(maxsize=1)
def _philly_trace() -> Scenario:
    """Return the trace, or generated jobs where it is not available."""
    path = TRACES / "philly.csv.gz"
    if not path.exists():
        return adapters.generated("poisson", seed=0, jobs=PHILLY_JOBS, servers=64, switches=8, load=1.1)
    return adapters.imported(path, "philly")


@lru_cache(maxsize=1)
def _muri() -> Scenario:
    """Return the trace at a load of 0.8, or generated jobs where the trace is not available."""
    path = TRACES / "muri_trace1.csv.gz"
    if not path.exists():
        return adapters.generated(
            "poisson", seed=0, jobs=1500, servers=64, switches=8, load=0.8, sizes="paper"
        )
    scenario = adapters.imported(path, "muri")
    factor = adapters.offered_load(scenario) / 0.8
    return scenario.replace(jobs=tuple(job.replace(submit_s=job.submit_s * factor) for job in scenario.jobs))


_DIRECTORY = TemporaryDirectory()


def _saved(scenario: Scenario) -> str:
    """Save a scenario in the file format of the version that is measured, and return its path."""
    directory = Path(_DIRECTORY.name)
    path = directory / f"{len(list(directory.iterdir()))}.json"
    ringsched.save_scenario(scenario, path)
    return str(path)


def _command(*arguments: str) -> Work:
    command = [sys.executable, "-m", "ringsched", *arguments]
    return lambda: subprocess.run(command, capture_output=True, check=True)


def _itself(value: float) -> float:
    return value


def _nothing(_: Any) -> None:
    return None


def _times(plan: Any) -> list[float]:
    """Return the times of a plan or a simulation."""
    return [plan.makespan_s, plan.mean_completion_s]


def _valid(verdict: Any) -> bool:
    return bool(verdict.valid)


def _entries(ledger: Any) -> Mapping[str, float]:
    seconds = ledger.entries.seconds
    return {"entries": len(seconds), "seconds": float(sum(seconds))}
