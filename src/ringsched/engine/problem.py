"""A scenario made ready for the engine: read-only arrays, indices instead of names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.contention.fabric import Fabric, Kind, fabric_of, kinds_of
from ringsched.contention.iteration_time import Work
from ringsched.contention.network import Network, Shape
from ringsched.engine.clock import SLACK, Clock, clock_of
from ringsched.engine.columns import job_columns
from ringsched.engine.eligibility import Eligibility, Floats, Integers, eligibility_of
from ringsched.errors import InputError
from ringsched.model import Bound, Job, Placement, Scenario
from ringsched.model.checks import MAX_INTEGER, settle
from ringsched.model.derived import derived_once
from ringsched.model.eligibility import Windows
from ringsched.model.job import UNRESTRICTED
from ringsched.model.objective import Objective

if TYPE_CHECKING:
    from ringsched.engine.clock import Times


# How long the kernels as plain Python are busy with a job, and more for each server.
_JOB_S = 1.2e-4
_SERVER_S = 1.5e-6


class Columns(NamedTuple):
    """Some fields of a problem as arrays, from which kernels and sums over a million jobs are made.

    They are read only.
    """

    kind_of: Integers
    gpus: Integers
    iterations: Integers
    release: Floats
    best_case: Floats
    worst_case: Floats


@dataclass(frozen=True, slots=True)
class Problem:
    """Everything about a scenario that engine, bounds and policies ask for, computed once.

    Jobs and servers are named by index. GPUs are numbered through the whole cluster, server by
    server, so that their order is the order of (server, GPU). Durations and instants are in the
    clock's units, and instants count from the origin: what time it is when the first job comes, 0 or
    Unix seconds, makes no difference to anything computed from a problem.
    """

    scenario: Scenario
    clock: Clock
    origin: float  # the first release, on the clock: every other instant counts from here
    fabric: Fabric
    num_gpus: int  # N: available GPUs
    server_index: dict[str, int]  # by name
    first_gpu: tuple[int, ...]  # of each server, and the total at the end
    server_of: tuple[int, ...]  # of each GPU
    available: tuple[bool, ...]  # of each GPU
    gpus: tuple[int, ...]
    iterations: tuple[int, ...]  # still to be done at the origin
    works: tuple[Work, ...]
    release: tuple[float, ...]
    best_case: tuple[float, ...]  # duration; of a running job what remains, at its own placement
    worst_case: tuple[float, ...]
    running: dict[int, tuple[int, ...]]  # job -> GPUs it holds at the origin, which is 0 then
    horizon: int  # T
    eligibility: Eligibility
    kinds: tuple[Kind, ...]
    columns: Columns = field(repr=False, compare=False)
    num_jobs: int = field(init=False)  # the running ones included
    queued: tuple[int, ...] = field(init=False)  # the jobs that have no place yet
    # What bounds/lower_bound.py has found: a plan asks for it several times, and it is computed once.
    bounds: dict[Objective, tuple[Bound, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    derived: dict[Callable[[Problem], Any], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        jobs = range(len(self.gpus))
        queued = tuple(job for job in jobs if job not in self.running) if self.running else tuple(jobs)
        settle(self, num_jobs=len(self.gpus), queued=queued)

    @property
    def origin_s(self) -> float:
        """The origin in seconds: where makespan, bounds and pictures begin."""
        return self.clock.seconds(float(self.origin))

    def seconds_at(self, instant: Times) -> Times:
        """Return an instant as scenarios and plans state it, in seconds since 0; see `Clock.seconds`."""
        return self.clock.seconds(self.origin + instant)

    def instant_at(self, time_s: float) -> float:
        """Return the instant that a plan states as `time_s`."""
        return _since(self.origin, self.clock.instant(time_s))

    def may_use(self, job: int) -> tuple[int, ...]:
        """Return the servers that the job may use, outside of their windows."""
        return self.eligibility.may_use(job)

    @property
    def parts(self) -> tuple[int, ...]:
        """Of each job: into how many parts it must be split; see `Job.parts`."""
        return self.eligibility.parts

    @property
    def limit(self) -> tuple[float, ...]:
        """Of each job: how long it runs at most; infinity if there is no limit."""
        return self.eligibility.limit

    @property
    def windows(self) -> tuple[Windows, ...]:
        """Of each server: when it is unavailable."""
        return self.eligibility.windows

    @property
    def network(self) -> Network:
        """The tree of links."""
        return self.fabric.network

    @property
    def num_servers(self) -> int:
        """How many servers."""
        return self.network.num_servers

    @property
    def pass_s(self) -> float:
        """Seconds that one run of all jobs takes the kernels as plain Python, roughly."""
        return self.num_jobs * (_JOB_S + _SERVER_S * self.num_servers)

    def shape(self, gpus: Sequence[int]) -> Shape:
        """Return what the network sees of a job on these GPUs."""
        return self.fabric.shape(Counter(map(self.server_of.__getitem__, gpus)))

    def alone_tau(self, job: int, shape: Shape) -> float:
        """Return seconds per iteration of a job on such GPUs, with no other job around."""
        return self.fabric.alone_tau(self.works[job], shape)

    def durations(self, taus: Sequence[float]) -> list[float]:
        """Return how long each job runs if iterations of its kind take these seconds.

        A kind at infinity cannot run so: its jobs take infinity too, whatever their time limit.
        """
        clock, kind_of = self.clock, self.columns.kind_of
        never = [tau == math.inf for tau in taus]
        rates = [1.0 if tau == math.inf else clock.rate(tau) for tau in taus]
        durations: list[float] = _durations(self, self.columns.iterations, rates).tolist()
        if not self.is_unlimited:
            durations = list(map(min, durations, self.limit))
        if any(never):
            durations = [
                math.inf if never[kind] else duration
                for kind, duration in zip(kind_of.tolist(), durations, strict=True)
            ]
        return durations

    @property
    def is_unlimited(self) -> bool:
        """Whether no job has a time limit."""
        return self.limit.count(math.inf) == len(self.limit)

    def placement(self, gpus: Sequence[int]) -> Placement:
        """Return GPU numbers as a placement, servers in order."""
        held: dict[str, list[int]] = {}
        for gpu in sorted(gpus):
            server = self.server_of[gpu]
            name = self.scenario.cluster.servers[server].name
            held.setdefault(name, []).append(gpu - self.first_gpu[server])
        return Placement(held)

    def numbered(self, placement: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
        """Return a placement as GPU numbers."""
        return _numbered(placement, self.server_index, self.first_gpu)

    def ring(self, gpus: Sequence[int]) -> tuple[tuple[str, int], ...]:
        """Return the workers by switches from the core down, server and GPU.

        So the ring crosses each uplink once each way.
        """
        servers, path = self.scenario.cluster.servers, self.network.path
        from_core = {server: tuple(path(server))[:0:-1] for server in {self.server_of[gpu] for gpu in gpus}}
        ordered = sorted(gpus, key=lambda gpu: (from_core[self.server_of[gpu]], gpu))
        return tuple(
            (servers[self.server_of[gpu]].name, gpu - self.first_gpu[self.server_of[gpu]]) for gpu in ordered
        )


@derived_once
def problem_of(scenario: Scenario) -> Problem:
    """Return the problem of a scenario, or say which job cannot be planned and why.

    Examples
    --------
    >>> from ringsched.model import Cluster, Job, Scenario, Server
    >>> cluster = Cluster(
    ...     servers=(Server(name="a", gpus=2),), inter_server_gbps=10, intra_server_gbps=100, reduce_gbps=400
    ... )
    >>> job = Job(name="j", gpus=1, iterations=25, gradient_mb=9, minibatch=1, forward_ms=0, backward_ms=100)
    >>> problem_of(Scenario(cluster=cluster, jobs=(job,))).best_case
    (3,)
    """
    cluster, jobs, clock = scenario.cluster, scenario.jobs, clock_of(scenario.time)
    fabric, known = fabric_of(cluster, scenario.contention), job_columns(scenario)
    first, restricted = known.first.tolist(), known.restricted
    gpus = np.array([jobs[at].gpus for at in first], dtype=np.int64)[known.kind_of]
    examples = [(jobs[at], restricted.get(at, UNRESTRICTED)) for at in first]
    kinds = kinds_of(fabric, cluster, examples, int(np.count_nonzero(gpus >= 2)))
    server_index = {server.name: at for at, server in enumerate(cluster.servers)}
    first_gpu = tuple(accumulate((server.gpus for server in cluster.servers), initial=0))
    entered: NDArray[Any] = known.submit_s
    if clock.slotted:
        submits_s: list[float] = entered.tolist()
        slot_of = {submit_s: clock.release(submit_s) for submit_s in set(submits_s)}  # often all are the same
        slots = [slot_of[submit_s] for submit_s in submits_s]
        if not _is_countable(clock, max(slots, default=0)):
            raise _uncountable(jobs, slots.index(max(slots)))
        entered = np.array(slots, dtype=np.int64)
    origin = entered.min().item() if jobs else 0
    release = _all_since(origin, entered)
    works = [kind.work for kind in kinds]
    problem = Problem(
        scenario=scenario,
        clock=clock,
        origin=origin,
        fabric=fabric,
        num_gpus=cluster.capacity,
        server_index=server_index,
        first_gpu=first_gpu,
        server_of=tuple(at for at, server in enumerate(cluster.servers) for _ in range(server.gpus)),
        available=tuple(
            gpu not in server.unavailable for server in cluster.servers for gpu in range(server.gpus)
        ),
        gpus=tuple(gpus.tolist()),
        iterations=(),
        works=tuple(map(works.__getitem__, known.kind_of.tolist())),
        release=tuple(release.tolist()),
        best_case=(),
        worst_case=(),
        running={at: _numbered(jobs[at].running_on or {}, server_index, first_gpu) for at in known.running},
        horizon=0,
        eligibility=eligibility_of(jobs, known.limited, restricted, cluster.servers, clock, origin),
        kinds=kinds,
        columns=Columns(
            kind_of=known.kind_of,
            gpus=gpus,
            iterations=known.iterations,
            release=release.astype(np.float64),
            best_case=_NO_FLOATS,
            worst_case=_NO_FLOATS,
        ),
    )
    return _with_iterations(problem, known.iterations)


_NO_FLOATS = np.zeros(0)


def with_iterations(problem: Problem, scenario: Scenario, iterations: Integers) -> Problem:
    """Return the problem with other iterations still to be done; the jobs may have other estimates."""
    return _with_iterations(replace(problem, scenario=scenario), iterations)


def _with_iterations(problem: Problem, iterations: Integers) -> Problem:
    """Return the problem with these iterations, and what follows from them."""
    clock, fabric, limit = problem.clock, problem.fabric, problem.limit
    worst_case = _worst_cases(problem, iterations)
    best_case = _durations(problem, iterations, clock.rates(kind.best_tau for kind in problem.kinds))
    for at, gpus in problem.running.items():
        rate = clock.rate(fabric.alone_tau(problem.works[at], problem.shape(gpus)))
        best_case[at] = clock.duration(int(iterations[at]), rate)
    if not problem.is_unlimited:
        worst_case, best_case = (
            np.minimum(each, limit).astype(each.dtype) for each in (worst_case, best_case)
        )
    last = max(problem.columns.release.max(initial=0.0).item(), problem.eligibility.last_reopening)
    longest = worst_case.tolist()
    return replace(
        problem,
        iterations=tuple(iterations.tolist()),
        best_case=tuple(best_case.tolist()),
        worst_case=tuple(longest),
        horizon=clock.horizon(problem.scenario.time, last + math.fsum(longest)),
        columns=problem.columns._replace(
            iterations=iterations,
            best_case=best_case.astype(np.float64),
            worst_case=worst_case.astype(np.float64),
        ),
    )


def _durations(problem: Problem, iterations: Integers, rates: Sequence[float]) -> NDArray[Any]:
    """Return how long each job takes at the rate of its kind."""
    kind_of = problem.columns.kind_of
    durations: NDArray[Any]
    if problem.clock.slotted:
        durations = -(-iterations // np.array(rates, dtype=np.int64)[kind_of])
    else:
        with np.errstate(over="ignore"):  # refused as too long
            durations = iterations * np.array(rates, dtype=np.float64)[kind_of]
    return durations


def _worst_cases(problem: Problem, iterations: Integers) -> NDArray[Any]:
    """Return the worst-case durations; refuse a job that would not move, or never end."""
    clock, jobs = problem.clock, problem.scenario.jobs
    rates = clock.rates(kind.worst_tau for kind in problem.kinds)
    for kind, (_, _, _, tau) in enumerate(problem.kinds):
        if not math.isfinite(tau):
            at = int(np.argmax(problem.columns.kind_of == kind))
            raise InputError(
                "takes for ever at these link speeds", field="an iteration", place=_place(at, jobs[at])
            )
        if clock.slotted and rates[kind] < 1:
            at = int(np.argmax(problem.columns.kind_of == kind))
            raise InputError(
                f"can take {tau:.6g} s in the worst case, longer than a slot of {clock.unit_s:g} s, "
                'so the job would not move; use a longer time.slot_s or time.model = "continuous"',
                field="an iteration",
                place=_place(at, jobs[at]),
            )
    durations = _durations(problem, iterations, rates)
    # No earlier than a job can end, by the slot in which it enters.
    with np.errstate(over="ignore"):  # refused as too late
        ends = problem.columns.release + (problem.origin + durations)
    if not _is_countable(clock, float(ends.max(initial=0.0)) * (1 + SLACK)):
        for at, duration in enumerate(durations.tolist()):
            if not _is_countable(clock, clock.units(jobs[at].submit_s) + duration):
                raise _uncountable(jobs, at)
    return durations


def _uncountable(jobs: Sequence[Job], at: int) -> InputError:
    return InputError("the job may end too late to be counted exactly", place=_place(at, jobs[at]))


def _is_countable(clock: Clock, end: float) -> bool:
    """Whether an end is counted exactly; the sum over a million such jobs is still a number."""
    return end <= MAX_INTEGER and math.isfinite(clock.seconds(end) * 1e6)


def _all_since(origin: float, instants: NDArray[Any]) -> NDArray[Any]:
    """Return `_since` of every instant; slots are whole numbers, which are not rounded."""
    elapsed: NDArray[Any] = instants - origin
    while (early := origin + elapsed < instants).any():
        elapsed[early] = np.nextafter(elapsed[early], np.inf)
    return elapsed


def _since(origin: float, instant: float) -> float:
    """Return how long after the origin an instant is; the sum of the two is never before the instant."""
    elapsed = instant - origin
    while origin + elapsed < instant:  # by rounding
        elapsed = math.nextafter(elapsed, math.inf)
    return elapsed


def _place(at: int, job: Job) -> str:
    return f"jobs[{at}] {job.name!r}"


def _numbered(
    placement: Mapping[str, Sequence[int]], server_index: Mapping[str, int], first_gpu: Sequence[int]
) -> tuple[int, ...]:
    return tuple(
        sorted(first_gpu[server_index[name]] + gpu for name, held in placement.items() for gpu in held)
    )


def objective_value(problem: Problem, finishes: Sequence[float], objective: Objective) -> float:
    """Return what finishes, in the clock's units from the origin on, are worth; less is better."""
    seconds = problem.clock.seconds
    return objective.value(
        problem.scenario.jobs,
        [seconds(finish) for finish in finishes],
        best_cases_s=[seconds(best) for best in problem.best_case] if objective.is_ratio else (),
        origin_s=problem.origin_s,
    )
