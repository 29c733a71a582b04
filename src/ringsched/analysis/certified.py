"""How far a simulation is at most from the best possible, of any policy, even one that knows the future.

The bounds are those of the true problem: jobs from their submit on, at their true lengths.
"""

from __future__ import annotations

from dataclasses import dataclass

from ringsched.bounds.lower_bound import lower_bounds, quick_bounds
from ringsched.engine.problem import objective_value
from ringsched.model import Bound
from ringsched.model.objective import MAKESPAN, MEAN_COMPLETION, WEIGHTED_COMPLETION, Objective
from ringsched.online.simulation import Simulation

MANY_JOBS = 20_000  # for more, only the bounds that take next to no time


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedGap:
    """An objective of a simulation, a lower bound on it, and their ratio."""

    objective: str
    value_s: float
    bound_s: float
    gap: float  # the value over the bound: 1 is the best possible
    bound: Bound


def certified_gaps(simulation: Simulation) -> tuple[CertifiedGap, ...]:
    """Return the gaps in makespan and mean completion, and in weighted completion if jobs have weights.

    `Simulation.plan("max-slowdown")` has the gap in the largest slowdown.

    Examples
    --------
    >>> import ringsched
    >>> workload = ringsched.Workload.poisson(jobs=100, cluster=ringsched.Cluster.of_servers(4))
    >>> simulation = ringsched.simulate(ringsched.generate(workload), "shortest-first")
    >>> [(each.objective, each.bound_s <= each.value_s) for each in certified_gaps(simulation)]
    [('makespan', True), ('mean-completion', True)]
    """
    jobs = simulation.scenario.jobs
    if not jobs:
        return ()
    has_weights = len({job.weight for job in jobs}) > 1
    objectives = (MAKESPAN, MEAN_COMPLETION, *([WEIGHTED_COMPLETION] if has_weights else []))
    return tuple(_certified(simulation, objective) for objective in objectives)


def _certified(simulation: Simulation, objective: Objective) -> CertifiedGap:
    problem = simulation.problem
    value_s = objective_value(problem, simulation.finishes.tolist(), objective)
    many = problem.num_jobs > MANY_JOBS and objective not in problem.bounds
    bounds = quick_bounds(problem, objective) if many else lower_bounds(problem, objective)
    best = max(bounds, key=lambda bound: bound.value_s)
    # In continuous time rounding may leave a value a hair below its bound.
    gap = max(1.0, value_s / best.value_s) if best.value_s > 0 else 1.0
    return CertifiedGap(objective=objective.name, value_s=value_s, bound_s=best.value_s, gap=gap, bound=best)
