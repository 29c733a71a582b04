"""Everything that a simulation over time works on, made ready at time 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from ringsched.contention.network import CORE
from ringsched.engine.problem import Problem
from ringsched.engine.state import NOT_STARTED, Arrays, Floats, arrays_of, new_state
from ringsched.online.ahead import done_before
from ringsched.online.dispatch import begin
from ringsched.online.queue import Stage, new_course, new_waiting
from ringsched.online.settings import EASY, OnlineSettings
from ringsched.policies.policy import ANY_ORDER, OWN_ORDER, Policy, priorities
from ringsched.rules.runner import queue_of
from ringsched.rules.shared import new_scratch
from ringsched.rules.table import AS_PLANNED, Rule


def new_stage(
    problem: Problem,
    believed: Problem,
    policy: Policy,
    settings: OnlineSettings,
    priority: Floats | None = None,
) -> Stage:
    """Return the stage of a policy at time 0, with the jobs that run there.

    A `priority` of each job is instead of the order in the settings.
    """
    arrays = arrays_of(problem)
    state = ghost = new_state(arrays)
    if settings.backfill == EASY:
        ghost = new_state(arrays)
        ghost.heap_place[:] = NOT_STARTED
    # Ranks and charges come out of what is believed.
    order = "fifo" if settings.order in (ANY_ORDER, OWN_ORDER) else settings.order
    draws = policy.placement is not None and policy.placement.draws
    kappa = 0 if policy.replans else policy.kappa(problem)
    keys = priorities(believed, order) if priority is None else priority
    queue = queue_of(believed, arrays, keys, seed=settings.seed if draws else None)
    rule = policy.placement if policy.placement is not None and not policy.replans else AS_PLANNED
    waiting = new_waiting(arrays.gpus[queue.job_at])
    stage = Stage(
        **by_rule(arrays, rule),
        kappa=kappa,
        arrays=arrays,
        believed=_with_beliefs(arrays, believed),
        state=state,
        ghost=ghost,
        scratch=new_scratch(arrays),
        queue=queue,
        waiting=waiting,
        course=new_course(
            believed.columns.best_case,
            done_before(problem),
            len(waiting.gpus),
            3 * problem.num_jobs + 2,
        ),
        num_gpus=problem.num_gpus,
        longest_wait=np.inf if settings.max_wait_s is None else problem.clock.units(settings.max_wait_s),
    )
    begin(stage.arrays, stage.state, stage.scratch, stage.queue)
    return stage


def _with_beliefs(arrays: Arrays, believed: Problem) -> Arrays:
    return arrays._replace(iterations=believed.columns.iterations.copy())  # beliefs change


def by_rule(arrays: Arrays, rule: Rule) -> dict[str, Any]:
    """Return what a stage knows of its rule, as its fields."""
    # What a job with labels, a layout or windows finds depends on more than its size and the idle GPUs.
    is_plain = rule.own is None and not arrays.permits.restricted.any()
    # Below switches, more idle GPUs can make a rule choose others, behind a switch with a busy uplink.
    is_flat = bool((arrays.links.parent_of == CORE).all()) and not arrays.python_only
    return {
        "rule": rule.number,
        "own": rule.own,
        "by_links": rule.by_links,
        "by_count": is_plain and rule.by_count,
        "by_size": is_plain and rule.by_size,
        "is_monotone": is_plain and is_flat and rule.by_size and rule.by_links,
    }
