"""The load and the contention share of a workload, and a scale that gives it a share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple, TypeVar

from ringsched.engine.problem import problem_of
from ringsched.errors import InputError
from ringsched.model import Cluster, Contention, Job, Scenario, Time
from ringsched.model.checks import instance
from ringsched.policies.policy import priorities

_Key = TypeVar("_Key")


def offered_load(scenario: Scenario) -> float:
    """Return the GPU-seconds of all jobs in the best case over those of the cluster until the last submit.

    Above 1 the queue grows for as long as jobs arrive. Without arrivals over time it is 0.

    Examples
    --------
    >>> from ringsched import Cluster, Workload, generate
    >>> offered_load(generate(Workload.uniform(jobs=100, cluster=Cluster.of_servers(10))))
    0.0
    """
    jobs = instance(scenario, "scenario", Scenario).jobs
    span_s = max((job.submit_s for job in jobs), default=0.0)
    if span_s == 0:
        return 0.0
    # Computed once for jobs that are alike.
    tau_s = best_taus({alike(job): job for job in jobs}, scenario.cluster, scenario.contention)
    gpu_seconds = sum(job.gpus * job.iterations * tau_s[alike(job)] for job in jobs)
    return gpu_seconds / (scenario.cluster.capacity * span_s)


def alike(job: Job) -> tuple[float, ...]:
    """Return what the best case of an iteration depends on."""
    return job.gpus, job.gradient_mb, job.minibatch, job.forward_ms, job.backward_ms, job.buckets


def best_taus(jobs: Mapping[_Key, Job], cluster: Cluster, contention: Contention) -> dict[_Key, float]:
    """Return the best-case seconds per iteration of each job."""
    unit = {"iterations": 1, "done_iterations": 0, "running_on": None, "submit_s": 0.0}
    probes = tuple(job.replace(**unit) for job in jobs.values())
    probe = Scenario(cluster=cluster, contention=contention, time=Time(model="continuous"), jobs=probes)
    return dict(zip(jobs, problem_of(probe).best_case, strict=True))


def contention_share(scenario: Scenario) -> float:
    """Return the extra share: 1 - (sum of compute-only durations) / (sum of actual durations).

    Actual durations are those under list-scheduling in queue order without theta. Compute-only ones
    leave exchange, reduction and latency out of every iteration. Without jobs the share is 0.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> 0 < contention_share(scenario) < 1
    True
    """
    from ringsched.rules.runner import Runner
    from ringsched.rules.table import LEAST_LOADED

    problem = problem_of(instance(scenario, "scenario", Scenario))
    if problem.num_jobs == 0:
        return 0.0
    runner = Runner(problem, priorities(problem, "fifo"))
    runner.run(LEAST_LOADED)
    run, clock = runner.last(), problem.clock
    actual = sum(finish - start for start, finish in zip(run.starts, run.finishes, strict=True))
    compute_only = sum(
        clock.duration(iterations, clock.rate(job.compute_s))
        for iterations, job in zip(problem.iterations, problem.scenario.jobs, strict=True)
    )
    # In continuous time, rounding may make the share of a workload without exchange slightly negative.
    return float(max(0.0, 1 - compute_only / actual))


TOLERANCE = 0.005  # within which a share counts as reached
AIM = 0.0005  # within which the search stops at once
NUM_HALVINGS = 16
# Where a job goes depends on when others end, so the share is not a smooth function of the factor: it
# jumps, and may jump over the requested value. Smaller steps and small changes of the latency get around
# most jumps.
NUM_STEPS = (1, 4, 16)
LATENCY_FACTORS = (1.0, 1.1, 0.9, 1.2, 0.8, 1.3, 0.7, 1.4, 0.6, 1.5, 0.5)

Share = Callable[[float], float]


class Scale(NamedTuple):
    """What to multiply all gradients and the latency by."""

    gradients: float
    latency: float


def scaled(base: Scenario, scale: Scale) -> Scenario:
    """Return `base` with all gradients and the latency multiplied."""
    latency_ms = _rounded(base.contention.server_latency_ms * scale.latency)
    return base.replace(
        contention=base.contention.replace(server_latency_ms=latency_ms),
        jobs=tuple(job.replace(gradient_mb=_rounded(job.gradient_mb * scale.gradients)) for job in base.jobs),
    )


def scale_for(base: Scenario, share: float) -> Scale:
    """Return the scale that gives the slotted scenario `base` this contention share."""
    if share == 0:
        return Scale(0.0, 0.0)
    nearest = math.inf
    for latency in LATENCY_FACTORS:
        shares = _search(base, latency, share)
        factor = min(shares, key=lambda factor: (abs(shares[factor] - share), factor))
        if abs(shares[factor] - share) <= TOLERANCE:
            return Scale(factor, factor * latency)
        if max(shares.values()) < share:
            raise _too_much(share, max(shares.values()))
        nearest = min(nearest, shares[factor], key=lambda reached: abs(reached - share))
    raise InputError(
        f"= {share:g} cannot be met within {TOLERANCE:g}; the nearest found is {nearest:.3f}",
        field="contention_share",
    )


def _search(base: Scenario, latency: float, wanted: float) -> dict[float, float]:
    """Return the shares of the factors tried; the search ends with the first acceptable one."""
    limit = _largest_factor(scaled(base, Scale(1.0, latency)))
    shares: dict[float, float] = {}

    def share_at(factor: float) -> float:
        if factor not in shares:
            shares[factor] = contention_share(scaled(base, Scale(factor, factor * latency)))
        return shares[factor]

    for num_steps in NUM_STEPS:
        for low, high in pairwise(limit * step / num_steps for step in range(num_steps + 1)):
            if share_at(low) <= wanted <= share_at(high):
                _bisect(share_at, wanted, low, high)
            if any(abs(share - wanted) <= TOLERANCE for share in shares.values()):
                return shares
    return shares


def _bisect(share_at: Share, wanted: float, low: float, high: float) -> None:
    """Halve [low, high] around a factor with the wanted share until it is close."""
    for _ in range(NUM_HALVINGS):
        middle = (low + high) / 2
        share = share_at(middle)
        if abs(share - wanted) <= AIM:
            return
        low, high = (middle, high) if share < wanted else (low, middle)


def _largest_factor(base: Scenario) -> float:
    """Return the largest factor at which every job's worst case still fits a slot.

    The worst-case tau is computation plus a part that grows in proportion to the factor; in continuous
    time durations are not rounded, so that part can be read off.
    """
    problem = problem_of(base.replace(time=base.time.replace(model="continuous")))
    limit = math.inf
    for job, worst_case_s in zip(base.jobs, problem.worst_case, strict=True):
        extra_s = worst_case_s / job.iterations - job.compute_s
        limit = min(limit, (base.time.slot_s - job.compute_s) / extra_s)
    return limit * (1 - 1e-5)  # tolerance for the rounding of gradients


def _too_much(share: float, highest: float) -> InputError:
    return InputError(
        f"= {share:g} cannot be reached: at about {math.floor(highest * 100) / 100:g} the worst case of an "
        "iteration fills a whole slot",
        field="contention_share",
    )


def _rounded(value: float) -> float:
    """Return `value` to six figures: more mean nothing, and files stay readable."""
    return float(f"{value:.6g}")
