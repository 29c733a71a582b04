"""How a scenario is understood: its network, the times of its jobs, and what looks like a mistake."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ringsched.contention.fabric import Extremes
from ringsched.contention.iteration_time import Work, hidden_in
from ringsched.engine.problem import Problem, problem_of
from ringsched.formats.catalogue import CATALOGUE
from ringsched.formatting import counted
from ringsched.model import Job, Scenario
from ringsched.model.eligibility import ANY_PARTS, balanced_sizes

LARGE_EXCHANGE = 0.9  # share of an iteration, spread over servers
# Forward passes are usually half as long as backward passes.
LONG_FORWARD = 4.0
SHORT_FORWARD = 0.05
LARGE_GRADIENT_MB = 1e6  # 250 billion parameters in fp32: beyond what a ring of whole replicas trains
SHORT_COMPUTE_MS = 1.0  # an iteration with this many MB of gradients takes longer on any GPU
SMALL_GRADIENT_MB = 10.0
ALIKE = 0.02  # relative difference of two sizes that are taken for the same
LARGE_OVERSUBSCRIPTION = 16.0
SHORT_SLOT_ITERATIONS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLevel:
    """Links of one level and speed.

    Attributes
    ----------
    level
        0 for the links of servers, 1 for those of the switches above them, and so on.
    oversubscription
        Most that the links below one of these can send over what it can; None for servers.
    """

    level: int
    count: int
    uplink_gbps: float
    oversubscription: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """Jobs that are alike, by the time of one iteration without contention.

    Attributes
    ----------
    alone_s
        Seconds per iteration on the best GPUs there are.
    spread_s
        The same over the fewest servers that are at least two; None for a job of one GPU, or one server.
    exchange_share
        Part of the iteration on `num_servers` servers that is exchange, reduction and latency, and not
        hidden.
    hidden_share
        Part of the exchange, reduction and latency there that the backward pass hides.
    best_case_s
        Shortest and longest duration of these jobs, on the best GPUs.
    """

    jobs: tuple[str, ...]
    gpus: int
    alone_s: float
    spread_s: float | None
    num_servers: int
    exchange_share: float
    hidden_share: float
    best_case_s: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioCheck:
    """A scenario as ringsched understands it."""

    scenario: Scenario
    links: tuple[LinkLevel, ...]
    kinds: tuple[JobKind, ...]
    warnings: tuple[str, ...]


def check(scenario: Scenario) -> ScenarioCheck:
    """Return how a scenario is understood, with warnings about what is possible but looks wrong.

    Examples
    --------
    >>> import ringsched
    >>> found = check(ringsched.load_scenario("examples/first.toml"))
    >>> found.kinds[0].gpus, found.kinds[0].num_servers, found.links[0].uplink_gbps
    (12, 2, 100.0)
    """
    problem = problem_of(scenario)
    links, kinds = tuple(_links(problem)), tuple(_kinds(problem))
    warnings = [
        *_job_warnings(scenario, kinds),
        *_cluster_warnings(scenario, links),
        *_time_warnings(scenario, kinds),
        *_limit_warnings(problem),
    ]
    return ScenarioCheck(scenario=scenario, links=links, kinds=kinds, warnings=tuple(warnings))


def _links(problem: Problem) -> Iterator[LinkLevel]:
    """Yield the links by level and speed; a switch without an uplink has none."""
    network, cluster = problem.network, problem.scenario.cluster
    switch_levels = cluster.switch_levels
    levels = [0] * network.num_servers + [switch_levels[switch.name] for switch in cluster.switches]
    used = {node for server in range(network.num_servers) for node in network.path(server)}
    below_gbps: dict[int, float] = {}
    groups: dict[tuple[int, float], list[int]] = {}
    for node in sorted(used):
        parent, speed = network.parent_of[node], network.uplink_gbps[node]
        below_gbps[parent] = below_gbps.get(parent, 0.0) + speed
        if math.isfinite(speed):
            groups.setdefault((levels[node], speed), []).append(node)
    for (level, speed), nodes in sorted(groups.items()):
        ratios = [below_gbps[node] / speed for node in nodes] if level else []
        yield LinkLevel(
            level=level, count=len(nodes), uplink_gbps=speed, oversubscription=max(ratios, default=None)
        )


def _kinds(problem: Problem) -> Iterator[JobKind]:
    """Yield the kinds of jobs in the order of their first."""
    jobs, fabric = problem.scenario.jobs, problem.fabric
    eligibility = problem.eligibility
    extremes = [Extremes(fabric, 0, may_use) for may_use in eligibility.classes]
    alike: dict[tuple[int, Work, int, int], list[int]] = {}
    for at, job in enumerate(jobs):
        key = (job.gpus, problem.works[at], eligibility.class_of[at], eligibility.parts[at])
        alike.setdefault(key, []).append(at)
    for (gpus, work, group, parts), members in alike.items():
        alone_s = extremes[group].best_case_tau(work, gpus, parts)
        spread = _spread(problem, gpus, eligibility.classes[group], parts)
        spread_s = None if spread is None else fabric.alone_tau(work, fabric.shape(spread))
        tau_s = alone_s if spread_s is None else spread_s
        durations = [problem.clock.seconds(problem.best_case[at]) for at in members]
        yield JobKind(
            jobs=tuple(jobs[at].name for at in members),
            gpus=gpus,
            alone_s=alone_s,
            spread_s=spread_s,
            num_servers=1 if spread is None else len(spread),
            exchange_share=1 - work.compute_s / tau_s,
            hidden_share=_hidden_share(work, tau_s),
            best_case_s=(min(durations), max(durations)),
        )


def _hidden_share(work: Work, tau_s: float) -> float:
    """Return the part of the communication that the backward pass hides; 0 if there is none."""
    hidden_s = hidden_in(work, tau_s)
    communication_s = max(0.0, tau_s - work.compute_s) + hidden_s
    return hidden_s / communication_s if communication_s > 0 else 0.0


def _spread(problem: Problem, gpus: int, may_use: Sequence[bool], parts: int) -> dict[int, int] | None:
    """Return GPUs by server on the fewest servers that are at least two; None if there are none."""
    if gpus < 2:
        return None
    capacity = problem.network.capacity
    usable = [at for at in range(problem.num_servers) if may_use[at]]
    largest = sorted(usable, key=lambda at: (-capacity[at], at))
    if parts != ANY_PARTS:
        for number, each in balanced_sizes(gpus, len(largest), parts):
            if number > 1 and capacity[largest[number - 1]] >= each:
                return dict.fromkeys(largest[:number], each)
        return None
    chosen: dict[int, int] = {}
    for at in largest:
        left = gpus - sum(chosen.values())
        if left == 0 or capacity[at] == 0:
            break
        chosen[at] = min(capacity[at], left if chosen else left - 1)
    return chosen if len(chosen) > 1 and sum(chosen.values()) == gpus else None


def _limit_warnings(problem: Problem) -> Iterator[str]:
    """Name the jobs that cannot end before their time limit, wherever they run."""
    short = tuple(
        job.name
        for at, job in enumerate(problem.scenario.jobs)
        if job.limit_s is not None and problem.best_case[at] >= problem.limit[at]
    )
    if short:
        yield f"{_named(short)}: limit_s is not longer than the best case, so the limit ends the job"


def _largest_server(scenario: Scenario) -> int:
    return max(server.capacity for server in scenario.cluster.servers)


def _job_warnings(scenario: Scenario, kinds: Sequence[JobKind]) -> Iterator[str]:
    by_name = {job.name: job for job in scenario.jobs}
    for kind in kinds:
        job, who = by_name[kind.jobs[0]], _named(kind.jobs)
        yield from (f"{who}: {mix_up}" for mix_up in _mix_ups(job))
        if kind.gpus > _largest_server(scenario):
            yield f"{who}: {kind.gpus} GPUs do not fit one server, so every placement uses links"
        if kind.spread_s is not None and kind.exchange_share > LARGE_EXCHANGE:
            yield (
                f"{who}: {100 * kind.exchange_share:.0f} % of an iteration over {kind.num_servers} servers "
                "is exchange; check gradient_mb (in MB), the times (in ms) and the link speeds (in Gbit/s)"
            )
    total = sum(job.gpus for job in scenario.jobs)
    usable = sum(server.capacity for server in scenario.cluster.servers)
    if 0 < total < usable:
        yield f"all jobs together use {total} of {usable} GPUs: {usable - total} are idle in every plan"


def _mix_ups(job: Job) -> Iterator[str]:
    """Yield what looks like a number in another unit than the field has."""
    forward_ms = job.forward_ms * job.minibatch
    if job.minibatch > 1 and job.forward_ms > 0:
        passes = (
            f"the forward pass takes {forward_ms:g} ms per iteration, the backward {job.backward_ms:g} ms; "
            "forward_ms is per sample and backward_ms per iteration"
        )
        if forward_ms > LONG_FORWARD * job.backward_ms:
            yield f"{passes}, so divide the one by minibatch or multiply the other"
        elif forward_ms < SHORT_FORWARD * job.backward_ms:
            yield f"{passes}, so check that neither is scaled twice"
    compute_ms = 1e3 * job.compute_s
    if compute_ms < SHORT_COMPUTE_MS and job.gradient_mb >= SMALL_GRADIENT_MB:
        yield (
            f"{job.gradient_mb:g} MB of gradients are computed in {compute_ms:g} ms; "
            "times are in milliseconds: multiply seconds by 1000"
        )
    if job.gradient_mb >= LARGE_GRADIENT_MB:
        yield (
            f"the gradients have {job.gradient_mb:g} MB; gradient_mb is in MB, not in bytes, "
            "and parameters_m in millions"
        )
    if (model := _as_many_parameters(job)) is not None:
        yield (
            f"gradient_mb {job.gradient_mb:g} is the number of parameters of {model} in millions; "
            f"write parameters_m = {job.gradient_mb:g} instead"
        )


def _as_many_parameters(job: Job) -> str | None:
    """Return the model in the job's name if `gradient_mb` is its number of parameters, in millions."""
    for name, known in CATALOGUE.items():
        model = name.removesuffix(f"-{known.gpu.split(' ')[0].lower()}")
        if model in job.name.lower() and abs(job.gradient_mb / known.parameters_m - 1) < ALIKE:
            return model
    return None


