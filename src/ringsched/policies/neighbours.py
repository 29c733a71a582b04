"""Policies of the paper's neighbours: LWF-κ, and two that look at links before a job is spread.

All come from Wang et al. (2020); their order, the shortest remaining service first, is without preemption
that of the smallest area. The kernels are imported where they are used.
"""

from __future__ import annotations

from ringsched.engine.problem import Problem
from ringsched.policies.orders import priorities
from ringsched.policies.policy import Settings
from ringsched.search.bisection import Candidate


def solve_lwf(problem: Problem, settings: Settings) -> Candidate | None:
    """Take the least loaded GPUs, or the least busy servers' if the job has more than κ."""
    from ringsched.placement.trial import LEAST_WORKLOAD

    params = {} if settings.kappa is None else {"kappa": settings.kappa}
    return _once(problem, settings, LEAST_WORKLOAD, settings.kappa or 1, params)


def solve_free_links(problem: Problem, settings: Settings) -> Candidate | None:
    """Let spread jobs wait for links with nobody on them, or with a lane to be reserved."""
    from ringsched.placement.trial import FREE_LINKS

    return _once(problem, settings, FREE_LINKS, problem.fabric.model.lanes, {})


def solve_adaptive_overlap(problem: Problem, settings: Settings) -> Candidate | None:
    """Let a second spread job onto a link if that lowers the sum of completions."""
    from ringsched.placement.trial import ADAPTIVE_OVERLAP

    return _once(problem, settings, ADAPTIVE_OVERLAP, 0, {})


def _once(
    problem: Problem, settings: Settings, rule: int, kappa: int, params: dict[str, int]
) -> Candidate | None:
    from ringsched.placement.runner import Runner

    runner = Runner(problem, priorities(problem, settings.order))
    makespan = runner.run(rule, kappa=kappa)
    settings.on_trial()
    return None if makespan is None else Candidate(runner.last(), params)
