"""What a policy believes of the time ahead: estimates, and when a job finds a place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

import numpy as np

from ringsched.contention.fabric import Extremes
from ringsched.contention.iteration_time import Work
from ringsched.contention.traffic import alone_gbps, is_beside_others, tau_at
from ringsched.engine.clock import same_instant_until
from ringsched.engine.columns import job_columns
from ringsched.engine.eligibility import next_reopening
from ringsched.engine.events import (
    advance,
    advance_counting,
    ends_before,
    next_completion,
    remaining_now,
    settle,
    time_for,
)
from ringsched.engine.heap import not_noted, rise, sink
from ringsched.engine.problem import Problem, with_iterations
from ringsched.engine.state import NUM_IDLE, NUM_RUNNING, Floats, Integers, State
from ringsched.jit import kernel, part
from ringsched.model.checks import MAX_INTEGER
from ringsched.online.queue import IDLE_AHEAD, Stage
from ringsched.rules.free_links import crossed_links
from ringsched.rules.shared import MAX_LOAD
from ringsched.rules.table import place

# So long that no sum of a million of them is too long to be counted exactly.
_MOST_ITERATIONS = MAX_INTEGER >> 22

_CHANGES_RATES = -1.0  # not an instant


def believed_problem(problem: Problem, error: float, seed: int) -> Problem:
    """Return the problem as a policy sees it; the same object if all estimates are exact.

    A job that states `estimate_s` is believed to take so long in its best case. On top of that every
    estimate is wrong by a factor between 1/(1 + error) and 1 + error, drawn evenly on a logarithmic
    scale, job by job in the order of the scenario.
    """
    scenario, stated = problem.scenario, job_columns(problem.scenario).estimated
    if error == 0 and not stated:
        return problem
    done = done_before(problem)
    known = problem.columns.iterations + done
    estimates = known.astype(np.float64)
    _state_iterations(problem, stated, estimates)
    most = np.maximum(known, _MOST_ITERATIONS)
    believed = np.clip(np.rint(estimates * _factors(len(known), error, seed)), 1, most).astype(np.int64)
    for at in problem.running:
        while believed[at] <= done[at]:  # it has outlived its estimate already
            believed[at] *= 2
    if not stated and (believed == known).all():
        return problem
    if stated:
        jobs = (job if job.estimate_s is None else job.replace(estimate_s=None) for job in scenario.jobs)
        scenario = scenario.part(tuple(jobs), scenario.time)
    return with_iterations(problem, scenario, believed - done)


def done_before(problem: Problem) -> Integers:
    """Return of each job the iterations before time 0, which only a running job has."""
    done = np.zeros(problem.num_jobs, dtype=np.int64)
    for job in problem.running:
        done[job] = problem.scenario.jobs[job].done_iterations
    return done


def _factors(number: int, error: float, seed: int) -> Floats:
    random, spread = Random(seed).random, math.log1p(error)
    exponents = (-1.0 + 2.0 * np.array([random() for _ in range(number)])) * spread
    # By the C library, not by NumPy, whose last digit depends on the machine.
    return np.array(list(map(math.exp, exponents.tolist())))


def _state_iterations(problem: Problem, stated: Sequence[int], estimates: Floats) -> None:
    """Set how many iterations each job with a stated estimate is believed to have in all.

    What is believed must not depend on the true number. So a stated estimate is turned into iterations by
    the rate of the best case, and not by the ratio to its duration, which is rounded to slots.
    """
    clock, extremes = problem.clock, Extremes(problem.fabric, 0)
    rates: dict[tuple[Work, int], float] = {}
    for at in stated:
        key = problem.works[at], problem.gpus[at]
        if key not in rates:
            rates[key] = clock.rate(extremes.best_case_tau(*key))
        estimates[at] = clock.done(clock.units(problem.scenario.jobs[at].estimate_s or 0.0), rates[key])


@kernel
def start_ahead(stage: Stage, job: int, latest: float) -> float:
    """Return when the job finds a place if nothing else starts before it; infinity if not until `latest`.

    How many GPUs are idle then is noted. The ghost is left at that instant, the job not started, or where it
    was if the completions could be read from it.
    """
    believed, ghost, counts = stage.believed, stage.ghost, stage.course.counts
    if stage.by_count and not believed.python_only:
        time = _read_ahead(stage, job, latest)
        if time != _CHANGES_RATES:
            return time
    is_placed = finds_place_ahead(stage, job)
    while not is_placed:
        time = min(next_completion(ghost), next_reopening(believed.permits, ghost.now[0]))
        if time == math.inf or time > latest:
            break
        if stage.by_count:
            advance_counting(believed, ghost, time)
        else:
            advance(believed, ghost, time)
        settle(believed, ghost)
        is_placed = finds_place_ahead(stage, job)
    counts[IDLE_AHEAD] = ghost.counts[NUM_IDLE]
    return ghost.now[0] if is_placed else math.inf


@kernel
def _read_ahead(stage: Stage, job: int, latest: float) -> float:
    """The same where GPUs need only be counted, or _CHANGES_RATES if a job ends before that shares a link.

    As long as no rate changes, jobs end in the order of the heap. They are read from it without a change.
    """
    believed, ghost, soonest = stage.believed, stage.ghost, stage.course.soonest
    idle, time, until = ghost.counts[NUM_IDLE], ghost.now[0], -math.inf
    num_soonest = min(1, ghost.counts[NUM_RUNNING])
    soonest[0] = ghost.heap[0]
    while True:
        finish = ghost.finish[soonest[0]] if num_soonest > 0 else math.inf
        if finish > until:  # all that end at this instant have
            if idle >= believed.gpus[job]:
                break
            time, until = finish, same_instant_until(believed.slotted, finish)
            if time == math.inf or time > latest:
                time = math.inf
                break
        if is_beside_others(believed.links, ghost.traffic, soonest[0]):
            return _CHANGES_RATES
        idle += believed.gpus[soonest[0]]
        num_soonest = _read_next(ghost, soonest, num_soonest)
    stage.course.counts[IDLE_AHEAD] = idle
    return time


@part
def _read_next(ghost: State, soonest: Integers, num_soonest: int) -> int:
    """Replace the first job of a heap by those below it in the ghost's; return how many there are then."""
    below = 2 * ghost.heap_place[soonest[0]] + 1
    num_below = max(0, min(2, ghost.counts[NUM_RUNNING] - below))
    if num_below == 0:
        num_soonest -= 1
        soonest[0] = soonest[num_soonest]
    else:
        soonest[0] = ghost.heap[below]
    sink(soonest, num_soonest, 0, ends_before, not_noted, (ghost.finish, ghost.heap_place))
    if num_below == 2:
        soonest[num_soonest] = ghost.heap[below + 1]
        rise(soonest, num_soonest, ends_before, not_noted, (ghost.finish, ghost.heap_place))
        num_soonest += 1
    return num_soonest


