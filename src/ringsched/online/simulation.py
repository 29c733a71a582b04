"""What came of a simulation over time, as arrays: a million jobs are no trouble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ringsched.drawing import Step, draw_steps, panel_for
from ringsched.engine.columns import job_columns
from ringsched.engine.problem import Problem
from ringsched.engine.state import Floats, Integers
from ringsched.formatting import counted, duration, figure, frame_of, html_table, one_line
from ringsched.model import Plan, Scenario
from ringsched.model.objective import objective_named
from ringsched.online.outcome import OnlineRun
from ringsched.online.settings import EASY, NO_BACKFILL, OnlineSettings
from ringsched.policies.plans import plan_of
from ringsched.policies.policy import Candidate, Policy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """How things were over time: a record at every instant at which something changed, until the next."""

    time_s: Floats
    queue_length: NDArray[np.int32]  # jobs that wait
    busy_gpus: NDArray[np.int32]
    contended_links: NDArray[np.int32]  # uplinks that two or more jobs cross

    @property
    def columns(self) -> dict[str, Any]:
        """The records as a table: a row for every change."""
        return {
            "time_s": self.time_s,
            "queue_length": self.queue_length,
            "busy_gpus": self.busy_gpus,
            "contended_links": self.contended_links,
        }

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with a row for every change.

        Needs pandas (`pip install '.[frames]'` in a clone).
        """
        return frame_of(self.columns)

    def __repr__(self) -> str:
        queue = f"at most {self.queue_length.max(initial=0)} jobs waiting"
        busy = f"at most {self.busy_gpus.max(initial=0)} GPUs busy"
        return one_line("Series", counted(len(self.time_s), "change"), queue, busy)


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

    @property
    def problem(self) -> Problem:
        """The scenario as the engine sees it."""
        return self._problem

    @property
    def finishes(self) -> Floats:
        """The finish of each job on the clock, from the origin on."""
        return self._run.finish

    @property
    def columns(self) -> dict[str, Any]:
        """What happened as a table: a row for every job."""
        return {
            "job": [job.name for job in self.scenario.jobs],
            "gpus": self.gpus,
            "submit_s": self.submit_s,
            "start_s": self.start_s,
            "finish_s": self.finish_s,
            "waiting_s": self.waiting_s,
            "completion_s": self.completion_s,
            "best_case_s": self.best_case_s,
            "slowdown": self.slowdown,
            "servers": self.num_servers,
            "backfilled": self.backfilled,
            "promised_s": self.promised_s,
        }

    def __repr__(self) -> str:
        return one_line(
            "Simulation", *self._heading, *(f"{name} {value}" for name, value in self._totals[:2])
        )

    @property
    def _heading(self) -> tuple[str, ...]:
        backfill = () if self.backfill == NO_BACKFILL else (f"backfill {self.backfill}",)
        return counted(len(self.gpus), "job"), f"policy {self.policy}", *backfill

    @property
    def _totals(self) -> tuple[tuple[str, str], ...]:
        # Without a bound, which takes long for many jobs; plan() has it.
        waiting_s = float(self.waiting_s.mean()) if len(self.gpus) else 0.0
        return (
            ("makespan", duration(self.makespan_s)),
            ("mean completion", duration(self.mean_completion_s)),
            ("mean waiting", duration(waiting_s)),
        )

    def _repr_html_(self) -> str:
        jobs, slowdown = self.scenario.jobs, self.slowdown
        times = (self.submit_s, self.start_s, self.finish_s, self.waiting_s)
        return html_table(
            ", ".join((*self._heading, f"order {self.order}")),
            ("job", "GPUs", "submit s", "start s", "finish s", "waiting s", "slowdown"),
            len(jobs),
            lambda at: (
                jobs[at].name,
                str(self.gpus[at]),
                *(figure(float(each[at])) for each in times),
                f"{slowdown[at]:.2f}",
            ),
            totals=self._totals,
            noun="jobs",
        )

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame with a row for every job; `series.to_frame()` has the cluster over time.

        Needs pandas (`pip install '.[frames]'` in a clone).
        """
        return frame_of(self.columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw waiting jobs and busy GPUs over time into `ax`, or into a new figure, and return the axes.

        GPUs have their axis at the right. Time counts from the first release. Needs matplotlib
        (`pip install '.[plot]'` in a clone).
        """
        panel, series = panel_for(ax), self.series
        draw_steps(
            panel,
            (series.time_s - self.origin_s).tolist(),
            Step("waiting jobs", series.queue_length.tolist()),
            Step("busy GPUs", series.busy_gpus.tolist(), top=self.scenario.cluster.capacity),
        )
        return panel

    def plan(self, objective: str | None = None) -> Plan:
        """Return what happened as a plan, with bound and gap; it can be saved, verified and explained.

        Bound and gap are those of the objective; if absent, of the one that was simulated for.
        """
        params: dict[str, float | int | str] = {"backfill": self.backfill} if self.backfill == EASY else {}
        if self.estimate_error:
            params["estimate_error"] = self.estimate_error
        return plan_of(
            self._problem,
            Candidate(self._run.as_run(), params),
            policy=self.policy,
            order=self.order,
            seed=self.seed,
            objective=objective_named(self.objective if objective is None else objective),
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
        gpus=problem.columns.gpus.copy(),
        submit_s=job_columns(problem.scenario).submit_s.copy(),
        start_s=problem.seconds_at(run.start),
        finish_s=problem.seconds_at(run.finish),
        best_case_s=problem.clock.seconds(problem.columns.best_case),
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
