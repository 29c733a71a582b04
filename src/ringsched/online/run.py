"""A simulation over time, from the first arrival to the last end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ringsched.engine.arrays import Arrays, Floats, Integers, arrays_of
from ringsched.engine.problem import Problem
from ringsched.engine.state import NUM_RUNNING, new_state
from ringsched.jit import runnable
from ringsched.online.belief import believed_problem
from ringsched.online.course import NUM_ARRIVED, NUM_RECORDS, NUM_WAITING, Stage, new_course
from ringsched.online.dispatch import DONE, MORE, begin, dispatch
from ringsched.online.follow import PLAN, follow, new_agenda
from ringsched.online.planning import Planner
from ringsched.online.registry import EASY, OnlinePolicy
from ringsched.online.settings import OnlineSettings, Standing
from ringsched.online.waiting import new_waiting
from ringsched.placement.runner import queue_of
from ringsched.placement.scratch import new_scratch
from ringsched.placement.trial import BEST_FIT, FIXED, FREE_LINKS, LEAST_WORKLOAD, QUIET_LINKS
from ringsched.policies.orders import ANY_ORDER, priorities
from ringsched.policies.registry import policy_named

_EVENTS_AT_A_TIME = 2000  # after which someone who watches is told, and Ctrl-C is heard


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


def run_online(problem: Problem, policy: OnlinePolicy, settings: OnlineSettings) -> OnlineRun | None:
    """Run all jobs to their end; None if a policy finds no place for a job, or no plan within the horizon."""
    believed = believed_problem(problem, settings.estimate_error, settings.seed)
    stage = _stage(problem, believed, policy, settings)
    exact = believed is problem
    backfills = settings.backfill == EASY
    agenda = new_agenda(stage.arrays)
    planner = None if policy.planner is None else Planner(believed, policy_named(policy.planner), settings)
    status, interpreted = MORE, stage.arrays.interpreted
    while status in (MORE, PLAN):
        if planner is None:
            status = runnable(dispatch, interpreted=interpreted)(stage, backfills, exact, _EVENTS_AT_A_TIME)
        else:
            status = runnable(follow, interpreted=interpreted)(
                stage, agenda, backfills, exact, _EVENTS_AT_A_TIME
            )
            if status == PLAN and not planner.plan(stage, agenda):
                return None
        settings.on_progress(_standing(problem, stage, planner))
    return _result(stage, planner) if status == DONE else None


def _stage(problem: Problem, believed: Problem, policy: OnlinePolicy, settings: OnlineSettings) -> Stage:
    arrays = arrays_of(problem)
    state = new_state(arrays)
    # Ranks and charges come out of what is believed.
    order = "fifo" if settings.order == ANY_ORDER else settings.order
    queue = queue_of(believed, arrays, priorities(believed, order))
    rule, kappa = _rule(problem, policy)
    stage = Stage(
        arrays=arrays,
        believed=_with_beliefs(arrays, believed),
        state=state,
        ghost=new_state(arrays) if settings.backfill == EASY else state,
        scratch=new_scratch(arrays),
        queue=queue,
        waiting=new_waiting(problem.num_jobs),
        course=new_course(
            np.array(believed.best_case, dtype=np.float64),
            np.array([job.done_iterations for job in problem.scenario.jobs], dtype=np.int64),
            3 * problem.num_jobs + 2,
        ),
        num_gpus=problem.num_gpus,
        rule=rule,
        kappa=kappa,
    )
    runnable(begin, interpreted=arrays.interpreted)(stage.arrays, stage.state, stage.scratch, stage.queue)
    return stage


def _with_beliefs(arrays: Arrays, believed: Problem) -> Arrays:
    return arrays._replace(iterations=np.array(believed.iterations, dtype=np.int64))


def _rule(problem: Problem, policy: OnlinePolicy) -> tuple[int, int]:
    """Return the placement rule, and what it takes for κ."""
    if policy.planner is not None:
        return FIXED, 0
    if policy.name == "contention-aware":
        return QUIET_LINKS, 0
    if policy.name == "free-links":
        return FREE_LINKS, problem.fabric.model.lanes
    if policy.name == "lwf":
        return LEAST_WORKLOAD, 1
    return BEST_FIT, 0


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
