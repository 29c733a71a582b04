"""How fast jobs go on links that are shared fairly: a change is felt by all who are connected.

Only who exchanges counts: a job that sends nothing slows nobody, and nobody slows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ringsched.contention.extremes import uncontended_tau
from ringsched.contention.fair_shares import NO_LINK, fair_shares
from ringsched.contention.iteration_time import iteration_time_s
from ringsched.contention.network import Shape
from ringsched.contention.phases import Ring, phase_shares
from ringsched.engine.problem import Problem
from ringsched.engine.run import Run
from ringsched.model.contention import PHASES


class Pace(NamedTuple):
    """A job's pace from an instant on."""

    instant: float
    tau: float
    link: int  # the full one that keeps it from more, or NO_LINK
    num_jobs: int  # that exchange on that link


def fair_paces(problem: Problem, run: Run, shapes: Sequence[Shape]) -> dict[int, list[Pace]]:
    """Return the paces of every job that crosses links, from its start to its finish."""
    spread = [job for job, shape in enumerate(shapes) if shape.links]
    exchanging = [job for job in spread if problem.works[job].exchange_gbit > 0]
    paces: dict[int, list[Pace]] = {job: [] for job in exchanging}
    on_link: dict[int, set[int]] = {link: set() for job in exchanging for link in shapes[job].links}
    comes: dict[float, list[int]] = {}
    goes: dict[float, list[int]] = {}
    for job in exchanging:
        comes.setdefault(float(run.starts[job]), []).append(job)
        goes.setdefault(float(run.finishes[job]), []).append(job)
    for instant in sorted({*comes, *goes}):
        ended, started = goes.get(instant, []), comes.get(instant, [])
        changed = {link for job in (*ended, *started) for link in shapes[job].links}
        for job in ended:
            for link in shapes[job].links:
                on_link[link].discard(job)
        for job in started:
            for link in shapes[job].links:
                on_link[link].add(job)
        felt = _connected(changed, shapes, on_link)
        for job, pace in _paces(problem, shapes, on_link, felt, instant).items():
            paces[job].append(pace)
    silent = {
        job: [_alone(problem, shapes, job, float(run.starts[job]))] for job in spread if job not in paces
    }
    return paces | silent


def _alone(problem: Problem, shapes: Sequence[Shape], job: int, instant: float) -> Pace:
    """Return the pace of a job that nobody slows."""
    tau = uncontended_tau(problem.works[job], shapes[job], problem.network, problem.scenario.contention)
    return Pace(instant, tau, NO_LINK, 1)


def _connected(links: Iterable[int], shapes: Sequence[Shape], on_link: dict[int, set[int]]) -> set[int]:
    """Return all jobs on these links, on the other links of these jobs, and so on."""
    jobs: set[int] = set()
    unseen = set(links)
    seen: set[int] = set()
    while unseen:
        link = unseen.pop()
        seen.add(link)
        for job in on_link[link] - jobs:
            jobs.add(job)
            unseen |= set(shapes[job].links) - seen
    return jobs


def _paces(
    problem: Problem,
    shapes: Sequence[Shape],
    on_link: dict[int, set[int]],
    jobs: set[int],
    instant: float,
) -> dict[int, Pace]:
    paces = {job: _alone(problem, shapes, job, instant) for job in jobs}
    slowed = _phased if problem.scenario.contention.model == PHASES else _on_average
    for job, (tau, link) in slowed(problem, shapes, {job: pace.tau for job, pace in paces.items()}).items():
        if link != NO_LINK:
            paces[job] = Pace(instant, tau, link, len(on_link[link]))
    return paces


def _on_average(
    problem: Problem, shapes: Sequence[Shape], alone: dict[int, float]
) -> dict[int, tuple[float, int]]:
    """Return tau, and the link that keeps a job from more, by average rates."""
    sent = {job: problem.works[job].exchange_gbit for job in alone}
    wishes = {job: sent[job] / tau for job, tau in alone.items()}
    links_of = {job: shapes[job].links for job in alone}
    shares = fair_shares(wishes, links_of, problem.network.uplink_gbps)
    return {job: (sent[job] / gbps, link) for job, (gbps, link) in shares.items()}


def _phased(
    problem: Problem, shapes: Sequence[Shape], alone: dict[int, float]
) -> dict[int, tuple[float, int]]:
    """Return the same of exchanges that meet by chance."""
    latency_s = problem.scenario.contention.server_latency_ms * 1e-3

    def tau_at(job: int, gbps: float) -> float:
        return iteration_time_s(
            problem.works[job],
            bandwidth_gbps=gbps,
            num_servers=shapes[job].num_servers,
            server_latency_s=latency_s,
        )

    rings = {
        job: Ring(
            exchange_gbit=problem.works[job].exchange_gbit,
            rest_s=tau_at(job, math.inf),
            free_gbps=shapes[job].free_gbps,
            links=shapes[job].links,
        )
        for job in alone
    }
    shares = phase_shares(rings, problem.network.uplink_gbps)
    return {job: (tau_at(job, gbps), link) for job, (gbps, link) in shares.items()}
