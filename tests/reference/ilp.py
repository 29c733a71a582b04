"""The paper's two integer programs, as written: every schedule is a column, and CP-SAT picks one.

A schedule y^k says how many GPUs each job has on each server, and when it starts (section 5, part 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from ortools.sat.python import cp_model
from tests.reference.formulas import best_case_ticks
from tests.reference.replay import replay
from tests.reference.rules import MILLION, charges

from ringsched.model import Job, Scenario

Gpu = tuple[str, int]
Counts = tuple[int, ...]  # y_js: GPUs on each server


@dataclass(frozen=True)
class Schedule:
    """One y^k: what the programs need to know of it, job by job."""

    starts: tuple[int, ...]  # a_j(y^k), in slots
    ends: tuple[int, ...]  # a_j(y^k) + rho_j(y^k), with contention
    gpus: tuple[frozenset[Gpu], ...]  # G_j(y^k)

    @property
    def makespan(self) -> int:
        """The last end."""
        return max(self.ends)


def schedules(scenario: Scenario, horizon: int) -> list[Schedule]:
    """All of Y: every feasible schedule that ends by `horizon` slots."""
    capacities = [server.gpus for server in scenario.cluster.servers]
    shapes = [list(splits(job.gpus, capacities)) for job in scenario.jobs]
    best = [int(best_case_ticks(scenario, job)) for job in scenario.jobs]
    starts = [range(horizon - shortest + 1) for shortest in best]
    charge = charges(scenario)
    found = []
    for counts, begin in product(product(*shapes), product(*starts)):
        soonest = [start + shortest for start, shortest in zip(begin, best, strict=True)]
        if _gpus(scenario, counts, begin, soonest, charge) is None:
            continue  # a server would be too small even if nobody were slowed
        ends = ends_of(scenario, counts, begin)
        gpus = _gpus(scenario, counts, begin, ends, charge)
        if gpus is not None and max(ends) <= horizon:
            found.append(Schedule(begin, ends, gpus))
    return found


def splits(wanted: int, capacities: Sequence[int]) -> Iterator[Counts]:
    """All ways to take GPUs from servers."""
    if not capacities:
        if wanted == 0:
            yield ()
        return
    for held in range(min(wanted, capacities[0]) + 1):
        for rest in splits(wanted - held, capacities[1:]):
            yield (held, *rest)


def ends_of(scenario: Scenario, counts: Sequence[Counts], starts: Sequence[int]) -> tuple[int, ...]:
    """When each job ends, in slots; which GPUs of a server it has makes no difference."""
    names = [server.name for server in scenario.cluster.servers]
    placements = [
        {name: range(held) for name, held in zip(names, numbers, strict=True) if held} for numbers in counts
    ]
    finishes = replay(scenario, [start * scenario.time.slot_s for start in starts], placements)
    return tuple(round(finish / scenario.time.slot_s) for finish in finishes)


def _gpus(
    scenario: Scenario,
    counts: Sequence[Counts],
    starts: Sequence[int],
    ends: Sequence[int],
    charge: Mapping[str, int],
) -> tuple[frozenset[Gpu], ...] | None:
    """Give out GPUs in the order of starts, the least loaded of each server first; None if too few."""
    free_from = {(server.name, gpu): 0 for server in scenario.cluster.servers for gpu in range(server.gpus)}
    load = dict.fromkeys(free_from, 0)
    given: dict[int, frozenset[Gpu]] = {}
    for at in sorted(range(len(starts)), key=lambda at: (starts[at], at)):
        chosen: list[Gpu] = []
        for server, wanted in zip(scenario.cluster.servers, counts[at], strict=True):
            idle = [gpu for gpu, free in free_from.items() if gpu[0] == server.name and free <= starts[at]]
            if len(idle) < wanted:
                return None
            chosen += sorted(idle, key=lambda gpu: (load[gpu], gpu))[:wanted]
        for gpu in chosen:
            free_from[gpu] = ends[at]
            load[gpu] += charge[scenario.jobs[at].name]
        given[at] = frozenset(chosen)
    return tuple(given[at] for at in range(len(starts)))


def _choice(
    model: cp_model.CpModel, num_jobs: int, num_schedules: int
) -> dict[tuple[int, int], cp_model.IntVar]:
    """x_j^k with constraints (11) to (13): each job follows one schedule, all the same."""
    x = {(j, k): model.new_bool_var(f"x_{j}^{k}") for j in range(num_jobs) for k in range(num_schedules)}
    for j in range(num_jobs):
        model.add(sum(x[j, k] for k in range(num_schedules)) == 1)
        for k in range(num_schedules):
            model.add(x[j, k] == x[0, k])
    return x


def _chosen(model: cp_model.CpModel, x: Mapping[tuple[int, int], cp_model.IntVar]) -> int | None:
    """Solve; the k that was chosen, or None if there is none."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return None
    assert status == cp_model.OPTIMAL
    return next(k for (j, k), variable in x.items() if j == 0 and solver.value(variable))


def least_makespan(jobs: Sequence[Job], columns: Sequence[Schedule]) -> int | None:
    """Program (10): min over x of the max over j of sum over k of x_j^k (a_j + rho_j)."""
    model = cp_model.CpModel()
    x = _choice(model, len(jobs), len(columns))
    makespan = model.new_int_var(0, max((one.makespan for one in columns), default=0), "makespan")
    for j in range(len(jobs)):
        model.add(makespan >= sum(x[j, k] * one.ends[j] for k, one in enumerate(columns)))
    model.minimize(makespan)
    return _chosen(model, x)


def within_load(scenario: Scenario, columns: Sequence[Schedule], theta: int) -> int | None:
    """Program (14): any schedule in which no GPU is given more than theta slots of rho_hat / u."""
    model = cp_model.CpModel()
    charge = charges(scenario)
    x = _choice(model, len(scenario.jobs), len(columns))
    for server in scenario.cluster.servers:
        for gpu in range(server.gpus):
            load = sum(
                x[j, k] * charge[job.name]
                for j, job in enumerate(scenario.jobs)
                for k, one in enumerate(columns)
                if (server.name, gpu) in one.gpus[j]  # W^_jg^k of eq. (15) is meant for these only
            )
            model.add(load <= theta * MILLION)
    model.minimize(-1)
    return _chosen(model, x)


def load(scenario: Scenario, one: Schedule) -> int:
    """W^_max of a schedule in millionths of a slot."""
    charge = charges(scenario)
    gpus = frozenset().union(*one.gpus)
    return max(
        sum(charge[job.name] for job, held in zip(scenario.jobs, one.gpus, strict=True) if gpu in held)
        for gpu in gpus
    )
