"""Online policies of the user, in Python: asked at every event, in `simulate`, `plan` and `compare`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from ringsched.engine.problem import Problem
from ringsched.online.ahead import believed_problem
from ringsched.online.live import OnlineCluster
from ringsched.online.outcome import OnlineRun, run_of_stage
from ringsched.online.settings import EASY, OnlineSettings
from ringsched.online.stage import new_stage
from ringsched.policies import custom
from ringsched.policies.custom import CustomPolicy, JobView, PolicyFile, name_of
from ringsched.policies.policy import OWN_ORDER, Candidate, Policy, Settings, reported_errors
from ringsched.rules.table import BEST_FIT

_EVENTS_AT_A_TIME = 200  # between two calls of the observer


class OnlinePolicy(Protocol):
    """What `simulate`, `plan` and `compare` take besides a name, for jobs that arrive over time.

    It may also have a `name`, and a method `order(job)` that returns a sort key when a job is submitted:
    the queue is sorted by it, lowest first.
    """

    def schedule(self, cluster: OnlineCluster) -> None:
        """Start any waiting jobs, in any order; called at every event, and when `call_at` asked for it."""


def policy_of(given: OnlinePolicy | CustomPolicy | Policy | PolicyFile) -> Policy:
    """Return the user's object as an entry like those of the table."""
    loaded: Any = given.load() if isinstance(given, PolicyFile) else given
    if isinstance(loaded, type) or not callable(getattr(loaded, "schedule", None)):
        return custom.policy_of(loaded)
    return Policy(
        name=name_of(loaded),
        order=OWN_ORDER if callable(getattr(loaded, "order", None)) else "fifo",
        rule="its own",
        summary="an online policy in Python",
        solve=partial(_solve, loaded),
        online=frozenset(),
    )


def run_own(problem: Problem, policy: object, settings: OnlineSettings) -> OnlineRun:
    """Run all jobs to their end with a policy in Python; it has a method `schedule`, or `place`."""
    schedules = callable(getattr(policy, "schedule", None))
    own: Any = policy if schedules else HeadFirst(policy)
    num_events, is_more = 0, True
    with reported_errors(f"policy {name_of(policy)!r}", own.schedule if schedules else own.place):
        cluster = online_cluster(problem, own, settings)
        while is_more:
            own.schedule(cluster)
            is_more = cluster.go_on()
            num_events += 1
            if num_events % _EVENTS_AT_A_TIME == 0 or not is_more:
                settings.on_progress(cluster.standing())
    return run_of_stage(cluster.stage)


def online_cluster(problem: Problem, policy: object, settings: OnlineSettings) -> OnlineCluster:
    """Return the cluster at time 0, as a policy in Python sees it."""
    believed = believed_problem(problem, settings.estimate_error, settings.seed)
    base = Policy(name=name_of(policy), placement=BEST_FIT)
    stage = new_stage(problem, believed, base, replace(settings, backfill=EASY))
    return OnlineCluster(policy, problem, believed, stage)


class HeadFirst:
    """A policy with `place` alone: the first job that it does not place blocks those behind it."""

    def __init__(self, policy: Any) -> None:
        self.place = policy.place
        self.name = name_of(policy)
        self.order: Callable[[JobView], Any] | None = getattr(policy, "order", None)

    def schedule(self, cluster: OnlineCluster) -> None:
        """Start jobs from the head on."""
        for job in cluster.queue:
            gpus: Mapping[str, Sequence[int]] | None = self.place(job, cluster)
            if gpus is None:
                return
            cluster.start(job, gpus)


def _solve(policy: OnlinePolicy, problem: Problem, settings: Settings) -> Candidate:
    """Run the queue with exact estimates, for `plan` and `compare`."""
    online = OnlineSettings(order=settings.order, seed=settings.seed, objective=settings.objective)
    run = run_own(problem, policy, online)
    settings.on_trial()
    return Candidate(run.as_run(), {})
