"""One more job beside a plan that stays: where, when, and whom it hurts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ringsched.analysis.planned_run import check_totals, planned_run, same_time
from ringsched.analysis.whatif.places import alone, choices, follow, if_nobody_waits
from ringsched.analysis.whatif.variants import FinishChange, planning_of
from ringsched.display import one_line, placed
from ringsched.engine.problem import Problem, objective_value, problem_of
from ringsched.engine.state import Run
from ringsched.errors import Infeasible, InputError
from ringsched.model import Job, Placement, Plan, Scenario
from ringsched.model.checks import instance
from ringsched.model.objective import MAKESPAN, MEAN_COMPLETION
from ringsched.phrases import counted, seconds


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

    def __repr__(self) -> str:
        span = f"{seconds(self.start_s)} to {seconds(self.finish_s)}"
        return one_line("Option", span, placed(self.gpus), f"delays {counted(len(self.delays), 'job')}")

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

    def __repr__(self) -> str:
        options, best = counted(len(self.options), "option"), self.best
        return one_line("Answer", f"job {self.job.name}", options, f"best ends at {seconds(best.finish_s)}")

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
    iterations: int | None = None,
) -> Answer:
    """Find a place and a start for one more job, all others on their GPUs and from their starts.

    Tried are the job's submit and every later completion, at each a handful of places; in large plans as many
    of them as fit into a few seconds. Every choice is simulated: who shares a link with the job ends later,
    and who finds its GPUs still held starts later.

    Parameters
    ----------
    plan
        The present plan; the scenario is planned if there is none.
    policy, order, objective, seed, time_limit_s, iterations
        As for `whatif`: how the scenario is planned, alone and anew with the job.

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
        raise InputError(
            "means nothing for a job that is still to be placed", field="running_on", place=place
        )
    planning = planning_of(
        plan,
        policy=policy,
        order=order,
        objective=objective,
        seed=seed,
        time_limit_s=time_limit_s,
        iterations=iterations,
    )
    problem = _with(scenario, job)
    present = planning.plan(scenario) if plan is None else plan
    before = problem_of(scenario)
    run = planned_run(before, present)
    check_totals(before, run, present)
    if problem.origin != before.origin:  # the new job comes first: its time is that of the whole
        moved = replace(before, origin=problem.origin, release=problem.release[:-1])
        run = planned_run(moved, present)
    options = list(_options(problem, run))
    try:
        anew = planning.plan(problem.scenario)
    except Infeasible:
        anew = None
    return Answer(
        scenario=problem.scenario,
        job=job,
        policy=planning.policy,
        present=present,
        anew=anew,
        best_case_s=problem.clock.seconds(problem.best_case[-1]),
        options=tuple(sorted(options, key=lambda option: (option.cost_s, option.finish_s, option.start_s))),
    )


def _with(scenario: Scenario, job: Job) -> Problem:
    """Return the problem with the new job at its end; what is wrong with that job stands in no file."""
    last = f"jobs[{len(scenario.jobs)}]"
    try:
        return problem_of(scenario.replace(jobs=(*scenario.jobs, job)))
    except InputError as error:
        if error.place and error.place.startswith(last):
            raise error.located(place=f"the new job {job.name!r}") from None
        raise


def _options(problem: Problem, run: Run) -> Iterator[Option]:
    """Yield what comes of every choice that may be the soonest, the best, or the first to hurt nobody."""
    job = problem.num_jobs - 1
    release = problem.release[job]
    submit = problem.clock.units(problem.scenario.jobs[job].submit_s - problem.origin_s)
    first_harmless = soonest = least_cost = math.inf
    for time, gpus in choices(problem, run):
        earliest = time + alone(problem, job, gpus)
        # What ends after a choice that hurts nobody can be better in no respect.
        if time > release and earliest > first_harmless:
            continue
        starts, places = [*run.starts, time], [*run.gpus, gpus]
        after = if_nobody_waits(problem, starts, places)
        if after is None:
            if time > release and earliest > soonest and earliest - submit > least_cost:
                continue  # it hurts somebody, and is neither soonest nor best
            after = follow(problem, starts, places)
        option = option_of(problem, run, after)
        if not option.delays:
            first_harmless = min(first_harmless, after.finishes[-1])
        soonest = min(soonest, after.finishes[-1])
        least_cost = min(least_cost, problem.clock.units(option.cost_s))
        yield option
