"""Classes of job sizes, the colours of everything, and times as a picture needs them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ringsched.engine.problem import Problem
from ringsched.errors import InputError
from ringsched.model import Plan
from ringsched.model.objective import objective_named

VIRIDIS = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725")
# The ends of the scale that would vanish in a dark or a white page are left out.
DARKEST, DARKEST_ON_BLACK, BRIGHTEST = 0.08, 0.28, 0.95

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


def size_class(gpus: int) -> int:
    """Return 0 for one GPU, 1 for two, 2 for three and four, 3 for up to eight, ...

    Examples
    --------
    >>> [size_class(gpus) for gpus in (1, 2, 3, 4, 5, 8, 9)]
    [0, 1, 2, 2, 3, 3, 4]
    """
    return (gpus - 1).bit_length()


def size_scale(gpus: Sequence[int]) -> list[dict[str, Any]]:
    """Return the classes that occur, smallest first, each with its name and its colours."""
    present = sorted({size_class(each) for each in gpus})
    classes = []
    for rank, number in enumerate(present):
        members = [each for each in gpus if size_class(each) == number]
        low, high = min(members), max(members)
        share = rank / (len(present) - 1) if len(present) > 1 else 0.5
        light = viridis(BRIGHTEST - (BRIGHTEST - DARKEST) * share)
        dark = viridis(DARKEST_ON_BLACK + (BRIGHTEST - DARKEST_ON_BLACK) * share)
        classes.append(
            {
                "class": number,
                "name": f"{low}" if low == high else f"{low}–{high}",
                "light": light,
                "inkLight": ink_on(light),
                "dark": dark,
                "inkDark": ink_on(dark),
            }
        )
    return classes


def viridis(share: float) -> str:
    """Return the colour at a share of the scale, from 0, dark, to 1, bright.

    Examples
    --------
    >>> viridis(0.0), viridis(1.0)
    ('#440154', '#fde725')
    """
    place = share * (len(VIRIDIS) - 1)
    at = min(int(place), len(VIRIDIS) - 2)
    pairs = zip(_channels(VIRIDIS[at]), _channels(VIRIDIS[at + 1]), strict=True)
    return "#" + "".join(f"{round(low + (high - low) * (place - at)):02x}" for low, high in pairs)


def ink_on(colour: str) -> str:
    """Return black or white, whichever is read better on a colour.

    Examples
    --------
    >>> ink_on("#440154"), ink_on("#fde725")
    ('#ffffff', '#000000')
    """
    red, green, blue = _channels(colour)
    return "#ffffff" if 0.299 * red + 0.587 * green + 0.114 * blue < 140 else "#000000"


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


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
