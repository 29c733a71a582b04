"""The experiments: figures 4 to 7 of the paper and open questions, by point and seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any

from ringsched import api
from ringsched.analysis.metrics import metrics_of
from ringsched.errors import Infeasible, InputError
from ringsched.model import Plan, Scenario
from ringsched.policies.policy import Observer
from ringsched.workloads import Workload, generate

OK = "ok"
OVER_HORIZON = "over T"  # no plan below T was found: the makespan is known to be no less, and no more
UNREACHABLE = "unreachable"  # a slot does not allow so much contention
SHARE_SERVERS = 20  # where contention shares are reached, so that a sweep over servers has the same jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What to plan and how, for every seed alike; None leaves a parameter to the policy."""

    policy: str
    order: str
    servers: int = 20
    contention: float = 0.15
    horizon_s: int = 1200
    kappa: int | None = None
    slack: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperRow:
    """One plan of the paper's workload, and what came out; no time of day, no path, no version."""

    seed: int
    servers: int
    contention: float
    horizon_s: int
    policy: str
    order: str
    kappa: int | None
    slack: int | None
    status: str
    makespan_s: float | None = None
    mean_completion_s: float | None = None
    lower_bound_s: float | None = None
    gpu_utilisation: float | None = None
    contention_loss: float | None = None
    spreading_loss: float | None = None
    servers_per_job: float | None = None  # mean over jobs of two or more GPUs
    servers_per_large_job: float | None = None  # of eight or more
    theta: int | None = None
    chosen_kappa: int | None = None
    largest_load: float | None = None  # W_max
    claimed_ratio: float | None = None  # of the theorem: n_g φ u / l
    trials: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyRow:
    """SJF-BCO against the proved optimum of a tiny instance; times in slots of a second."""

    seed: int
    kind: str
    jobs: int
    gpus: int
    optimum_s: float
    makespan_s: float
    theta: int
    largest_load: float  # W_max
    best_largest_load: float  # the least W_max of all assignments: θ*
    largest_job: int  # n_g
    worst_over_best: float  # φ
    claimed_ratio: float  # n_g φ u / l


Row = PaperRow | TinyRow


def columns(kind: type[Row]) -> tuple[str, ...]:
    """Return the names of a row's fields."""
    return tuple(field.name for field in fields(kind))


def values(row: Row) -> Sequence[object]:
    """Return the values of a row, field by field."""
    return [getattr(row, name) for name in columns(type(row))]


FIFO, SMALLEST, LONGEST = "fifo", "smallest-first", "longest-first"
KAPPAS = (1, 2, 4, 8, 16, 32)  # the sizes of the jobs: values between them change nothing
SLACKS = (1, 2, 4, 8)
SERVERS = tuple(range(10, 21))
MANY_SERVERS = (20, 40, 80, 160)
HORIZONS_S = tuple(range(500, 2001, 100))
SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
LONG_HORIZON_S = 3000  # T of the sweep over shares: at 0.5 list scheduling no longer ends before 1200

SJF_BCO = Point(policy="sjf-bco", order=SMALLEST)
BASELINES = tuple(
    Point(policy=policy, order=order)
    for policy in ("first-fit", "list-scheduling", "random")
    for order in (FIFO, SMALLEST)
)
BEST_FIT = Point(policy="longest-first", order=LONGEST)


