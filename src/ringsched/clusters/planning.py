"""Plans of a live queue: priority classes in order, and a promise to the first job, so that none starves.

Every function is pure: the same snapshot and settings give the same plan, unless a clock stops the search.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ringsched import api
from ringsched.clusters.progress import known_by_end
from ringsched.engine.problem import Problem, problem_of
from ringsched.engine.state import Run, planned_jobs
from ringsched.errors import Infeasible, InputError
from ringsched.model import Cluster, Job, PlannedJob, Scenario, Server
from ringsched.model.eligibility import matching
from ringsched.model.objective import MAKESPAN
from ringsched.policies.plans import settings_of
from ringsched.policies.policy import Candidate, Observer, Stop
from ringsched.policies.table import policy_named

ROLLING = "rolling"
TIME_LIMIT_S = 0.3
NOW_S = 1e-6  # jobs that start this soon start now
MOST_CLASSES = 8  # planned one after another; lower ones are planned together with the last
MOST_PLANNED = 200  # jobs of a class that are planned, for each set of servers they may use
MOST_SEARCHED = 250_000  # jobs times servers; a larger queue is planned in one pass
MOST_GUARDED = 50  # waiting jobs that no job of a lower class may delay
MOST_TRIALS = 10  # simulations of whether some jobs would delay a guarded job
_FILLS = 2  # times that the rest of a class is planned again without jobs that would delay others
_LATER_SHARE = 1e-9
_IN_ORDER = "fifo"
_FALLBACK = "longest-first"  # it always terminates
_SMALL = Cluster(servers=(Server(name="s", gpus=1),), inter_server_gbps=1, intra_server_gbps=1, reduce_gbps=1)
_PLACE = re.compile(r"jobs\[(\d+)\]")


class _Stopper(Observer):
    """Ends a search when the controller is asked to end."""

    def __init__(self, should_stop: Callable[[], bool] | None) -> None:
        self._should_stop = should_stop

    def should_stop(self) -> bool:
        return self._should_stop is not None and self._should_stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedQueue:
    """When and where jobs run.

    Parameters
    ----------
    entries
        Every planned job by name, with the jobs that run already.
    starts
        Names of the waiting jobs that start now.
    left
        Jobs that cannot be planned, each with the reason.
    promise
        The first job that cannot start now, and the start it is promised, in seconds from now.
    """

    entries: Mapping[str, PlannedJob]
    starts: tuple[str, ...] = ()
    left: Mapping[str, InputError] = field(default_factory=dict)
    promise: tuple[str, float] | None = None

    @property
    def makespan_s(self) -> float:
        """When the last job ends, from now."""
        return max((entry.finish_s for entry in self.entries.values()), default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """How the queue is planned.

    Parameters
    ----------
    policy
        `rolling`, a short search on the present queue; or any name from `list_policies()`.
    objective
        What a search minimises.
    time_limit_s, iterations
        Limits of a search; with `iterations` alone it is reproducible.
    """

    policy: str = ROLLING
    objective: str = MAKESPAN.name
    time_limit_s: float | None = None
    iterations: int | None = None
    should_stop: Callable[[], bool] | None = None

    def check(self) -> None:
        """Raise if the settings are incompatible."""
        self._plan(Scenario(cluster=_SMALL), 1)

    def plan(self, scenario: Scenario, *, late: str = "") -> PlannedQueue:
        """Plan the queue around the running jobs.

        Classes of equal `priority` are planned one after another, the highest first. In a class the policy
        is free, but no job may start now that delays the first job of the class or a job of a higher class.
        The first job itself starts as soon as it can.

        Parameters
        ----------
        scenario
            Waiting jobs in the order of submission.
        late
            A first job that missed its promise. No job behind it starts on a server that it may use.
        """
        running = [job for job in scenario.jobs if job.is_running]
        queue = _Queue(base=scenario, fixed=running)
        classes = _classes(job for job in scenario.jobs if not job.is_running)
        for jobs in classes:
            self._plan_class(queue, jobs, len(classes), late)
        if not classes:
            queue.entries |= self._entries(queue, (), 1)
        queue.postpone()
        return PlannedQueue(
            entries=queue.entries, starts=tuple(queue.starts), left=queue.left, promise=queue.promise
        )

    def _plan_class(self, queue: _Queue, jobs: Sequence[Job], num_classes: int, late: str) -> None:
        jobs = _first_of_each_kind(jobs)
        entries = self._entries(queue, jobs, num_classes)
        queue.entries |= entries
        jobs = [job for job in jobs if job.name in entries]
        head = next((job for job in jobs if job.submit_s == 0), None)
        if head is not None and not queue.guarded:  # no higher class waits, so it starts as soon as it can
            first = entries[head.name]
            if first.start_s > NOW_S:
                first = _alone(queue, head)
            if first.start_s <= NOW_S:
                queue.fix(head, first)
            else:
                queue.promise = (head.name, first.start_s)
        if head is not None and head.name not in queue.starts:
            queue.guarded.append(head)
            if head.name == late:
                queue.blocked_for = head
        waiting = [job for job in jobs if job.name not in queue.starts]
        for _ in range(_FILLS):
            planned = [job for job in waiting if entries[job.name].start_s <= NOW_S]
            due = queue.due(planned, entries)
            harmless = self._harmless(queue, due, entries)
            for job in harmless:
                queue.fix(job, entries[job.name])
            tried = {job.name for job in due}
            waiting = [job for job in waiting if job.name not in tried]
            if len(harmless) == len(planned) or not waiting:
                break
            entries = self._entries(queue, waiting, num_classes)  # shorter jobs may fit before the first
            queue.entries |= entries
            waiting = [job for job in waiting if job.name in entries]
        known = {*queue.starts, *(job.name for job in queue.guarded)}
        queue.guarded += [job for job in jobs if job.name not in known]
        del queue.guarded[MOST_GUARDED:]

    def _harmless(
        self, queue: _Queue, due: Sequence[Job], entries: Mapping[str, PlannedJob]
    ) -> Sequence[Job]:
        """Return those of the jobs whose start delays no guarded job."""
        if not queue.guarded or not due:
            return due
        promised_s = self._starts_s(queue, queue.guarded)

        def delays(jobs: Sequence[Job]) -> bool:
            trial = replace(
                queue,
                fixed=list(queue.fixed),
                starts=list(queue.starts),
                guarded=list(queue.guarded),
                entries=dict(queue.entries),
            )
            for job in jobs:
                trial.fix(job, entries[job.name])
            then_s = self._starts_s(trial, trial.guarded)
            return any(
                start_s > promised_s[name] + max(NOW_S, _LATER_SHARE * start_s)
                for name, start_s in then_s.items()
            )

        chosen: list[Job] = []
        groups = [list(due)]
        for _ in range(MOST_TRIALS):
            if not groups:
                break
            group = groups.pop(0)
            if not delays([*chosen, *group]):
                chosen += group
            elif len(group) > 1:
                groups[:0] = [group[: len(group) // 2], group[len(group) // 2 :]]
        return chosen

    def _starts_s(self, queue: _Queue, jobs: Sequence[Job]) -> dict[str, float]:
        """Return when jobs start if they come first, in this order."""
        problem, run = _run(queue.scenario(jobs), _IN_ORDER)
        first = len(queue.fixed)
        return {job.name: problem.seconds_at(run.starts[first + at]) for at, job in enumerate(jobs)}

    def _entries(self, queue: _Queue, jobs: Sequence[Job], num_classes: int) -> dict[str, PlannedJob]:
        """Return the plan of some jobs; one that cannot be planned is left out with a reason.

        A running job that its owner released counts as if about to end.
        """
        scenario = queue.scenario(jobs)
        while True:
            try:
                return self._plan(scenario, num_classes)
            except InputError as error:
                known, at = list(scenario.jobs), _job_of(error)
                bad = known.pop(at)
                if bad.running_on is None:
                    queue.left[bad.name] = InputError(error.problem, field=error.field)
                else:
                    known.insert(at, known_by_end(bad.name, bad.running_on, 1.0))
                    queue.fixed[at] = known[at]
                scenario = scenario.replace(jobs=tuple(known))

    def _plan(self, scenario: Scenario, num_classes: int) -> dict[str, PlannedJob]:
        try:
            size = len(scenario.jobs) * len(scenario.cluster.servers)
            if self.policy == ROLLING and size > MOST_SEARCHED:
                return _one_pass(scenario, _FALLBACK)
            if self.policy not in (ROLLING, "search"):
                return _one_pass(scenario, self.policy, self.objective)
            unlimited = self.time_limit_s is None and self.iterations is None
            limit_s = TIME_LIMIT_S if unlimited else self.time_limit_s
            plan = api.plan(
                scenario,
                "search",
                objective=self.objective,
                stop=Stop(
                    time_limit_s=None if limit_s is None else limit_s / num_classes,
                    max_schedules=self.iterations,
                ),
                observer=_Stopper(self.should_stop),
            )
            return {entry.name: entry for entry in plan.jobs}
        except Infeasible:  # of the horizon, or too large for a proof; jobs still run by another policy
            return _one_pass(scenario, _FALLBACK)


@dataclass(slots=True, kw_only=True)
class _Queue:
    """What is decided so far: jobs on their GPUs, and waiting jobs that no other job may delay."""

    base: Scenario
    fixed: list[Job]
    starts: list[str] = field(default_factory=list)
    guarded: list[Job] = field(default_factory=list)
    entries: dict[str, PlannedJob] = field(default_factory=dict)
    left: dict[str, InputError] = field(default_factory=dict)
    promise: tuple[str, float] | None = None
    blocked_for: Job | None = None  # no job starts on a server that this one may use

    def scenario(self, jobs: Iterable[Job]) -> Scenario:
        """Return the scenario of some waiting jobs."""
        return self.base.replace(jobs=(*self.fixed, *jobs))

    def fix(self, job: Job, entry: PlannedJob) -> None:
        """Put a job that starts now on its GPUs."""
        self.fixed.append(job.replace(running_on=entry.gpus, submit_s=0.0))
        self.starts.append(job.name)
        self.entries[job.name] = entry
        self.guarded = [guarded for guarded in self.guarded if guarded.name != job.name]

    def postpone(self) -> None:
        """Move planned starts of now that were refused to the promised start, or the next end."""
        started = {job.name for job in self.fixed}
        ends_s = [entry.finish_s for name, entry in self.entries.items() if name in started]
        later_s = self.promise[1] if self.promise is not None else min(ends_s, default=0.0)
        for name, entry in self.entries.items():
            if entry.start_s <= NOW_S and name not in started:
                self.entries[name] = replace(
                    entry, start_s=entry.start_s + later_s, finish_s=entry.finish_s + later_s
                )

    def due(self, jobs: Sequence[Job], entries: Mapping[str, PlannedJob]) -> list[Job]:
        """Return the jobs whose GPUs are still free, on no blocked server."""
        held = {
            (name, gpu) for job in self.fixed for name, gpus in (job.running_on or {}).items() for gpu in gpus
        }
        blocked: set[str] = set()
        if self.blocked_for is not None:
            servers = self.base.cluster.servers
            suits = matching(servers, self.blocked_for.requires)
            blocked = {server.name for server, suited in zip(servers, suits, strict=True) if suited}
        return [
            job
            for job in jobs
            if held.isdisjoint(entries[job.name].ring) and blocked.isdisjoint(entries[job.name].gpus)
        ]


def _one_pass(scenario: Scenario, policy: str, objective: str = MAKESPAN.name) -> dict[str, PlannedJob]:
    """Return what a policy plans, without the bounds of a whole plan."""
    problem, run = _run(scenario, policy, objective)
    return {entry.name: entry for entry in planned_jobs(problem, run)}


def _alone(queue: _Queue, job: Job) -> PlannedJob:
    """Return what a job does if it comes before all other waiting jobs."""
    problem, run = _run(queue.scenario((job,)), _IN_ORDER)
    return PlannedJob(
        name=job.name,
        start_s=problem.seconds_at(run.starts[-1]),
        finish_s=problem.seconds_at(run.finishes[-1]),
        ring=problem.ring(run.gpus[-1]),
        gpus=problem.placement(run.gpus[-1]),
    )


def _run(scenario: Scenario, policy: str, objective: str = MAKESPAN.name) -> tuple[Problem, Run]:
    problem, chosen = problem_of(scenario), policy_named(policy)
    chosen.check_model(scenario.contention)
    settings = settings_of(chosen, objective=objective)
    found = chosen.candidate(problem, settings) if scenario.jobs else Candidate(Run((), (), ()), {})
    if found is None:
        raise Infeasible(f"policy {policy!r} finds no plan", lower_bound_s=0.0)
    return problem, found.run


def _classes(jobs: Iterable[Job]) -> list[list[Job]]:
    """Return the jobs by priority, the highest class first, each in the order of submission."""
    by_priority: dict[int, list[Job]] = {}
    for job in jobs:
        by_priority.setdefault(job.priority, []).append(job)
    ordered = [by_priority[priority] for priority in sorted(by_priority, reverse=True)]
    last = [job for jobs in ordered[MOST_CLASSES - 1 :] for job in jobs]
    return [*ordered[: MOST_CLASSES - 1], *([last] if last else [])]


def _first_of_each_kind(jobs: Iterable[Job]) -> list[Job]:
    """Return the first jobs for each set of servers; later ones wait behind them anyway."""
    count: dict[tuple[tuple[str, str], ...], int] = {}
    found = []
    for job in jobs:
        kind = tuple(sorted(job.requires.items()))
        count[kind] = count.get(kind, 0) + 1
        if count[kind] <= MOST_PLANNED:
            found.append(job)
    return found


def _job_of(error: InputError) -> int:
    """Return which job of a scenario an error is about; raise it if it is about something else."""
    if (place := _PLACE.match(error.place or "")) is None:
        raise error
    return int(place[1])


def with_possible(
    empty: Scenario, fixed: Sequence[Job], planned: Sequence[Job], left: dict[str, str]
) -> Scenario:
    """Return the scenario of the jobs that can be in one; `left` gets the reasons of those that cannot."""
    jobs = list(planned)
    while True:
        try:
            return empty.replace(jobs=(*fixed, *jobs))
        except InputError as error:
            if (at := _job_of(error) - len(fixed)) < 0:
                raise
            left[jobs.pop(at).name] = str(InputError(error.problem, field=error.field))
