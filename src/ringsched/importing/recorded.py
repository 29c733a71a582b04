"""The recorded schedule as a plan: every job on its recorded GPUs at its recorded start."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ringsched.contention.over_time import Stay, iterations_done
from ringsched.engine.problem import Problem, problem_of
from ringsched.formats.catalogue import TIMED
from ringsched.formats.traces.table import BadRow, Recorded, TraceRow
from ringsched.importing.report import Tally
from ringsched.model import Cluster, Contention, Job, Placement, Plan, Scenario, Server, Time
from ringsched.model.cluster import INTER_SERVER_GBPS, INTRA_SERVER_GBPS, REDUCE_GBPS
from ringsched.policies.plans import plan_of
from ringsched.policies.policy import Candidate
from ringsched.rules.runner import replay

OVERLAP = "overlaps another record"
POLICY = "recorded"
# A job ends slightly before its recorded end, so that a job that starts then finds its GPUs free.
EARLY_S = 1e-6
# Without latency, every term of tau is proportional to the job's figures, so one factor makes the
# duration a whole number of iterations.
NO_LATENCY = Contention.ethernet().replace(server_latency_ms=0.0)


def without_overlaps(rows: Iterable[TraceRow], tally: Tally) -> list[TraceRow]:
    """Return the rows whose GPUs were free at their start, in the order of their submits.

    Of two records that overlap, the one that started later is dropped.
    """
    free_at: dict[tuple[str, int], float] = {}
    kept = []
    for row in sorted(rows, key=lambda row: (_recorded(row).start, row.line)):
        start, end, gpus = _recorded(row)
        held = [(machine, gpu) for machine, indices in gpus.items() for gpu in indices]
        if any(free_at.get(gpu, start) > start for gpu in held):
            tally.drop(BadRow(OVERLAP).on(row.line))
        else:
            free_at.update(dict.fromkeys(held, end))
            kept.append(row)
    kept.sort(key=lambda row: (_submit(row), row.line))
    return kept


class RecordedPlan(NamedTuple):
    """A recorded plan, its scenario, and how exactly it follows the record."""

    scenario: Scenario
    plan: Plan
    largest_difference_s: float


def recorded_plan(rows: Sequence[TraceRow], models: Sequence[str], name: str) -> RecordedPlan:
    """Return the recorded jobs as a scenario and a plan; there must be at least one."""
    zero = min(map(_submit, rows))
    cluster = _cluster(rows)
    stays = [_stay(row, model, zero) for row, model in zip(rows, models, strict=True)]
    done = iterations_done(stays, cluster, NO_LATENCY)
    jobs = tuple(
        _job(stay.job, iterations, _submit(row) - zero)
        for row, stay, iterations in zip(rows, stays, done, strict=True)
    )
    time = Time(model="continuous")
    scenario = Scenario(name=name, cluster=cluster, contention=NO_LATENCY, time=time, jobs=jobs)
    plan = _replayed(problem_of(scenario), stays)
    return RecordedPlan(scenario, plan, _largest_difference_s(plan, rows, zero))


def _recorded(row: TraceRow) -> Recorded:
    assert row.recorded is not None  # the format was checked
    return row.recorded


def _submit(row: TraceRow) -> float:
    """Return the submit of a job, at most its start."""
    return min(row.submit, _recorded(row).start)


def _cluster(rows: Sequence[TraceRow]) -> Cluster:
    """Return the machines seen, with GPUs up to the last one seen; their network is not known."""
    num_gpus: dict[str, int] = {}
    for row in rows:
        for machine, held in _recorded(row).gpus.items():
            num_gpus[machine] = max(num_gpus.get(machine, 0), max(held) + 1)
    return Cluster(
        servers=tuple(
            Server(name=machine, gpus=num_gpus[machine]) for machine in sorted(num_gpus, key=_by_number)
        ),
        inter_server_gbps=INTER_SERVER_GBPS,
        intra_server_gbps=INTRA_SERVER_GBPS,
        reduce_gbps=REDUCE_GBPS,
    )


def _by_number(machine: str) -> tuple[str, int, str]:
    """Return the key by which m2 comes before m10."""
    match = re.fullmatch(r"(.*?)([0-9]{0,9})", machine)
    assert match is not None  # any text matches: names are one line
    return match[1], int(match[2] or -1), machine


def _stay(row: TraceRow, model: str, zero: float) -> Stay:
    start, end, gpus = _recorded(row)
    job = Job(name=row.name, gpus=row.gpus, iterations=1, **TIMED[model].fields())
    early_s = min(EARLY_S, (end - start) / 2)
    return Stay(job, start - zero, end - zero - early_s, Placement(gpus))


def _job(job: Job, done: float, submit_s: float) -> Job:
    """Return the job with a whole number of iterations, its figures scaled so that they take as long."""
    iterations = max(1, round(done))
    scale = done / iterations
    return job.replace(
        iterations=iterations,
        gradient_mb=job.gradient_mb * scale,
        forward_ms=job.forward_ms * scale,
        backward_ms=job.backward_ms * scale,
        submit_s=submit_s,
    )


def _replayed(problem: Problem, stays: Sequence[Stay]) -> Plan:
    """Return the plan of starting every job when and where it was recorded."""
    gpus = [problem.numbered(stay.gpus) for stay in stays]
    starts = [problem.instant_at(stay.start_s) for stay in stays]
    run = replay(problem, starts, gpus, origin=problem.origin)
    return plan_of(problem, Candidate(run, {}), policy=POLICY)


def _largest_difference_s(plan: Plan, rows: Sequence[TraceRow], zero: float) -> float:
    differences = []
    for job, row in zip(plan.jobs, rows, strict=True):
        start, end, _ = _recorded(row)
        differences += [abs(job.start_s - (start - zero)), abs(job.finish_s - (end - zero))]
    return max(differences)
