"""Placement modes of a job in a solution: which rule chooses its GPUs."""

from __future__ import annotations

from typing import NamedTuple

from ringsched.engine.problem import Problem
from ringsched.rules.table import (
    ADAPTIVE_OVERLAP,
    BEST_FIT,
    FEW_ON_LINKS,
    FIRST_FIT,
    FREE_LINKS,
    FULLEST_SERVERS,
    LEAST_LOADED,
    LEAST_WORKLOAD,
    QUIET_LINKS,
    WAITING_FOR_SERVER,
    Rule,
)


class Mode(NamedTuple):
    """A placement rule with its parameter."""

    rule: Rule
    kappa: int = 0  # FREE and PATIENT take theirs from the problem
    alike: bool = True  # jobs of one size and layout can be placed at the same moments


MODES = (
    Mode(QUIET_LINKS),
    Mode(WAITING_FOR_SERVER),
    Mode(FEW_ON_LINKS, 0),
    Mode(FREE_LINKS),
    Mode(FEW_ON_LINKS, 1),
    Mode(BEST_FIT),
    Mode(FULLEST_SERVERS),
    Mode(LEAST_WORKLOAD, 1),
    Mode(LEAST_LOADED),
    Mode(FIRST_FIT),
    Mode(ADAPTIVE_OVERLAP, alike=False),  # only where models count the jobs on links
)
NUM_MODES = len(MODES)
(
    FLEXIBLE,  # spreads over the links with the fewest jobs, if no server holds it
    PATIENT,  # waits for a server, if one is large enough
    QUIET,  # spreads only over links that no job uses
    FREE,  # the same, by policy `free-links`
    PAIRED,  # spreads only over links that at most one job uses
    TIGHT,  # best fit
    FILLING,  # spreads over what is left of the fullest servers, over links that no job uses
    LEAST_WORK,
    LEAST_LOAD,
    FIRST,
    ADAPTIVE,  # overlaps another job on a link if that pays
) = range(NUM_MODES)
MOVED = tuple(range(FILLING + 1))  # those that moves choose from
MOVED_ONLINE = tuple(range(TIGHT + 1))  # by `rolling`, which was measured with these


def usable_modes(problem: Problem) -> tuple[int, ...]:
    """Return the modes that can be used under the contention model."""
    return tuple(mode for mode in range(NUM_MODES) if mode != ADAPTIVE or problem.fabric.model.is_counting)
