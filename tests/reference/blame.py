"""Where every job's time goes, and to whom, in Fractions: truly slot by slot, or event by event."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tests.reference import formulas
from tests.reference.replay import next_event

from ringsched.model import Job, Scenario

Gpus = Mapping[str, Sequence[int]]


@dataclass
class Books:
    """Seconds by job, and contention by (victim, culprit, kind of link, its name)."""

    duration: defaultdict[str, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    best_case: dict[str, Fraction] = field(default_factory=dict)
    spreading: dict[str, Fraction] = field(default_factory=dict)
    contention: defaultdict[str, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    rounding: defaultdict[str, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    blame: defaultdict[tuple[str, str, str, str], Fraction] = field(
        default_factory=lambda: defaultdict(Fraction)
    )


def books_of(scenario: Scenario, starts_s: Sequence[float], placements: Sequence[Gpus]) -> Books:
    """Keep the books of a plan; of a running job neither start nor placement are looked at."""
    given = list(zip(scenario.jobs, starts_s, placements, strict=True))
    starts = {job.name: Fraction(0 if job.is_running else start) for job, start, _ in given}
    gpus = {job.name: job.running_on or placement for job, _, placement in given}
    books = Books()
    for job in scenario.jobs:
        alone = formulas.iteration_time(scenario, job, gpus[job.name])
        best = alone if job.is_running else formulas.best_case_tau(scenario, job)
        books.best_case[job.name] = job.remaining_iterations * best
        books.spreading[job.name] = job.remaining_iterations * (alone - best)
    (_by_slots if scenario.time.slotted else _by_events)(scenario, starts, gpus, books)
    return books


def _by_slots(
    scenario: Scenario, starts: Mapping[str, Fraction], gpus: Mapping[str, Gpus], books: Books
) -> None:
    slot_s, slot = Fraction(scenario.time.slot_s), 0
    remaining = {job.name: job.remaining_iterations for job in scenario.jobs}
    while any(left > 0 for left in remaining.values()):
        running = [
            job
            for job in scenario.jobs
            if round(starts[job.name] / slot_s) <= slot and remaining[job.name] > 0
        ]
        taus = formulas.iteration_times(scenario, [(job, gpus[job.name]) for job in running])
        for job in running:
            tau = Fraction(taus[job.name])
            done = min(remaining[job.name], formulas.iterations_per_slot(scenario, tau))
            remaining[job.name] -= done
            books.duration[job.name] += slot_s
            books.rounding[job.name] += slot_s - done * tau
            _lay_blame(scenario, job, Fraction(done), tau, running, gpus, books)
        slot += 1


def _by_events(
    scenario: Scenario, starts: Mapping[str, Fraction], gpus: Mapping[str, Gpus], books: Books
) -> None:
    remaining: dict[str, formulas.Amount] = {
        job.name: Fraction(job.remaining_iterations) for job in scenario.jobs
    }
    now, ended = Fraction(0), set[str]()
    while len(ended) < len(scenario.jobs):
        waiting = [job for job in scenario.jobs if job.name not in ended]
        running = [job for job in waiting if starts[job.name] <= now]
        taus = formulas.iteration_times(scenario, [(job, gpus[job.name]) for job in running])
        coming = min((starts[job.name] for job in waiting if starts[job.name] > now), default=None)
        event, completed = next_event(scenario, now, remaining, taus, coming)
        for job in running:
            tau = Fraction(taus[job.name])
            done = (Fraction(event) - now) / tau
            remaining[job.name] -= done
            books.duration[job.name] += Fraction(event) - now
            _lay_blame(scenario, job, done, tau, running, gpus, books)
        ended.update(completed)
        now = Fraction(event)


def _lay_blame(
    scenario: Scenario,
    victim: Job,
    done: Fraction,
    tau: Fraction,
    running: Sequence[Job],
    gpus: Mapping[str, Gpus],
    books: Books,
) -> None:
    """Lay what `done` iterations lost on the others on the slowest link, the first of equals."""
    lost = done * (tau - formulas.iteration_time(scenario, victim, gpus[victim.name]))
    books.contention[victim.name] += lost
    if lost == 0:
        return
    above, speeds = formulas.nodes_above(scenario), formulas.uplinks(scenario)
    crossed = {job.name: formulas.crossed(job, gpus[job.name], above) for job in running}
    n = Counter(node for nodes in crossed.values() for node in nodes)
    mine = [node for node in speeds if node in crossed[victim.name]]  # servers in order, then switches
    if scenario.contention.model == "max-min":
        slowest = _bottleneck(scenario, victim, running, gpus, mine)
    elif scenario.contention.model == "phases":
        crossing = [(job, gpus[job.name], crossed[job.name]) for job in running]
        found = formulas.phased_iteration_times(scenario, crossing)[victim.name][1]
        assert found is not None
        slowest = found
    else:
        slowest = min(
            mine, key=lambda node: speeds[node] / formulas.contention_factor(scenario.contention, n[node])
        )
    others = [
        job.name
        for job in running
        if slowest in crossed[job.name] and job.name != victim.name and _slows(scenario, job)
    ]
    for culprit in others:
        books.blame[victim.name, culprit, *slowest] += lost / len(others)


def _slows(scenario: Scenario, job: Job) -> bool:
    """Whether a job on a link slows the others on it: where links are fair, only if it sends something."""
    return scenario.contention.model not in ("max-min", "phases") or job.gradient_mb > 0


def _bottleneck(
    scenario: Scenario,
    victim: Job,
    running: Sequence[Job],
    gpus: Mapping[str, Gpus],
    mine: Sequence[formulas.Node],
) -> formulas.Node:
    """The first of the victim's links that is full and on which nobody has more than it."""
    above, speeds = formulas.nodes_above(scenario), formulas.uplinks(scenario)
    taus = formulas.iteration_times(scenario, [(job, gpus[job.name]) for job in running])
    rates = {
        job.name: 2 * Fraction(job.gradient_mb) * 8 / 1000 * (job.gpus - 1) / job.gpus / taus[job.name]
        for job in running
    }
    for node in mine:
        here = [job.name for job in running if node in formulas.crossed(job, gpus[job.name], above)]
        is_full = sum(rates[name] for name in here) == speeds[node]
        if is_full and rates[victim.name] == max(rates[name] for name in here):
            return node
    raise AssertionError("who is slowed is slowed somewhere")
