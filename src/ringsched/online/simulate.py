"""`simulate`: jobs become known as they arrive, from the first arrival to the last end."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ringsched.bounds.lower_bound import lower_bounds
from ringsched.engine.problem import Problem, problem_of
from ringsched.engine.state import NUM_RUNNING, Arrays, Floats, Integers, Run, arrays_of, new_state
from ringsched.errors import Infeasible, InputError
from ringsched.formatting import counted, duration, one_line
from ringsched.jit import runnable
from ringsched.model import Scenario
from ringsched.model.checks import choice, instance, integer, number
from ringsched.model.objective import MAKESPAN, MEAN_COMPLETION, objective_named
from ringsched.online.ahead import believed_problem
from ringsched.online.dispatch import DONE, MORE, begin, dispatch
from ringsched.online.follow import PLAN, follow, new_agenda
from ringsched.online.planning import Planner
from ringsched.online.queue import NUM_ARRIVED, NUM_RECORDS, NUM_WAITING, Stage, new_course, new_waiting
from ringsched.online.settings import (
    BACKFILLS,
    EASY,
    NO_BACKFILL,
    OnlineSettings,
    Standing,
)
from ringsched.policies.custom import PolicyFile, name_of
from ringsched.policies.policy import (
    ANY_ORDER,
    Limits,
    Observer,
    Policy,
    Stop,
    check_gpus,
    order_named,
    priorities,
    reported_errors,
)
from ringsched.policies.table import DEFAULT_ONLINE_POLICY, check_options, policy_named
from ringsched.rules.runner import queue_of
from ringsched.rules.shared import new_scratch
from ringsched.rules.table import AS_PLANNED

if TYPE_CHECKING:
    from ringsched.online.simulation import Simulation


_EVENTS_AT_A_TIME = 2000  # between two calls of the observer, and two checks for Ctrl-C


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineRun:
    """What happened; instants from the origin, in the clock's units, jobs in the scenario's order."""

    start: Floats
    finish: Floats
    gpus: Integers  # of all jobs, one after another
    first: Integers  # where those of each job begin
    num_servers: Integers
    promised: Floats
    backfilled: NDArray[np.bool_]
    time: Floats
    queue: NDArray[np.int32]
    busy: NDArray[np.int32]
    contended: NDArray[np.int32]
    num_plans: int

    def as_run(self) -> Run:
        """Return starts, finishes and GPUs as those of any other run."""
        held, first = self.gpus.tolist(), self.first.tolist()
        gpus = [held[begin:end] for begin, end in pairwise(first)]
        return Run(self.start.tolist(), self.finish.tolist(), gpus)

    def __repr__(self) -> str:
        return one_line("OnlineRun", counted(len(self.start), "job"), counted(len(self.time), "change"))


def run_online(problem: Problem, policy: Policy, settings: OnlineSettings) -> OnlineRun | None:
    """Run all jobs to their end; None if a policy finds no place for a job, or no plan within the horizon."""
    believed = believed_problem(problem, settings.estimate_error, settings.seed)
    stage = _stage(problem, believed, policy, settings)
    work_s = problem.pass_s
    exact = believed is problem
    backfills = settings.backfill == EASY
    agenda = new_agenda(stage.arrays)
    planner = Planner(believed, policy, settings) if policy.replans else None
    # A rule of the user's runs as plain Python here.
    python = stage.arrays.python_only or stage.own is not None
    status = MORE
    while status in (MORE, PLAN):
        if planner is None:
            run = runnable(dispatch, python=python, work_s=work_s)
            with reported_errors(f"policy {policy.name!r}", stage.own):
                status = run(stage, backfills, exact, _EVENTS_AT_A_TIME)
        else:
            following = runnable(follow, python=python, work_s=work_s)
            status = following(stage, agenda, backfills, exact, _EVENTS_AT_A_TIME)
            if status == PLAN and not planner.plan(stage, agenda):
                return None
        settings.on_progress(_standing(problem, stage, planner))
    if status != DONE:
        return None
    result = _result(stage, planner)
    if policy.placement is not None and stage.own is not None:
        check_gpus(problem, result.as_run(), policy.placement)
    return result


def _stage(problem: Problem, believed: Problem, policy: Policy, settings: OnlineSettings) -> Stage:
    arrays = arrays_of(problem)
    state = new_state(arrays)
    # Ranks and charges come out of what is believed.
    order = "fifo" if settings.order == ANY_ORDER else settings.order
    draws = policy.placement is not None and policy.placement.draws
    kappa, priority = 0 if policy.replans else policy.kappa(problem), priorities(believed, order)
    queue = queue_of(believed, arrays, priority, seed=settings.seed if draws else None)
    scratch = new_scratch(arrays)
    rule = policy.placement if policy.placement is not None and not policy.replans else AS_PLANNED
    stage = Stage(
        rule=rule.number,
        own=rule.own,
        by_links=rule.by_links,
        kappa=kappa,
        arrays=arrays,
        believed=_with_beliefs(arrays, believed),
        state=state,
        ghost=new_state(arrays) if settings.backfill == EASY else state,
        scratch=scratch,
        queue=queue,
        waiting=new_waiting(problem.num_jobs),
        course=new_course(
            np.array(believed.best_case, dtype=np.float64),
            np.array([job.done_iterations for job in problem.scenario.jobs], dtype=np.int64),
            3 * problem.num_jobs + 2,
        ),
        num_gpus=problem.num_gpus,
    )
    begin(stage.arrays, stage.state, stage.scratch, stage.queue)
    return stage


def _with_beliefs(arrays: Arrays, believed: Problem) -> Arrays:
    return arrays._replace(iterations=np.array(believed.iterations, dtype=np.int64))


def _standing(problem: Problem, stage: Stage, planner: Planner | None) -> Standing:
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


def _result(stage: Stage, planner: Planner | None) -> OnlineRun:
    course = stage.course
    end = course.counts[NUM_RECORDS]
    return OnlineRun(
        start=stage.state.start,
        finish=stage.state.finished,
        gpus=stage.state.gpus_of,
        first=stage.arrays.gpu_first,
        num_servers=stage.state.traffic.num_servers,
        promised=course.promised,
        backfilled=course.backfilled,
        time=course.time[:end].copy(),
        queue=course.queue[:end].copy(),
        busy=course.busy[:end].copy(),
        contended=course.contended[:end].copy(),
        num_plans=0 if planner is None else planner.num_plans,
    )


SCHEDULES_A_PLAN = 1000  # of `rolling`, unless told otherwise
MOST_ERROR = 1000.0


def simulate(
    scenario: Scenario,
    policy: str | Policy | PolicyFile = DEFAULT_ONLINE_POLICY,
    *,
    order: str | None = None,
    backfill: str = NO_BACKFILL,
    estimate_error: float = 0.0,
    seed: int = 0,
    every_s: float | None = None,
    objective: str | None = None,
    stop: Stop | None = None,
    observer: Observer | None = None,
) -> Simulation:
    """Run a queue over time; a policy knows a job from its submit time on, and of its length an estimate.

    Parameters
    ----------
    policy
        A name out of `list_policies(online=True)`, or a `Policy` with a placement rule.
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
    objective
        Out of `OBJECTIVES`. `rolling` improves it (default mean-completion). For other policies it is the
        objective of the plan's bound and gap (default makespan).
    stop
        When `rolling` ends each of its searches; default 1000 schedules, so that a run is reproducible.
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
    chosen = _policy_of(policy)
    known = chosen.online or frozenset()
    if stop is not None:
        instance(stop, "stop", Stop)
    watching = instance(observer or Observer(), "observer", Observer)
    given = {
        "order": order,
        "replan-every": every_s,
        "time-limit": None if stop is None else stop.time_limit_s,
        "max-schedules": None if stop is None else stop.max_schedules,
    }
    check_options(chosen, given, online=True)
    time_limit_s, schedules = given["time-limit"], given["max-schedules"]
    if time_limit_s is None and schedules is None and "max-schedules" in known:
        schedules = SCHEDULES_A_PLAN
    usual = MEAN_COMPLETION if "objective" in known else MAKESPAN
    settings = OnlineSettings(
        order=chosen.order if order is None else order_named(order),
        backfill=choice(backfill, "backfill", BACKFILLS),
        estimate_error=number(estimate_error, "estimate-error", minimum=0, maximum=MOST_ERROR),
        every_s=0.0 if every_s is None else number(every_s, "replan-every", minimum=0),
        seed=integer(seed, "seed", minimum=0),
        objective=usual if objective is None else objective_named(objective),
        limits=Limits(
            time_limit_s=None if time_limit_s is None else number(time_limit_s, "time-limit", minimum=0),
            iterations=None if schedules is None else integer(schedules, "max-schedules", minimum=0),
        ),
        on_progress=watching.progress,
    )
    return _simulated(problem_of(instance(scenario, "scenario", Scenario)), chosen, settings)


def _simulated(problem: Problem, policy: Policy, settings: OnlineSettings) -> Simulation:
    # Imported here, so that numba is loaded only for a simulation.
    from ringsched.online.simulation import simulation_of

    run = run_online(problem, policy, settings)
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


def _policy_of(policy: str | Policy | PolicyFile) -> Policy:
    if isinstance(policy, str):
        return policy_named(policy, online=True)
    given = policy.load() if isinstance(policy, PolicyFile) else policy
    if callable(getattr(given, "place", None)):
        raise InputError(
            f"{name_of(given)!r} has a method place, which only plan and compare support; "
            "to simulate it, write it as a Policy with a placement rule",
            field="policy",
        )
    if not isinstance(given, Policy) or given.placement is None:
        raise InputError("must be the name of a policy, or a Policy with a placement rule", field="policy")
    return given
