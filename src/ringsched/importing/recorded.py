"""The recorded schedule as a plan: every job on its recorded GPUs at its recorded start."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ringsched.contention.over_time import Stay, iterations_done
from ringsched.engine.problem import Problem, problem_of
from ringsched.formats.traces.rows import BadRow, Recorded, TraceRow
from ringsched.importing.cluster import USUAL_CONTENTION
from ringsched.importing.models import Kind
from ringsched.importing.report import Tally
from ringsched.model import Cluster, Contention, Job, Placement, Plan, Scenario, Server, Switch, Time
from ringsched.model.cluster import INTER_SERVER_GBPS, INTRA_SERVER_GBPS, REDUCE_GBPS
from ringsched.policies.plans import plan_of
from ringsched.policies.policy import Candidate
from ringsched.rules.runner import replay

OVERLAP = "overlaps another record"
NO_PLACE = "no nodes recorded that hold its GPUs"
NOT_THERE = "a node that the cluster does not have"
POLICY = "recorded"
# A job ends slightly before its recorded end, so that a job that starts then finds its GPUs free.
EARLY_S = 1e-6
# Without latency, every term of tau is proportional to the job's figures, so one factor makes the
# duration a whole number of iterations.
NO_LATENCY = USUAL_CONTENTION.replace(server_latency_ms=0.0)


def without_overlaps(
    rows: Iterable[TraceRow], tally: Tally, cluster: Cluster | None = None
) -> list[TraceRow]:
    """Return the rows whose GPUs were free at their start, in the order of their submits.

    Of two records that overlap, the one that started later is dropped. Where a record has only the number
    of GPUs, they are the free ones with the lowest indices; without a cluster, a node has as many as it
    needs for that.
    """
    nodes = _Nodes(cluster)
    placed = []
    for row in rows:
        if row.recorded is None:
            tally.drop(BadRow(NO_PLACE).on(row.line))
        else:
            placed.append(row)
    kept = []
    for row in sorted(placed, key=lambda row: (_recorded(row).start, row.line)):
        gpus = nodes.taken(_recorded(row))
        if isinstance(gpus, str):
            tally.drop(BadRow(gpus).on(row.line))
        else:
            kept.append(row._replace(recorded=_recorded(row)._replace(gpus=gpus)))
    kept.sort(key=lambda row: (_submit(row), row.line))
    return kept


class _Nodes:
    """From when on each GPU of each node is free."""

    def __init__(self, cluster: Cluster | None) -> None:
        self._free_at: dict[str, list[float]] = {}
        self._can_grow = cluster is None
        for server in cluster.servers if cluster else ():
            usable = set(range(server.gpus)) - set(server.unavailable)
            self._free_at[server.name] = [
                -math.inf if gpu in usable else math.inf for gpu in range(server.gpus)
            ]

    def taken(self, record: Recorded) -> dict[str, tuple[int, ...]] | str:
        """Take the GPUs of a record and return them, or return why that is not possible."""
        held: dict[str, tuple[int, ...]] = {}
        for node, asked in record.gpus.items():
            if node not in self._free_at and not self._can_grow:
                return NOT_THERE
            free_at = self._free_at.setdefault(node, [])
            gpus = self._lowest_free(free_at, asked, record.start) if isinstance(asked, int) else asked
            if self._can_grow and gpus:
                free_at += [-math.inf] * (max(gpus) + 1 - len(free_at))
            is_free = all(gpu < len(free_at) and free_at[gpu] <= record.start for gpu in gpus)
            if not is_free or (isinstance(asked, int) and len(gpus) < asked):
                return OVERLAP
            held[node] = gpus
        for node, gpus in held.items():
            for gpu in gpus:
                self._free_at[node][gpu] = record.end
        return held

    def _lowest_free(self, free_at: list[float], number_of: int, start: float) -> tuple[int, ...]:
        free = [gpu for gpu, at in enumerate(free_at) if at <= start]
        if self._can_grow:
            free += range(len(free_at), len(free_at) + number_of)
        return tuple(free[:number_of])


class RecordedPlan(NamedTuple):
    """A recorded plan, its scenario, and how exactly it follows the record."""

    scenario: Scenario
    plan: Plan
    largest_difference_s: float


def recorded_plan(
    rows: Sequence[TraceRow],
    kinds: Sequence[Kind],
    name: str,
    cluster: Cluster,
    contention: Contention = NO_LATENCY,
) -> RecordedPlan:
    """Return the recorded jobs as a scenario and a plan; there must be at least one."""
    zero = min(map(_submit, rows))
    contention = contention.replace(server_latency_ms=0.0)
    stays = [_stay(row, kind, zero) for row, kind in zip(rows, kinds, strict=True)]
    done = iterations_done(stays, cluster, contention)
    jobs = tuple(
        _job(stay.job, iterations, _submit(row) - zero)
        for row, stay, iterations in zip(rows, stays, done, strict=True)
    )
    time = Time(model="continuous")
    scenario = Scenario(name=name, cluster=cluster, contention=contention, time=time, jobs=jobs)
    plan = _replayed(problem_of(scenario), stays)
    return RecordedPlan(scenario, plan, _largest_difference_s(plan, rows, zero))


def _recorded(row: TraceRow) -> Recorded:
    assert row.recorded is not None  # the format was checked
    return row.recorded


def _submit(row: TraceRow) -> float:
    """Return the submit of a job, at most its start."""
    return min(row.submit, _recorded(row).start)


def machines_seen(rows: Sequence[TraceRow], switch_of: Mapping[str, str] | None = None) -> Cluster:
    """Return the machines seen, with GPUs up to the last one seen; their network is not known.

    The switches, if they are known, are non-blocking.
    """
    num_gpus: dict[str, int] = {}
    for row in rows:
        for machine, held in _recorded(row).gpus.items():
            num_gpus[machine] = max(num_gpus.get(machine, 0), max(_indices(held)) + 1)
    above = {machine: (switch_of or {}).get(machine) for machine in num_gpus}
    num_below = Counter(switch for switch in above.values() if switch is not None)
    return Cluster(
        servers=tuple(
            Server(name=machine, gpus=num_gpus[machine], switch=above[machine])
            for machine in sorted(num_gpus, key=_by_number)
        ),
        switches=tuple(
            Switch(name=switch, uplink_gbps=number * INTER_SERVER_GBPS)
            for switch, number in num_below.items()
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


def _indices(held: tuple[int, ...] | int) -> tuple[int, ...]:
    assert not isinstance(held, int)  # they were assigned
    return held


def _stay(row: TraceRow, kind: Kind, zero: float) -> Stay:
    start, end, gpus, _ = _recorded(row)
    job = kind.job(row.name, 1, 0.0)
    early_s = min(EARLY_S, (end - start) / 2)
    placement = Placement({machine: _indices(held) for machine, held in gpus.items()})
    return Stay(job, start - zero, end - zero - early_s, placement)


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
        start, end = _recorded(row)[:2]
        differences += [abs(job.start_s - (start - zero)), abs(job.finish_s - (end - zero))]
    return max(differences)
