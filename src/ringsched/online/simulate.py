"""`simulate`: jobs become known as they arrive, from the first arrival to the last end."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ringsched.bounds.lower_bound import lower_bounds
from ringsched.engine.problem import Problem, problem_of
from ringsched.engine.state import NUM_RUNNING
from ringsched.errors import Infeasible, InputError
from ringsched.formatting import duration
from ringsched.jit import runnable, runnable_with
from ringsched.model import Scenario
from ringsched.model.checks import choice, instance, integer, number
from ringsched.model.objective import MAKESPAN, MEAN_COMPLETION, objective_named
from ringsched.online.ahead import believed_problem
from ringsched.online.dispatch import DONE, MORE, dispatch
from ringsched.online.follow import PLAN, follow, new_agenda
from ringsched.online.improving import Roller, list_keys
from ringsched.online.outcome import OnlineRun, run_of_stage
from ringsched.online.own import OnlinePolicy, run_own
from ringsched.online.own import policy_of as own_policy_of
from ringsched.online.planning import Planner
from ringsched.online.queue import NUM_ARRIVED, NUM_WAITING, Stage
from ringsched.online.rolling import roll
from ringsched.online.settings import (
    BACKFILLS,
    EASY,
    NO_BACKFILL,
    OnlineSettings,
    Standing,
)
from ringsched.online.stage import new_stage
from ringsched.policies.custom import CustomPolicy, PolicyFile
from ringsched.policies.policy import (
    Limits,
    Observer,
    Policy,
    Stop,
    check_gpus,
    order_named,
    reported_errors,
)
from ringsched.policies.table import DEFAULT_ONLINE_POLICY, check_options, policy_named

if TYPE_CHECKING:
    from ringsched.online.simulation import Simulation


_EVENTS_AT_A_TIME = 2000  # between two calls of the observer, and two checks for Ctrl-C


def run_online(problem: Problem, policy: Policy, settings: OnlineSettings) -> OnlineRun | None:
    """Run all jobs to their end; None if a policy finds no place for a job, or no plan within the horizon."""
    believed = believed_problem(problem, settings.estimate_error, settings.seed)
    exact = believed is problem
    # Of jobs that are all there, the plan of the search itself is followed.
    if policy.rolls and max((problem.release[job] for job in problem.queued), default=0) > 0:
        return _rolled(problem, believed, settings, exact=exact)
    stage = new_stage(problem, believed, policy, settings)
    work_s = problem.pass_s
    backfills = settings.backfill == EASY
    agenda = new_agenda(stage.arrays)
    planner = Planner(believed, policy, settings) if policy.replans else None
    # A rule of the user's runs as plain Python here.
    python = stage.arrays.python_only or stage.own is not None
    dispatching = runnable_with(dispatch, stage, python=python, work_s=work_s)
    status = MORE
    while status in (MORE, PLAN):
        if planner is None:
            with reported_errors(f"policy {policy.name!r}", stage.own):
                status = dispatching(backfills, exact, _EVENTS_AT_A_TIME)
        else:
            following = runnable(follow, python=python, work_s=work_s)
            status = following(stage, agenda, backfills, exact, _EVENTS_AT_A_TIME)
            if status == PLAN and not planner.plan(stage, agenda):
                return None
        settings.on_progress(_standing(problem, stage, planner))
    if status != DONE:
        return None
    result = run_of_stage(stage, num_plans=0 if planner is None else planner.num_plans)
    if policy.placement is not None and stage.own is not None:
        check_gpus(problem, result.as_run(), policy.placement)
    return result


def _rolled(
    problem: Problem, believed: Problem, settings: OnlineSettings, *, exact: bool
) -> OnlineRun | None:
    """Run all jobs to their end by the list of `rolling`."""
    keys = list_keys(believed, settings.objective)
    usual = policy_named("free-links", online=True)
    stage = new_stage(problem, believed, usual, replace(settings, backfill=EASY), keys[0])
    roller, status = Roller(believed, stage, settings, keys), MORE
    while status in (MORE, PLAN):
        run = runnable(roll, python=stage.arrays.python_only, work_s=problem.pass_s)
        status = run(stage, roller.task, roller.listed, exact, _EVENTS_AT_A_TIME)
        if status == PLAN:
            roller.plan(stage)
        settings.on_progress(_standing(problem, stage, roller))
    # What a job is promised is worth nothing once there is another list.
    stage.course.promised[:], stage.course.backfilled[:] = math.inf, False
    return run_of_stage(stage, num_plans=roller.num_plans) if status == DONE else None


def _standing(problem: Problem, stage: Stage, planner: Planner | Roller | None) -> Standing:
    counts = stage.course.counts
    num_waiting = int(counts[NUM_WAITING])
    num_come = int(counts[NUM_ARRIVED]) + len(problem.running)
    return Standing(
        num_ended=num_come - num_waiting - int(stage.state.counts[NUM_RUNNING]),
        num_jobs=problem.num_jobs,
        num_waiting=num_waiting,
        num_plans=0 if planner is None else planner.num_plans,
        now_s=problem.seconds_at(float(stage.state.now[0])),
    )


# Of `rolling`, unless told otherwise: fewer for each plan where there are many.
SCHEDULES_A_PLAN, FEWEST_SCHEDULES, SCHEDULES_IN_ALL = 1000, 8, 30_000
USUAL_SCHEDULES, MOST_IN_ALL = 100, 150_000  # so many for each plan, as long as they are no more in all
MOST_ERROR = 1000.0


def simulate(
    scenario: Scenario,
    policy: str | Policy | PolicyFile | OnlinePolicy | CustomPolicy = DEFAULT_ONLINE_POLICY,
    *,
    order: str | None = None,
    backfill: str = NO_BACKFILL,
    estimate_error: float = 0.0,
    seed: int = 0,
    every_s: float | None = None,
    max_wait_s: float | None = None,
    objective: str | None = None,
    stop: Stop | None = None,
    observer: Observer | None = None,
) -> Simulation:
    """Run a queue over time; a policy knows a job from its submit time on, and of its length an estimate.

    Parameters
    ----------
    policy
        A name out of `list_policies(online=True)`, a `Policy` with a placement rule, or an object with
        a method `schedule(cluster)` or `place(job, cluster)`.
    order
        A queue order out of `ORDERS`, instead of the policy's own; for those that dispatch.
    backfill
        "easy" lets jobs step past the head of the queue if that does not move its start, as far as
        that can be known.
    estimate_error
        How wrong estimates are: each by a factor between 1/(1 + error) and 1 + error, out of the seed.
    seed
        Of the errors, and of `rolling`.
    every_s
        Policies that plan do so when jobs arrive, but not sooner than this after the last time.
    max_wait_s
        A job that has waited so long goes before all jobs that have not, for policies that dispatch. Of
        several, the one that came first. So no job is passed over for ever.
    objective
        Out of `OBJECTIVES`. `rolling` improves it (default mean-completion). For other policies it is the
        objective of the plan's bound and gap (default makespan).
    stop
        When `rolling` ends each of its searches. By default 30,000 schedules divided by the number of jobs,
        at most 1000. With up to 1,500 jobs it is at least 100, with more at least 8: a run is reproducible.
    observer
        Called from time to time with a `Standing`, which describes the progress.

    Raises
    ------
    Infeasible
        No makespan below the horizon, for a policy that bisects and knows all jobs at time 0.

    Examples
    --------
    >>> import ringsched
    >>> workload = ringsched.Workload.poisson(load=0.9, jobs=300, cluster=ringsched.Cluster.of_servers(4))
    >>> scenario = ringsched.generate(workload)
    >>> first_come = ringsched.simulate(scenario, "fifo")
    >>> backfilled = ringsched.simulate(scenario, "fifo", backfill="easy")
    >>> backfilled.mean_completion_s < first_come.mean_completion_s
    True
    """
    chosen, own = _policy_of(policy)
    known = chosen.online or frozenset()
    if stop is not None:
        instance(stop, "stop", Stop)
    watching = instance(observer or Observer(), "observer", Observer)
    given = {
        "order": order,
        "replan-every": every_s,
        "max-wait": max_wait_s,
        "time-limit": None if stop is None else stop.time_limit_s,
        "max-schedules": None if stop is None else stop.max_schedules,
    }
    check_options(chosen, given, online=True)
    if own is not None and choice(backfill, "backfill", BACKFILLS) != NO_BACKFILL:
        problem = f"is not allowed with policy {chosen.name!r}, which decides by itself which jobs start"
        raise InputError(problem, field="backfill")
    time_limit_s, schedules = given["time-limit"], given["max-schedules"]
    if time_limit_s is None and schedules is None and "max-schedules" in known:
        num_jobs = max(1, len(instance(scenario, "scenario", Scenario).jobs))
        fitting = max(SCHEDULES_IN_ALL // num_jobs, min(USUAL_SCHEDULES, MOST_IN_ALL // num_jobs))
        schedules = min(SCHEDULES_A_PLAN, max(FEWEST_SCHEDULES, fitting))
    usual = MEAN_COMPLETION if "objective" in known else MAKESPAN
    settings = OnlineSettings(
        order=chosen.order if order is None else order_named(order),
        backfill=choice(backfill, "backfill", BACKFILLS),
        estimate_error=number(estimate_error, "estimate-error", minimum=0, maximum=MOST_ERROR),
        every_s=0.0 if every_s is None else number(every_s, "replan-every", minimum=0),
        max_wait_s=None if max_wait_s is None else number(max_wait_s, "max-wait", minimum=0),
        seed=integer(seed, "seed", minimum=0),
        objective=usual if objective is None else objective_named(objective),
        limits=Limits(
            time_limit_s=None if time_limit_s is None else number(time_limit_s, "time-limit", minimum=0),
            iterations=None if schedules is None else integer(schedules, "max-schedules", minimum=0),
        ),
        on_progress=watching.progress,
    )
    return _simulated(problem_of(instance(scenario, "scenario", Scenario)), chosen, settings, own)


def _simulated(problem: Problem, policy: Policy, settings: OnlineSettings, own: object) -> Simulation:
    # Imported here, so that numba is loaded only for a simulation.
    from ringsched.online.simulation import simulation_of

    run = run_online(problem, policy, settings) if own is None else run_own(problem, own, settings)
    if run is None:
        raise _infeasible(problem, policy)
    return simulation_of(problem, run, policy, settings)


def _infeasible(problem: Problem, policy: Policy) -> Infeasible:
    bound_s, horizon_s = lower_bounds(problem)[0].value_s, problem.scenario.time.horizon_s
    within = "" if horizon_s is None else f" within the horizon of {duration(horizon_s)}"
    return Infeasible(
        f"infeasible{within}: policy {policy.name!r} finds no such plan; no plan can end before "
        f"{duration(bound_s)}",
        lower_bound_s=bound_s,
    )


def _policy_of(policy: object) -> tuple[Policy, object | None]:
    """Return the policy as an entry of the table, and the object itself if it is one in Python."""
    if isinstance(policy, str):
        return policy_named(policy, online=True), None
    given: Any = policy.load() if isinstance(policy, PolicyFile) else policy
    entry = own_policy_of(given)
    if isinstance(given, Policy):
        if given.placement is None:
            raise InputError("must have a placement rule to be simulated", field=f"policy {given.name!r}")
        return entry, None
    return entry, given
