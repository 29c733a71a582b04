"""The certificate of an SJF-BCO plan: the figures of the paper's theorem, beside the gap.

The theorem is not true as stated (docs/concepts/bounds.md); its ratio is reported, not relied on.
"""

from __future__ import annotations

from collections.abc import Sequence

from ringsched.engine.problem import Problem
from ringsched.model.certificate import Certificate

LARGEST = 1e300


def certificate_of(
    problem: Problem,
    *,
    theta: int,
    max_load: float,
    estimates: Sequence[float],
    makespan: float,
    bound: float,
) -> Certificate:
    """Return the certificate of a plan with this makespan and bound, in the clock's units.

    `estimates` are ρ̂ of every job, `max_load` is W_max, the largest sum of ρ̂ / u on a GPU.
    """
    best, worst = problem.best_case, problem.worst_case
    phi = max(slow / fast for slow, fast in zip(worst, best, strict=True))
    u = problem.overestimate(estimates)
    low = min(1.0, min(estimate / slow for estimate, slow in zip(estimates, worst, strict=True)))
    u, low = min(u, LARGEST), max(low, 1 / LARGEST)  # estimates may be absurd, figures must be numbers
    return Certificate(
        theta=theta,
        max_load=max_load,
        largest_job=max(problem.gpus),
        worst_over_best=phi,
        overestimate=u,
        underestimate=low,
        claimed_ratio=min(max(problem.gpus) * phi * u / low, LARGEST),
        measured_ratio=max(1.0, makespan / bound),
    )
