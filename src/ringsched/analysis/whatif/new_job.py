"""One more job beside an unchanged plan: where and when it could run, and which jobs it delays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ringsched.analysis.planned_run import check_totals, planned_run, same_time
from ringsched.analysis.whatif.places import alone, choices, follow, if_no_job_waits
from ringsched.analysis.whatif.variants import FinishChange, planning_of
from ringsched.engine.problem import Problem, objective_value, problem_of
from ringsched.engine.state import Run
from ringsched.errors import Infeasible, InputError
from ringsched.formatting import counted, duration, one_line, placed
from ringsched.model import Job, Placement, Plan, Scenario
from ringsched.model.checks import instance
from ringsched.model.objective import MAKESPAN, MEAN_COMPLETION


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A start and a place for the new job.

    `changes` lists the jobs whose finish changes, the most delayed first. If one job has to wait, another
    may find its links free and end sooner.
    """

    start_s: float
    finish_s: float
    waiting_s: float  # after it entered the queue
    completion_s: float  # finish - submit
    gpus: Placement
    changes: tuple[FinishChange, ...]
    makespan_s: float  # of all, the new job included
    mean_completion_s: float

    def __repr__(self) -> str:
        span = f"{duration(self.start_s)} to {duration(self.finish_s)}"
        return one_line("Option", span, placed(self.gpus), f"delays {counted(len(self.delays), 'job')}")

    @property
    def delays(self) -> tuple[FinishChange, ...]:
        """The jobs that end later."""
        return tuple(change for change in self.changes if change.change_s > 0)

    @property
    def total_delay_s(self) -> float:
        """Total delay of these jobs."""
        return math.fsum(delay.change_s for delay in self.delays)

    @property
    def cost_s(self) -> float:
        """Increase of the sum of all completions, including the new job's."""
        return math.fsum([self.completion_s, *(change.change_s for change in self.changes)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The choices for one more job; `options` lists all that were tried, the smallest cost first.

    `replanned` is a new plan of all jobs, None if the policy finds none within the horizon.
    """

    scenario: Scenario
    job: Job
    policy: str
    present: Plan
    replanned: Plan | None
    best_case_s: float
    options: tuple[Option, ...]

    def __repr__(self) -> str:
        options, best = counted(len(self.options), "option"), self.best
        return one_line("Answer", f"job {self.job.name}", options, f"best ends at {duration(best.finish_s)}")

    @property
    def best(self) -> Option:
        """The choice with the smallest cost."""
        return self.options[0]

    @property
    def soonest(self) -> Option:
        """The choice with which the new job ends first."""
        return min(self.options, key=lambda option: (option.finish_s, option.cost_s))

    @property
    def harmless(self) -> Option:
        """The first to end of those that delay no job; there always is one, after all other jobs."""
        return min(
            (option for option in self.options if not option.delays), key=lambda option: option.finish_s
        )

    @property
    def at_once(self) -> Option | None:
        """The cheapest choice that does not wait; None if too few GPUs are idle at its submit."""
        return next((option for option in self.options if option.waiting_s <= 0), None)


def option_of(problem: Problem, before: Run, after: Run) -> Option:
    """Return the results of the last job of a problem and of all other jobs."""
    # Times since the origin keep all digits at Unix times, so that costs can be compared.
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


def whatif_job(
    scenario: Scenario,
    job: Job,
    *,
    plan: Plan | None = None,
    policy: str | None = None,
    order: str | None = None,
    objective: str | None = None,
    seed: int | None = None,
    time_limit_s: float | None = None,
    max_schedules: int | None = None,
) -> Answer:
    """Find a placement and a start for one more job; all other jobs keep their GPUs and their order.

    The candidate starts are the job's submit and every later completion, each with a few placements; large
    plans try as many as fit into a few seconds. Every choice is simulated: jobs that share a link end later,
    and jobs whose GPUs are in use start later.

    Parameters
    ----------
    plan
        The present plan; the scenario is planned if there is none.
    policy, order, objective, seed, time_limit_s, max_schedules
        As for `whatif`: how the scenario is planned, without and with the job.

    Examples
    --------
    >>> import ringsched
    >>> scenario = ringsched.load_scenario("examples/first.toml")
    >>> job = scenario.jobs[5].replace(name="one more", iterations=6000)
    >>> best = ringsched.whatif_job(scenario, job).best
    >>> print(best.start_s, best.finish_s, dict(best.gpus), best.total_delay_s)
    3780.0 4200.0 {'node-0': (0, 1, 2, 3)} 0.0
    """
    instance(scenario, "scenario", Scenario)
    if instance(job, "job", Job).is_running:
        place = f"the new job {job.name!r}"
        raise InputError("is not allowed for a new job; leave it out", field="running_on", place=place)
    planning = planning_of(
        plan,
        policy=policy,
        order=order,
        objective=objective,
        seed=seed,
        time_limit_s=time_limit_s,
        max_schedules=max_schedules,
    )
    problem = _with(scenario, job)
    present = planning.plan(scenario) if plan is None else plan
    before = problem_of(scenario)
    run = planned_run(before, present)
    check_totals(before, run, present)
    if problem.origin != before.origin:  # the new job has priority, because it sets the time of the whole
        moved = replace(before, origin=problem.origin, release=problem.release[:-1])
        run = planned_run(moved, present)
    options = list(_options(problem, run))
    try:
        replanned = planning.plan(problem.scenario)
    except Infeasible:
        replanned = None
    return Answer(
        scenario=problem.scenario,
        job=job,
        policy=planning.policy,
        present=present,
        replanned=replanned,
        best_case_s=problem.clock.seconds(problem.best_case[-1]),
        options=tuple(sorted(options, key=lambda option: (option.cost_s, option.finish_s, option.start_s))),
    )


def _with(scenario: Scenario, job: Job) -> Problem:
    """Return the problem with the new job at its end; errors of that job have no file."""
    last = f"jobs[{len(scenario.jobs)}]"
    try:
        return problem_of(scenario.replace(jobs=(*scenario.jobs, job)))
    except InputError as error:
        if error.place and error.place.startswith(last):
            raise error.located(place=f"the new job {job.name!r}") from None
        raise


def _options(problem: Problem, run: Run) -> Iterator[Option]:
    """Yield the result of every choice that may be soonest, best, or the first to delay no job."""
    job = problem.num_jobs - 1
    release = problem.release[job]
    submit = problem.clock.units(problem.scenario.jobs[job].submit_s - problem.origin_s)
    first_harmless = soonest = least_cost = math.inf
    for time, gpus in choices(problem, run):
        earliest = time + alone(problem, job, gpus)
        # A choice that ends after one that delays no job cannot win.
        if time > release and earliest > first_harmless:
            continue
        starts, places = [*run.starts, time], [*run.gpus, gpus]
        after = if_no_job_waits(problem, starts, places)
        if after is None:
            if time > release and earliest > soonest and earliest - submit > least_cost:
                continue  # it delays a job, and is neither soonest nor best
            after = follow(problem, starts, places)
        option = option_of(problem, run, after)
        if not option.delays:
            first_harmless = min(first_harmless, after.finishes[-1])
        soonest = min(soonest, after.finishes[-1])
        least_cost = min(least_cost, problem.clock.units(option.cost_s))
        yield option
