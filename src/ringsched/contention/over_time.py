"""Jobs that hold given GPUs for given times: their iteration times, and the iterations they complete."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ringsched.contention.fabric import fabric_of, new_traffic, offsets
from ringsched.contention.iteration_time import Ring, work_of
from ringsched.contention.model import COUNTING, MAX_MIN, NO_LINK, PHASES, PYTHON
from ringsched.contention.sharing import iteration_time, limiting_link, num_contenders, share_links
from ringsched.contention.traffic import (
    NUM_TOUCHED,
    Links,
    Traffic,
    clear,
    enter_links,
    forget_touched,
    leave,
)
from ringsched.jit import by_pointer, kernel, part, runnable
from ringsched.model import Cluster, Contention, Job, Placement

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ringsched.contention.traffic import Floats, Integers


_EVENTS = 50  # of which a job costs so much by itself
_EFFORT = {COUNTING: 1, MAX_MIN: 17, PHASES: 160, PYTHON: 1}  # measured: microseconds for two jobs that meet
_RECORDS = 4096  # to begin with


class Paces(NamedTuple):
    """Iteration times as steps, those of each job together, by time: from each instant until the next."""

    first: Integers  # of each job: where its steps begin, and their number at the end
    instant: Floats
    tau: Floats
    link: Integers  # that keeps the job from going faster, or NO_LINK
    num_jobs: Integers  # on that link, of those that slow others; 1 if there is no such link


@by_pointer
class _Visits(NamedTuple):
    """Who comes and goes when, and what the network sees of each job."""

    time: Floats  # of each event, ascending; at one instant those that go are first
    job: Integers
    comes: NDArray[np.bool_]
    crossed_first: Integers  # of each job: where its links begin
    crossed: Integers
    num_servers: Integers  # of each job
    free_gbps: Floats
    is_there: NDArray[np.bool_]  # of each job, at present


@by_pointer
class _Records(NamedTuple):
    job: Integers
    instant: Floats
    tau: Floats
    link: Integers
    num_jobs: Integers


def paces_of(
    links: Links,
    rings: Sequence[Ring],
    starts: Sequence[float],
    ends: Sequence[float],
    *,
    at_once: bool = False,
) -> Paces:
    """Return the iteration times of jobs from their starts to their ends, each with all that are there.

    `at_once` says that all of them start and end together, which is never worth compiling for.
    """
    visits, traffic = _visits(rings, starts, ends), new_traffic(links)
    meetings = float((np.diff(links.link_first).astype(np.float64) ** 2).sum())
    effort = _EVENTS * len(rings) + _EFFORT[links.kernel] * meetings
    work_s = effort * 1e-6
    sweep = runnable(_sweep, python=links.python is not None or at_once, work_s=work_s, call_s=work_s)
    clear(links, traffic)
    kept: list[tuple[NDArray[Any], ...]] = []
    progress = np.zeros(3, dtype=np.int64)  # events gone through, records made, jobs still to be recorded
    size = _RECORDS
    done = False
    while not done:
        records = _new_records(max(size, len(rings)))
        done = sweep(links, traffic, visits, records, progress)
        kept.append(tuple(column[: progress[1]] for column in records))
        size *= 2
    jobs, *columns = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    order = np.argsort(jobs, kind="stable")
    instants, taus, limits, num_jobs = (column[order] for column in columns)
    return Paces(offsets(np.bincount(jobs, minlength=len(rings))), instants, taus, limits, num_jobs)


def _visits(rings: Sequence[Ring], starts: Sequence[float], ends: Sequence[float]) -> _Visits:
    num_jobs = len(rings)
    come_at, go_at = np.array(starts, dtype=np.float64), np.array(ends, dtype=np.float64)
    stay = np.flatnonzero(go_at > come_at)  # a job that goes when it comes meets no other
    time = np.concatenate((go_at[stay], come_at[stay]))
    comes = np.arange(2 * len(stay)) >= len(stay)
    order = np.argsort(time, kind="stable")  # at one instant those that go stay first
    links = [np.array(ring.links, dtype=np.int64) for ring in rings]
    return _Visits(
        time=time[order],
        job=np.concatenate((stay, stay))[order],
        comes=comes[order],
        crossed_first=offsets(np.array([len(own) for own in links], dtype=np.int64)),
        crossed=np.concatenate([np.zeros(0, dtype=np.int64), *links]),
        num_servers=np.array([ring.shape.num_servers for ring in rings], dtype=np.int64),
        free_gbps=np.array([ring.shape.free_gbps for ring in rings], dtype=np.float64),
        is_there=np.zeros(num_jobs, dtype=np.bool_),
    )


def _new_records(size: int) -> _Records:
    return _Records(
        job=np.zeros(size, dtype=np.int64),
        instant=np.zeros(size),
        tau=np.zeros(size),
        link=np.zeros(size, dtype=np.int64),
        num_jobs=np.zeros(size, dtype=np.int64),
    )


@kernel
def _sweep(links: Links, traffic: Traffic, visits: _Visits, records: _Records, progress: Integers) -> bool:
    """Go through the events until the last, or until the array of records is full."""
    progress[1] = 0
    while True:
        if progress[2] > 0:
            if progress[1] + progress[2] > len(records.job):
                return False
            _record(links, traffic, visits, records, progress)
        if progress[0] == len(visits.time):
            return True
        now = visits.time[progress[0]]
        while progress[0] < len(visits.time) and visits.time[progress[0]] == now:
            job = visits.job[progress[0]]
            visits.is_there[job] = visits.comes[progress[0]]
            if visits.comes[progress[0]]:
                crossed = visits.crossed[visits.crossed_first[job] : visits.crossed_first[job + 1]]
                enter_links(links, traffic, job, crossed, visits.num_servers[job], visits.free_gbps[job])
            else:
                leave(links, traffic, job)
            progress[0] += 1
        share_links(links, traffic)
        progress[2] = traffic.counts[NUM_TOUCHED]


@part
def _record(links: Links, traffic: Traffic, visits: _Visits, records: _Records, progress: Integers) -> None:
    """Note the iteration times of all jobs touched at the last instant."""
    for at in range(traffic.counts[NUM_TOUCHED]):
        job = traffic.touched[at]
        if not visits.is_there[job]:
            continue
        place = progress[1]
        link = limiting_link(links, traffic, job)
        records.job[place] = job
        records.instant[place] = visits.time[progress[0] - 1]
        records.tau[place] = iteration_time(links, traffic, job)
        records.link[place] = link
        records.num_jobs[place] = 1 if link == NO_LINK else num_contenders(links, traffic, link)
        progress[1] += 1
    forget_touched(traffic)
    progress[2] = 0


class Stay(NamedTuple):
    """A job on its GPUs from start to end, one iteration being what `job` describes."""

    job: Job
    start_s: float
    end_s: float
    gpus: Placement


def iterations_done(stays: Sequence[Stay], cluster: Cluster, contention: Contention) -> list[float]:
    """Return the iterations of each stay, a real number: the integral of 1/tau over its time.

    Examples
    --------
    >>> job = Job(
    ...     name="a", gpus=1, iterations=1, gradient_mb=9, minibatch=1, forward_ms=0, backward_ms=200
    ... )
    >>> stay = Stay(job, 0.0, 10.0, Placement({"s0": [3]}))
    >>> iterations_done([stay], Cluster.of_servers(1), Contention(degradation=0.2745))
    [50.0]
    """
    fabric = fabric_of(cluster, contention)
    index = {server.name: at for at, server in enumerate(cluster.servers)}
    rings = [
        fabric.ring(
            work_of(stay.job, cluster),
            fabric.shape({index[name]: len(held) for name, held in stay.gpus.items()}),
        )
        for stay in stays
    ]
    paces = fabric.paces(rings, [stay.start_s for stay in stays], [stay.end_s for stay in stays])
    instants, taus = paces.instant.tolist(), paces.tau.tolist()
    done = []
    for stay, (first, end) in zip(stays, pairwise(paces.first.tolist()), strict=True):
        steps = zip(pairwise([*instants[first:end], stay.end_s]), taus[first:end], strict=True)
        done.append(sum((until - since) / tau for (since, until), tau in steps))
    return done