@part
def finds_place_ahead(stage: Stage, job: int) -> bool:
    """Whether a job finds a place in the ghost."""
    ghost, queue = stage.ghost, stage.queue
    if stage.by_count:
        return ghost.counts[NUM_IDLE] >= stage.believed.gpus[job]
    limit = MAX_LOAD - queue.charge[job]
    return place(stage.believed, ghost, stage.scratch, queue, stage.rule, stage.own, job, limit, stage.kappa)


@kernel
def ends_late(stage: Stage, job: int, latest: float) -> bool:
    """Whether a job on the chosen GPUs surely does not end by `latest`.

    For models that count jobs: beside it on its links are at least those that run beyond `latest` even if
    they have their links for themselves from now on. The ghost is what the state is believed to be.
    """
    believed, ghost, scratch = stage.believed, stage.ghost, stage.scratch
    links, traffic = believed.links, ghost.traffic
    num_links, num_servers = crossed_links(believed, stage.state, scratch, job), 0
    for at in range(num_links):
        num_servers += int(scratch.links[at] < believed.num_servers)
    for at in range(num_links):
        link = scratch.links[at]
        most = traffic.num_on_link[link] + 1
        if not _is_late_among(stage, job, link, most, num_servers, latest):
            continue
        num_jobs, first = 1, links.link_first[link]
        for on_link in range(first, first + traffic.num_on_link[link]):
            if _outlasts(stage, links.entry_job[traffic.on_link[on_link]], latest):
                num_jobs += 1
                if num_jobs == most or _is_late_among(stage, job, link, num_jobs, num_servers, latest):
                    return True
    return False


@part
def _is_late_among(stage: Stage, job: int, link: int, num_jobs: int, num_servers: int, latest: float) -> bool:
    """Whether a job that starts now ends after `latest`, as one of so many on one of its links."""
    believed, links = stage.believed, stage.believed.links
    tau = tau_at(links, job, links.uplink_gbps[link] / links.factor[num_jobs], num_servers)
    duration = min(time_for(believed, float(believed.iterations[job]), tau), believed.permits.limit[job])
    return bool(stage.ghost.now[0] + duration > latest)


@part
def _outlasts(stage: Stage, job: int, latest: float) -> bool:
    """Whether a running job of the ghost ends after `latest`, even with its links for itself from now on."""
    believed, ghost = stage.believed, stage.ghost
    if ghost.finish[job] <= latest:  # with its links for itself it ends no later
        return False
    links, traffic = believed.links, ghost.traffic
    tau = tau_at(links, job, alone_gbps(links, traffic, job), traffic.num_servers[job])
    end = ghost.now[0] + time_for(believed, remaining_now(believed, ghost, job), tau)
    return bool(min(end, ghost.start[job] + believed.permits.limit[job]) > latest)
