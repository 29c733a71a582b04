"""What comes of one more job in one place, and the choice among places."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ringsched.analysis.rounding import same_time
from ringsched.analysis.whatif.variants import FinishChange
from ringsched.engine.objective import objective_value
from ringsched.engine.problem import Problem
from ringsched.engine.run import Run
from ringsched.model import Job, Placement, Plan, Scenario
from ringsched.model.objective import MAKESPAN, MEAN_COMPLETION


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A start and a place for the new job.

    `changes` has the jobs that end at other times because of it, the most delayed first. Where one job has to
    wait, another may find its links free and end sooner.
    """

    start_s: float
    finish_s: float
    waiting_s: float  # after it entered the queue
    completion_s: float  # finish - submit
    gpus: Placement
    changes: tuple[FinishChange, ...]
    makespan_s: float  # of all, the new job included
    mean_completion_s: float

    @property
    def delays(self) -> tuple[FinishChange, ...]:
        """The jobs that end later."""
        return tuple(change for change in self.changes if change.change_s > 0)

    @property
    def total_delay_s(self) -> float:
        """How much later those end, all together."""
        return math.fsum(delay.change_s for delay in self.delays)

    @property
    def cost_s(self) -> float:
        """By how much the sum of all completions grows: the job's own, and what changes for the others."""
        return math.fsum([self.completion_s, *(change.change_s for change in self.changes)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Where one more job could go; `options` has all that were tried, the least cost first.

    `anew` is a plan of all jobs from scratch, None if the policy finds none within the horizon.
    """

    scenario: Scenario
    job: Job
    policy: str
    present: Plan
    anew: Plan | None
    best_case_s: float
    options: tuple[Option, ...]

    @property
    def best(self) -> Option:
        """The one that costs everybody least."""
        return self.options[0]

    @property
    def soonest(self) -> Option:
        """The one with which the job ends first."""
        return min(self.options, key=lambda option: (option.finish_s, option.cost_s))

    @property
    def harmless(self) -> Option:
        """The first to end among those that delay nobody; after all others have ended there is always one."""
        return min(
            (option for option in self.options if not option.delays), key=lambda option: option.finish_s
        )

    @property
    def at_once(self) -> Option | None:
        """The cheapest of those that do not wait; None if the job finds no GPUs at its submit."""
        return next((option for option in self.options if option.waiting_s <= 0), None)


def option_of(problem: Problem, before: Run, after: Run) -> Option:
    """Return what became of the last job of a problem and of all others."""
    # Differences of what counts from the origin have all digits at Unix times, so that costs compare.
    jobs, seconds, seconds_at = problem.scenario.jobs, problem.clock.seconds, problem.seconds_at
    changes = [
        FinishChange(
            job=job.name,
            before_s=seconds_at(old),
            after_s=seconds_at(new),
            change_s=seconds(new) - seconds(old),
        )
        for job, old, new in zip(jobs, before.finishes, after.finishes, strict=False)
        if not same_time(seconds(old), seconds(new), since_s=0.0)
    ]
    return Option(
        start_s=seconds_at(after.starts[-1]),
        finish_s=seconds_at(after.finishes[-1]),
        waiting_s=seconds(after.starts[-1] - problem.release[-1]),
        completion_s=seconds(after.finishes[-1]) - (jobs[-1].submit_s - problem.origin_s),
        gpus=problem.placement(after.gpus[-1]),
        changes=tuple(sorted(changes, key=lambda change: -change.change_s)),
        makespan_s=objective_value(problem, after.finishes, MAKESPAN),
        mean_completion_s=objective_value(problem, after.finishes, MEAN_COMPLETION),
    )
