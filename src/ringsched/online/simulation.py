"""What came of a simulation over time, as arrays: a million jobs are no trouble."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ringsched.engine.problem import Problem
from ringsched.engine.state import Floats, Integers, Run
from ringsched.model import Plan, Scenario
from ringsched.model.objective import objective_named
from ringsched.online.settings import EASY, OnlineSettings
from ringsched.online.simulate import OnlineRun
from ringsched.policies.policy import Policy, plan_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """How things were over time: a record at every instant at which something changed, until the next."""

    time_s: Floats
    queue_length: NDArray[np.int32]  # jobs that wait
    busy_gpus: NDArray[np.int32]
    contended_links: NDArray[np.int32]  # uplinks that two or more jobs cross


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Simulation:
    """What happened to every job, in the scenario's order, and to the cluster over time."""

    scenario: Scenario
    policy: str
    order: str
    backfill: str
    estimate_error: float
    seed: int
    objective: str
    num_plans: int  # of a policy that plans
    origin_s: float  # the first release; the makespan counts from here
    gpus: Integers
    submit_s: Floats
    start_s: Floats
    finish_s: Floats
    best_case_s: Floats
    num_servers: Integers  # on how many it ran
    backfilled: NDArray[np.bool_]  # it stepped past the head of the queue
    promised_s: Floats  # the latest start it was promised when it came to the head; nan if none was
    series: Series
    _problem: Problem
    _run: OnlineRun

    @property
    def waiting_s(self) -> Floats:
        """From submit to start."""
        return self._since_submit_s(self._run.start)

    @property
    def completion_s(self) -> Floats:
        """From submit to finish."""
        return self._since_submit_s(self._run.finish)

    @property
    def slowdown(self) -> Floats:
        """Completion over the best case: 1 for a job that starts at once and runs as fast as can be."""
        return self.completion_s / self.best_case_s

    @property
    def makespan_s(self) -> float:
        """From the first release to the last finish."""
        return self._problem.clock.seconds(float(self._run.finish.max(initial=0.0)))

    @property
    def mean_completion_s(self) -> float:
        """The mean over all jobs."""
        return float(self.completion_s.mean()) if len(self.gpus) else 0.0

    def plan(self) -> Plan:
        """Return what happened as a plan, with bound and gap; it can be saved, verified and explained."""
        run, first = self._run, self._run.first.tolist()
        held = run.gpus.tolist()
        params: dict[str, float | int | str] = {"backfill": self.backfill} if self.backfill == EASY else {}
        if self.estimate_error:
            params["estimate_error"] = self.estimate_error
        return plan_of(
            self._problem,
            Run(
                run.start.tolist(),
                run.finish.tolist(),
                [held[first[at] : first[at + 1]] for at in range(len(self.gpus))],
            ),
            policy=self.policy,
            order=self.order,
            params=params,
            seed=self.seed,
            objective=objective_named(self.objective),
        )

    def _since_submit_s(self, instants: Floats) -> Floats:
        """Return how long after its submit something happened to each job, with all digits at Unix times."""
        return self._problem.clock.seconds(instants) - (self.submit_s - self.origin_s)


def simulation_of(problem: Problem, run: OnlineRun, policy: Policy, settings: OnlineSettings) -> Simulation:
    """Return a run in seconds."""
    return Simulation(
        scenario=problem.scenario,
        policy=policy.name,
        order=settings.order,
        backfill=settings.backfill,
        estimate_error=settings.estimate_error,
        seed=settings.seed,
        objective=settings.objective.name,
        num_plans=run.num_plans,
        origin_s=problem.origin_s,
        gpus=np.array(problem.gpus, dtype=np.int64),
        submit_s=np.array([job.submit_s for job in problem.scenario.jobs], dtype=np.float64),
        start_s=problem.seconds_at(run.start),
        finish_s=problem.seconds_at(run.finish),
        best_case_s=problem.clock.seconds(np.array(problem.best_case, dtype=np.float64)),
        num_servers=run.num_servers,
        backfilled=run.backfilled,
        promised_s=problem.seconds_at(np.where(np.isfinite(run.promised), run.promised, np.nan)),
        series=Series(
            time_s=problem.seconds_at(run.time),
            queue_length=run.queue,
            busy_gpus=run.busy,
            contended_links=run.contended,
        ),
        _problem=problem,
        _run=run,
    )