def _cluster_warnings(scenario: Scenario, links: Sequence[LinkLevel]) -> Iterator[str]:
    cluster, contention = scenario.cluster, scenario.contention
    if min(cluster.inside_gbps) < cluster.inter_server_gbps:
        yield (
            f"intra_server_gbps {min(cluster.inside_gbps):g} is below inter_server_gbps "
            f"{cluster.inter_server_gbps:g}: links inside servers are usually faster"
        )
    for link in links:
        if link.oversubscription is not None and link.oversubscription > LARGE_OVERSUBSCRIPTION:
            yield (
                f"{counted(link.count, 'switch uplink')} of {link.uplink_gbps:g} Gbit/s: the links below can "
                f"send {link.oversubscription:.0f} times as much; check uplink_gbps"
            )
    if contention.degradation is not None and contention.degradation > 1:
        yield f"degradation {contention.degradation:g}: two jobs on a link lose more than its whole speed"


def _time_warnings(scenario: Scenario, kinds: Sequence[JobKind]) -> Iterator[str]:
    if not scenario.time.slotted:
        return
    slot_s = scenario.time.slot_s
    coarse = [kind for kind in kinds if kind.alone_s * SHORT_SLOT_ITERATIONS > slot_s]
    if coarse:
        yield (
            f"slot_s {slot_s:g}: a slot holds fewer than {SHORT_SLOT_ITERATIONS} iterations of "
            f"{_named(coarse[0].jobs)}, so rounding to whole iterations costs much time; "
            'use a longer slot or time.model = "continuous"'
        )


def _named(jobs: Sequence[str]) -> str:
    return jobs[0] if len(jobs) == 1 else f"{jobs[0]} and {len(jobs) - 1} like it"