EXPERIMENTS: Mapping[str, tuple[Point, ...]] = {
    "policies": (SJF_BCO, *BASELINES, BEST_FIT),
    "kappa": tuple(replace(SJF_BCO, kappa=kappa) for kappa in KAPPAS),
    "servers": tuple(
        replace(base, servers=servers, horizon_s=1500)
        for base in (SJF_BCO, *BASELINES[:4])
        for servers in SERVERS
    ),
    "lambda": tuple(replace(SJF_BCO, kappa=1, slack=slack) for slack in SLACKS),
    "plenty": tuple(replace(SJF_BCO, servers=servers) for servers in MANY_SERVERS),
    "ties": tuple(
        replace(base, order=order)
        for base in (replace(SJF_BCO, kappa=KAPPAS[-1]), Point(policy="list-scheduling", order=FIFO))
        for order in (FIFO, SMALLEST, LONGEST)
    ),
    "horizon": tuple(replace(SJF_BCO, horizon_s=horizon_s) for horizon_s in HORIZONS_S),
    "share": tuple(
        replace(base, contention=share, horizon_s=LONG_HORIZON_S)
        for base in (
            SJF_BCO,
            Point(policy="list-scheduling", order=SMALLEST),
            Point(policy="list-scheduling", order=LONGEST),
            BEST_FIT,
        )
        for share in SHARES
    ),
}
TINY = "tiny"
NUM_TINY = 20  # seeds of tiny instances, however many the experiments have
PARTS = (*EXPERIMENTS, TINY)


LARGE = 8  # GPUs of what the paper calls a large job; it gives no number
DIGITS = 9  # significant digits in files


def rows_of_seed(experiment: str, seed: int) -> list[PaperRow]:
    """Return a row for every point of an experiment."""
    return [_row(point, seed) for point in EXPERIMENTS[experiment]]


def _row(point: Point, seed: int) -> PaperRow:
    try:
        base = _workload(seed, point.servers, point.contention)
    except InputError as error:
        if error.field != "contention_share":
            raise
        return PaperRow(seed=seed, status=UNREACHABLE, **asdict(point))
    return _measured(base.replace(time=base.time.replace(horizon_s=float(point.horizon_s))), point, seed)


# The last few are those a seed comes back to: a workload costs as much as several plans.
@lru_cache(maxsize=64)
def _workload(seed: int, servers: int, contention: float) -> Scenario:
    return generate(Workload.paper(servers, contention, share_servers=SHARE_SERVERS), seed=seed)


class _TrialCounter(Observer):
    def __init__(self) -> None:
        self.num_trials = 0

    def trial(self) -> None:
        self.num_trials += 1


def _measured(scenario: Scenario, point: Point, seed: int) -> PaperRow:
    counter = _TrialCounter()
    try:
        plan = api.plan(
            scenario,
            point.policy,
            order=point.order,
            kappa=point.kappa,
            slack=point.slack,
            seed=seed,
            observer=counter,
        )
    except Infeasible as error:
        bound_s = rounded(error.lower_bound_s)
        return PaperRow(seed=seed, status=OVER_HORIZON, lower_bound_s=bound_s, **asdict(point))
    return PaperRow(
        seed=seed, status=OK, **asdict(point), **_found(scenario, plan), trials=counter.num_trials
    )


def _found(scenario: Scenario, plan: Plan) -> dict[str, Any]:
    metrics = metrics_of(scenario, plan)
    certificate = plan.certificate
    theta, kappa = (plan.params.get(name) for name in ("theta", "kappa"))
    return {
        "makespan_s": rounded(metrics.makespan_s),
        "mean_completion_s": rounded(metrics.mean_completion_s),
        "lower_bound_s": rounded(metrics.lower_bound_s),
        "gpu_utilisation": rounded(metrics.gpu_utilisation),
        "contention_loss": rounded(metrics.contention_loss),
        "spreading_loss": rounded(metrics.spreading_loss),
        "servers_per_job": _span(plan, 2),
        "servers_per_large_job": _span(plan, LARGE),
        "theta": None if theta is None else int(theta),
        "chosen_kappa": None if kappa is None else int(kappa),
        "largest_load": None if certificate is None else rounded(certificate.max_load),
        "claimed_ratio": None if certificate is None else rounded(certificate.claimed_ratio),
    }


def _span(plan: Plan, smallest: int) -> float:
    """Return how many servers a job of at least so many GPUs has, on average."""
    spans = [len(job.gpus) for job in plan.jobs if job.gpus.num_gpus >= smallest]
    return rounded(sum(spans) / len(spans))


def rounded(value: float) -> float:
    """Return `value` to the digits that are written."""
    return float(f"{value:.{DIGITS}g}")
