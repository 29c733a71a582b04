"""What happens when starts and placements are given: truly slot by slot, or event by event."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from tests.reference.formulas import (
    Amount,
    Gpus,
    Number,
    iteration_times,
    iterations_per_slot,
    limit_ticks,
    origin_ticks,
)

from ringsched.model import Scenario


def replay(
    scenario: Scenario, starts_s: Sequence[Amount], placements: Sequence[Mapping[str, Sequence[int]]]
) -> list[Fraction]:
    """Finish of every job in seconds, in the scenario's order.

    A job that runs already has start 0, its own GPUs and its remaining iterations, whatever is given.
    """
    given = list(zip(scenario.jobs, starts_s, placements, strict=True))
    starts = {job.name: Fraction(0 if job.is_running else start) for job, start, _ in given}
    gpus = {job.name: job.running_on or placement for job, _, placement in given}
    simulate = replay_slotted if scenario.time.slotted else replay_continuous
    finishes = simulate(scenario, starts, gpus)
    return [finishes[job.name] for job in scenario.jobs]


def replay_slotted(
    scenario: Scenario, starts: Mapping[str, Fraction], gpus: Mapping[str, Gpus]
) -> dict[str, Fraction]:
    """Step one slot at a time; every running job's phi is recomputed from scratch in every slot."""
    slot_s = Fraction(scenario.time.slot_s)
    start_slot = {name: round(start / slot_s) for name, start in starts.items()}
    remaining = {job.name: job.remaining_iterations for job in scenario.jobs}
    finishes: dict[str, Fraction] = {}
    slot = 0
    while len(finishes) < len(scenario.jobs):
        waiting = [job for job in scenario.jobs if job.name not in finishes]
        slot = max(slot, min(start_slot[job.name] for job in waiting))  # nothing runs before
        running = [job for job in waiting if start_slot[job.name] <= slot]
        taus = iteration_times(scenario, [(job, gpus[job.name]) for job in running])
        for job in running:
            remaining[job.name] -= iterations_per_slot(scenario, taus[job.name])
            at_limit = slot + 1 >= start_slot[job.name] + limit_ticks(scenario, job)
            if remaining[job.name] <= 0 or at_limit:
                finishes[job.name] = (slot + 1) * slot_s
        slot += 1
    return finishes


def replay_continuous(
    scenario: Scenario, starts: Mapping[str, Fraction], gpus: Mapping[str, Gpus]
) -> dict[str, Fraction]:
    """Step from event to event, an event being a start or a completion."""
    remaining: dict[str, Amount] = {job.name: Fraction(job.remaining_iterations) for job in scenario.jobs}
    finishes: dict[str, Fraction] = {}
    now = Fraction(0)
    while len(finishes) < len(scenario.jobs):
        waiting = [job for job in scenario.jobs if job.name not in finishes]
        running = [job for job in waiting if starts[job.name] <= now]
        taus = iteration_times(scenario, [(job, gpus[job.name]) for job in running])
        next_start = min((starts[job.name] for job in waiting if starts[job.name] > now), default=None)
        cuts = {job.name: starts[job.name] + limit_ticks(scenario, job) for job in running}
        event, completed = next_event(scenario, now, remaining, taus, next_start, cuts=cuts)
        advance(remaining, taus, event - now)
        now = Fraction(event)
        finishes.update((name, now) for name in completed)
    return finishes


def next_event(
    scenario: Scenario,
    now: Amount,
    remaining: Mapping[str, Amount],
    taus: Mapping[str, Amount],
    next_start: Amount | None,
    number: Number = Fraction,
    cuts: Mapping[str, Amount | float] | None = None,
) -> tuple[Amount, list[str]]:
    """Return the next instant, that of a completion or `next_start`, and the jobs that complete then.

    A job ends at the latest at its cut.

    model.md, Origin of time: completions within 1e-9*max(1, t since the origin) plus two units in the last
    place of the earliest are one instant, at the earliest; arrivals compare exactly.
    """
    ends = {name: now + remaining[name] * tau for name, tau in taus.items()}
    if cuts is not None:
        ends = {name: end if end <= cuts[name] else number(cuts[name]) for name, end in ends.items()}
    if not ends:
        assert next_start is not None
        return next_start, []
    earliest = min(ends.values())
    if next_start is not None and next_start < earliest:
        return next_start, []
    since_origin = earliest - number(origin_ticks(scenario))
    limit = earliest + max(number(1), since_origin) / 10**9 + number(2 * math.ulp(float(earliest)))
    return earliest, [name for name, end in ends.items() if end <= limit]


def advance(remaining: dict[str, Amount], taus: Mapping[str, Amount], elapsed: Amount) -> None:
    """Do 1/tau iterations per second, for every running job."""
    for name, tau in taus.items():
        remaining[name] -= elapsed / tau
