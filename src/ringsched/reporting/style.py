"""The colours of plans, and times as a picture needs them."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ringsched.engine.problem import Problem
from ringsched.errors import InputError
from ringsched.model import Plan
from ringsched.model.objective import objective_named

# Okabe and Ito; black and yellow are left out, for they vanish on one of the two backgrounds.
# Each is there twice: for a white and, brighter, for a black page.
PLAN_COLOURS = (
    ("#0072b2", "#4fb0ea"),
    ("#d55e00", "#f0813a"),
    ("#009e73", "#2fc79a"),
    ("#b0568c", "#e39bc4"),
    ("#56b4e9", "#a5daf8"),
    ("#a87400", "#f0c05a"),
)

DIGITS = 6  # of the whole width; no screen shows more


class Times:
    """The stretch of time that all pictures of a report show.

    It begins at the origin, the first release, so that a queue in Unix seconds has the pictures of the same
    queue at 0. Only a plan that starts a job too early begins before.

    Examples
    --------
    >>> times = Times(0.0, [0.0, 5220.0])
    >>> times.shown(1043.3333333333333), times.shown(60.0)
    (1043.33, 60)
    >>> Times(1.7e9, [1.7e9, 1.7e9 + 60]).shown(1.7e9 + 30)
    30
    """

    def __init__(self, origin_s: float, instants_s: Iterable[float]) -> None:
        known = [origin_s, *instants_s]
        self.origin_s = min(known)
        self.span_s = max(known) - self.origin_s
        if not math.isfinite(self.span_s):
            raise InputError("states instants too far apart to be drawn", place="plan")
        self._digits = DIGITS - math.ceil(math.log10(self.span_s)) if self.span_s > 0 else 0

    def shown(self, instant_s: float) -> float:
        """Return an instant, counted from the origin."""
        return self.duration(instant_s - self.origin_s)

    def duration(self, duration_s: float) -> float:
        """Return a duration with as many digits as can be seen."""
        rounded = round(duration_s, max(0, self._digits))
        return int(rounded) if rounded == int(rounded) else rounded


def times_of(problem: Problem, plans: Iterable[Plan]) -> Times:
    """Return the stretch from the origin or the first start to the last finish of all plans."""
    origin_s = problem.origin_s
    instants = [max(origin_s, job.submit_s) for job in problem.scenario.jobs]
    for plan in plans:
        instants += [instant for job in plan.jobs for instant in (job.start_s, job.finish_s)]
        if objective_named(plan.objective).is_last_finish:  # no mean is an instant
            # It may lie after an end that an invalid plan states.
            instants.append(origin_s + plan.lower_bound_s)
    return Times(origin_s, instants)
