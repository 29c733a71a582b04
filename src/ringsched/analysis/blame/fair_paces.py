"""How fast jobs go on links that are shared fairly: a change is felt by all who are connected.

Only who exchanges counts: a job that sends nothing slows nobody, and nobody slows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
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
    alone = {job: _alone_tau(problem, shapes, job) for job in spread}
    slowed = _Phased if problem.scenario.contention.model == PHASES else _OnAverage
    shared = slowed(problem, shapes, {job: alone[job] for job in exchanging})
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
        for job, (tau, link) in shared.paces(felt).items():
            is_slowed = link != NO_LINK
            pace = (
                Pace(instant, tau, link, len(on_link[link]))
                if is_slowed
                else Pace(instant, alone[job], NO_LINK, 1)
            )
            paces[job].append(pace)
    silent = {
        job: [Pace(float(run.starts[job]), alone[job], NO_LINK, 1)] for job in spread if job not in paces
    }
    return paces | silent


def _alone_tau(problem: Problem, shapes: Sequence[Shape], job: int) -> float:
    """Return tau of a job that nobody slows."""
    return uncontended_tau(problem.works[job], shapes[job], problem.network, problem.scenario.contention)


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


class _OnAverage:
    """Tau, and the link that keeps a job from more, by average rates."""

    def __init__(self, problem: Problem, shapes: Sequence[Shape], alone: Mapping[int, float]) -> None:
        self._sent = {job: problem.works[job].exchange_gbit for job in alone}
        self._wishes = {job: self._sent[job] / tau for job, tau in alone.items()}
        self._links_of = {job: shapes[job].links for job in alone}
        self._uplink_gbps = problem.network.uplink_gbps

    def paces(self, jobs: Iterable[int]) -> dict[int, tuple[float, int]]:
        shares = fair_shares({job: self._wishes[job] for job in jobs}, self._links_of, self._uplink_gbps)
        return {job: (self._sent[job] / gbps, link) for job, (gbps, link) in shares.items()}


class _Phased:
    """The same of exchanges that meet by chance."""

    def __init__(self, problem: Problem, shapes: Sequence[Shape], alone: Mapping[int, float]) -> None:
        self._problem, self._shapes = problem, shapes
        self._rings = {
            job: Ring(
                exchange_gbit=problem.works[job].exchange_gbit,
                rest_s=self._tau_at(job, math.inf),
                free_gbps=shapes[job].free_gbps,
                links=shapes[job].links,
            )
            for job in alone
        }

    def paces(self, jobs: Iterable[int]) -> dict[int, tuple[float, int]]:
        shares = phase_shares({job: self._rings[job] for job in jobs}, self._problem.network.uplink_gbps)
        return {job: (self._tau_at(job, gbps), link) for job, (gbps, link) in shares.items()}

    def _tau_at(self, job: int, gbps: float) -> float:
        return iteration_time_s(
            self._problem.works[job],
            bandwidth_gbps=gbps,
            num_servers=self._shapes[job].num_servers,
            server_latency_s=self._problem.scenario.contention.server_latency_ms * 1e-3,
        )
