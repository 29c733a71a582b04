"""The verifier's face: one function that runs every check, and what it answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ringsched.model import Plan, PlannedJob, Scenario
from ringsched.verify.bounds import Facts, refuse_endless_jobs
from ringsched.verify.clock import Clock, clock_of
from ringsched.verify.constraints import (
    Gpu,
    Hold,
    check_eligible,
    check_gang,
    check_location,
    check_names,
    check_overlaps,
    check_ring,
    check_running,
    check_start,
    check_windows,
    held_gpus,
    labels_above,
)
from ringsched.verify.iteration_time import Network
from ringsched.verify.replay import Replay, Run
from ringsched.verify.totals import check_certificate, check_totals
from ringsched.verify.verdict import Verdict, Violation, shown


def verify(scenario: Scenario, plan: Plan) -> Verdict:
    """Check a plan against every constraint of the model, from the scenario alone.

    Finishes and totals are recomputed from starts and placements. That needs every job of the scenario
    once, on known servers, with as many GPUs as it has; of any other plan the remaining checks are made,
    and overlaps are judged by the finishes it states.

    Parameters
    ----------
    scenario
        The problem.
    plan
        The answer to check; anything may be wrong with it.

    Returns
    -------
    Verdict
        Every violation, by name and in words; none for a valid plan.

    Raises
    ------
    InputError
        If the scenario itself is refused: a job whose worst case is longer than a slot, or endless.

    Examples
    --------
    >>> from ringsched.model import Cluster, Job, Placement, Server
    >>> job = Job(
    ...     name="a", gpus=1, iterations=20, gradient_mb=0, minibatch=1, forward_ms=0, backward_ms=100
    ... )
    >>> cluster = Cluster(
    ...     servers=(Server(name="s", gpus=1),), inter_server_gbps=10, intra_server_gbps=200, reduce_gbps=400
    ... )
    >>> scenario = Scenario(cluster=cluster, jobs=(job,))
    >>> planned = PlannedJob(name="a", start_s=0, finish_s=2, gpus=Placement({"s": [0]}), ring=(("s", 0),))
    >>> plan = Plan(
    ...     scenario_sha256=scenario.sha256(),
    ...     policy="fifo",
    ...     makespan_s=2,
    ...     mean_completion_s=2,
    ...     lower_bound_s=2,
    ...     gap=1,
    ...     jobs=(planned,),
    ... )
    >>> verify(scenario, plan).valid
    True
    >>> print(verify(scenario, plan.replace(makespan_s=3)).violations[0].message)
    makespan_s is 3 in the plan, but 2 recomputed
    """
    clock = clock_of(scenario.time, min((job.submit_s for job in scenario.jobs), default=0.0))
    network = Network(scenario)
    refuse_endless_jobs(scenario, network, clock)
    return Verdict(violations=tuple(_violations(Facts(scenario, network, clock), plan)))


def _violations(facts: Facts, plan: Plan) -> Iterator[Violation]:
    scenario, clock = facts.scenario, facts.clock
    expected = scenario.sha256()
    if plan.scenario_sha256 != expected:
        message = f"the plan is for the scenario {plan.scenario_sha256}, but this one is {expected}"
        yield Violation(constraint="scenario-digest", message=message)
    yield from check_names(scenario, [planned.name for planned in plan.jobs])
    held = [held_gpus(planned) for planned in plan.jobs]
    yield from _check_each(scenario, plan, held, clock)
    finishes = _recomputed_finishes(facts, plan, held)
    if finishes is None:
        ends = [clock.instant(planned.finish_s) for planned in plan.jobs]
        yield from _check_finishes_follow_starts(plan)
    else:
        ends = finishes
        yield from _check_finishes(plan, finishes, clock)
    holds = [
        Hold(planned.name, gpus, clock.instant(planned.start_s), end)
        for planned, gpus, end in zip(plan.jobs, held, ends, strict=True)
    ]
    yield from check_overlaps(holds, clock)
    jobs = {job.name: job for job in scenario.jobs}
    servers = {server.name: server for server in scenario.cluster.servers}
    for hold in holds:
        if hold.job in jobs:
            yield from check_windows(hold, jobs[hold.job], servers, clock)
    yield from check_totals(facts, plan, finishes)
    if finishes is not None:
        yield from check_certificate(facts, plan)


def _check_each(
    scenario: Scenario, plan: Plan, held: Sequence[set[Gpu]], clock: Clock
) -> Iterator[Violation]:
    servers = {server.name: server for server in scenario.cluster.servers}
    labels = labels_above(scenario.cluster)
    jobs = {job.name: job for job in scenario.jobs}
    for planned, gpus in zip(plan.jobs, held, strict=True):
        job = jobs.get(planned.name)
        if job is not None:
            yield from check_gang(planned, job)
        yield from check_location(planned, gpus, servers)
        yield from check_start(planned, 0.0 if job is None else job.submit_s, clock)
        if job is not None:
            yield from check_running(planned, gpus, job, clock)
            yield from check_eligible(planned, job, servers)
        yield from check_ring(planned, gpus, labels)


def _recomputed_finishes(facts: Facts, plan: Plan, held: Sequence[set[Gpu]]) -> list[float] | None:
    """Return the true finish of every planned job, or None if the plan is too broken to be replayed."""
    network, clock = facts.network, facts.clock
    jobs = {job.name: job for job in facts.scenario.jobs}
    if Counter(planned.name for planned in plan.jobs) != Counter(jobs.keys()):
        return None
    runs = []
    for planned, gpus in zip(plan.jobs, held, strict=True):
        job = jobs[planned.name]
        gpus_on = Counter([server for server, _ in gpus])
        if gpus_on.total() != job.gpus or not gpus_on.keys() <= network.number.keys():
            return None
        runs.append(Run(job, clock.instant(planned.start_s), network.shape(gpus_on)))
    return Replay(runs, network, clock).finishes()


def _check_finishes(plan: Plan, finishes: Sequence[float], clock: Clock) -> Iterator[Violation]:
    for planned, finish in zip(plan.jobs, finishes, strict=True):
        if not clock.is_at(planned.finish_s, finish):
            yield _finish_violation(planned, f"expected {shown(clock.seconds(finish))} s")


def _check_finishes_follow_starts(plan: Plan) -> Iterator[Violation]:
    for planned in plan.jobs:
        if planned.finish_s < planned.start_s:
            yield _finish_violation(planned, f"before it starts at {shown(planned.start_s)} s")


def _finish_violation(planned: PlannedJob, problem: str) -> Violation:
    message = f"job {planned.name!r} finishes at {shown(planned.finish_s)} s, {problem}"
    return Violation(constraint="finish", message=message, job=planned.name)
