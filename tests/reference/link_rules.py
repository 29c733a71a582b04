"""The rules that look at links, by asking `formulas` what every start would mean."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.reference.formulas import (
    Amount,
    Node,
    crossed,
    iteration_times,
    iterations_per_slot,
    nodes_above,
)
from tests.reference.rules import Gpu, State, best_fit, best_fit_in_parts, numbers_of_parts

from ringsched.model import Job

if TYPE_CHECKING:
    from tests.reference.dispatch import Trial

LINK_RULES = ("free-links", "adaptive-overlap")
Placement = dict[str, list[int]]


def choose_by_links(trial: Trial, job: Job, seen: State) -> list[Gpu] | None:
    """GPUs by the trial's rule out of those it may see, or None to wait."""
    if trial.rule == "free-links":
        return free_links(trial, job, seen, trial.scenario.contention.lanes or 1)
    gpus = free_links(trial, job, seen, 1)
    if gpus is not None:
        return gpus
    gpus = free_links(trial, job, seen, 2)
    return gpus if gpus is not None and overlap_pays(trial, job, gpus) else None


def free_links(trial: Trial, job: Job, seen: State, most_jobs: int) -> list[Gpu] | None:
    """Best fit on servers with fewer than so many jobs on the uplink; none on a switch's uplink either."""
    on_link = jobs_on_links(trial)
    servers = trial.scenario.cluster.servers
    closed = [at for at, server in enumerate(servers) if on_link["server", server.name] >= most_jobs]

    def is_free(gpus: list[Gpu]) -> bool:
        return all(on_link[node] < most_jobs for node in _crossed(trial, job, _placed(trial, gpus)))

    if job.layout == "balanced":
        ways = (best_fit_in_parts(seen, job.gpus, parts, closed) for parts in numbers_of_parts(seen, job))
        return next((gpus for gpus in ways if gpus is not None and is_free(gpus)), None)
    gpus = best_fit(seen, job, closed)
    return gpus if gpus is not None and is_free(gpus) else None


def overlap_pays(trial: Trial, job: Job, gpus: list[Gpu]) -> bool:
    """Whether starting now gives a smaller sum of ends than waiting until those on the links have ended."""
    placement = _placed(trial, gpus)
    links = set(_crossed(trial, job, placement))
    others = [
        other
        for other in trial.running
        if links.intersection(_crossed(trial, other, trial.placements[other.name]))
    ]
    pairs = [(other, trial.placements[other.name]) for other in trial.running]
    before = iteration_times(trial.scenario, pairs, trial.number)
    during = iteration_times(trial.scenario, [*pairs, (job, placement)], trial.number)
    alone = iteration_times(trial.scenario, [(job, placement)], trial.number)[job.name]
    left = {other.name: trial.remaining[other.name] for other in others}
    waiting = [_ticks(trial, left[other.name], before[other.name]) for other in others]
    contended = [_ticks(trial, left[other.name], during[other.name]) for other in others]
    end = _end(trial, job.iterations, during[job.name], alone, max(contended))
    together = [
        _end(trial, left[other.name], during[other.name], before[other.name], end) for other in others
    ]
    return end + sum(together) < max(waiting) + _ticks(trial, job.iterations, alone) + sum(waiting)


def _end(trial: Trial, iterations: Amount, first: Amount, then: Amount, until: Amount) -> Amount:
    """End of so many iterations at one tau until an instant and at another after it."""
    if _ticks(trial, iterations, first) <= until:
        return _ticks(trial, iterations, first)
    if trial.scenario.time.slotted:
        done = until * iterations_per_slot(trial.scenario, first, trial.number)
    else:
        done = until / first
    return until + _ticks(trial, iterations - done, then)


def _ticks(trial: Trial, iterations: Amount, tau: Amount) -> Amount:
    if trial.scenario.time.slotted:
        return -(-iterations // iterations_per_slot(trial.scenario, tau, trial.number))
    return iterations * tau


def jobs_on_links(trial: Trial) -> Counter[Node]:
    return Counter(node for job in trial.running for node in _crossed(trial, job, trial.placements[job.name]))


def _crossed(trial: Trial, job: Job, placement: Placement) -> list[Node]:
    return crossed(job, placement, nodes_above(trial.scenario))


def _placed(trial: Trial, gpus: list[Gpu]) -> Placement:
    placement: Placement = {}
    for server, gpu in sorted(gpus):
        placement.setdefault(trial.scenario.cluster.servers[server].name, []).append(gpu)
    return placement
