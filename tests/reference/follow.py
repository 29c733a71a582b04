"""Carrying out starts and placements that may get in each other's way: slot by slot, or event by event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from tests.reference import formulas
from tests.reference.formulas import Amount, Gpus
from tests.reference.replay import advance, next_event

from ringsched.model import Job, Scenario


def follow(scenario: Scenario, starts_s: Sequence[float], placements: Sequence[Gpus]) -> list[Fraction]:
    """Finish of every job; one whose GPUs are held, or wanted by an earlier one, waits; nobody else does."""
    slot_s = Fraction(scenario.time.slot_s)
    given = list(zip(scenario.jobs, starts_s, placements, strict=True))
    starts = {job.name: Fraction(0 if job.is_running else start) for job, start, _ in given}
    if scenario.time.slotted:
        starts = {name: Fraction(round(start / slot_s)) for name, start in starts.items()}
    gpus = {job.name: job.running_on or placement for job, _, placement in given}
    finishes = _finishes(scenario, starts, gpus)
    unit_s = slot_s if scenario.time.slotted else 1
    return [finishes[job.name] * unit_s for job in scenario.jobs]


def _finishes(
    scenario: Scenario, starts: Mapping[str, Fraction], gpus: Mapping[str, Gpus]
) -> dict[str, Fraction]:
    remaining: dict[str, Amount] = {job.name: Fraction(job.remaining_iterations) for job in scenario.jobs}
    finishes: dict[str, Fraction] = {}
    running: list[Job] = [job for job in scenario.jobs if job.is_running]
    now = Fraction(0)
    while len(finishes) < len(scenario.jobs):
        running = [job for job in running if job.name not in finishes]
        running += _started(scenario, starts, gpus, running, finishes, now)
        taus = formulas.iteration_times(scenario, [(job, gpus[job.name]) for job in running])
        if scenario.time.slotted:
            for job in running:
                remaining[job.name] -= formulas.iterations_per_slot(scenario, taus[job.name])
                if remaining[job.name] <= 0:
                    finishes[job.name] = now + 1
            now += 1
        else:
            coming = min((start for start in starts.values() if start > now), default=None)
            event, completed = next_event(scenario, now, remaining, taus, coming)
            advance(remaining, taus, event - now)
            now = Fraction(event)
            finishes.update((name, now) for name in completed)
    return finishes


def _started(
    scenario: Scenario,
    starts: Mapping[str, Fraction],
    gpus: Mapping[str, Gpus],
    running: Sequence[Job],
    finishes: Mapping[str, Fraction],
    now: Fraction,
) -> list[Job]:
    there = {job.name for job in running} | finishes.keys()
    due = [job for job in scenario.jobs if starts[job.name] <= now and job.name not in there]
    taken = {gpu for job in running for gpu in _set(gpus[job.name])}
    started = []
    for job in sorted(due, key=lambda job: starts[job.name]):  # stable: of equals the first
        if taken.isdisjoint(_set(gpus[job.name])):
            started.append(job)
        taken |= _set(gpus[job.name])  # held from now on, or wanted by this one first
    return started


def _set(placement: Gpus) -> set[tuple[str, int]]:
    return {(server, gpu) for server, held in placement.items() for gpu in held}
