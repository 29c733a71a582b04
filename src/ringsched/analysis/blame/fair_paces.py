"""How fast jobs go on links that are shared max-min fairly: a change is felt by all who are connected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ringsched.contention.extremes import uncontended_tau
from ringsched.contention.fair_shares import NO_LINK, fair_shares
from ringsched.contention.network import Shape
from ringsched.engine.problem import Problem
from ringsched.engine.run import Run


class Pace(NamedTuple):
    """A job's pace from an instant on."""

    instant: float
    tau: float
    link: int  # the full one that keeps it from more, or NO_LINK
    num_jobs: int  # on that link


def fair_paces(problem: Problem, run: Run, shapes: Sequence[Shape]) -> dict[int, list[Pace]]:
    """Return the paces of every job that crosses links, from its start to its finish."""
    spread = [job for job, shape in enumerate(shapes) if shape.links]
    paces: dict[int, list[Pace]] = {job: [] for job in spread}
    on_link: dict[int, set[int]] = {link: set() for job in spread for link in shapes[job].links}
    comes: dict[float, list[int]] = {}
    goes: dict[float, list[int]] = {}
    for job in spread:
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
    return paces


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
    contention, network = problem.scenario.contention, problem.network
    alone = {job: uncontended_tau(problem.works[job], shapes[job], network, contention) for job in jobs}
    wishes = {
        job: problem.works[job].exchange_gbit / tau
        for job, tau in alone.items()
        if problem.works[job].exchange_gbit > 0
    }
    links_of = {job: shapes[job].links for job in wishes}
    paces = {job: Pace(instant, tau, NO_LINK, 1) for job, tau in alone.items()}
    for job, (gbps, link) in fair_shares(wishes, links_of, network.uplink_gbps).items():
        if link != NO_LINK:
            tau = problem.works[job].exchange_gbit / gbps
            paces[job] = Pace(instant, tau, link, len(on_link[link]))
    return paces
