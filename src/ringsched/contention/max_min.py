"""Max-min fair sharing of links by average rates (docs/concepts/model.md): what one leaves, others have."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ringsched.contention.iteration_time import Ring
from ringsched.contention.model import MAX_MIN, NO_LINK, ContentionModel
from ringsched.contention.traffic import NUM_TOUCHED, STAMP, Links, Traffic, alone_gbps, tau_at, touch
from ringsched.jit import by_pointer, kernel, part
from ringsched.model import Contention

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ringsched.contention.traffic import Floats, Integers

EQUAL = 1 + 1e-12  # amounts that differ by rounding alone
ROUNDED_DOWN = 1 - 1e-8  # iterations in a slot are rounded up by a little less than that
_SERVED = -1.0  # the demand of a job that has its rate


class FairModel(ContentionModel):
    """Links are shared fairly, so a job has at least an equal part of each, or all it asks for."""

    silent_jobs_contend = False

    def __init__(self, settings: Contention) -> None:
        del settings  # there is nothing to set

    def factor(self, num_jobs: int) -> float:
        """Return the number of jobs: what some do not ask for, others have, so it is an upper limit."""
        return float(num_jobs)


class MaxMin(FairModel):
    """The average rates of all jobs are the max-min fair allocation of the links."""

    name = "max-min"
    kernel = MAX_MIN

    def worst_case_tau(self, ring: Ring, alone_gbps: float, crowded_gbps: float) -> float:
        """Return tau with an equal part of a full link on average, or with all it asks for."""
        alone_s, exchange_gbit = ring.tau(alone_gbps), ring.work.exchange_gbit
        if exchange_gbit == 0:
            return alone_s
        # A speed so small that it rounded to nothing takes for ever.
        return max(alone_s, exchange_gbit / crowded_gbps if crowded_gbps > 0 else math.inf)

    def link_time_s(
        self, ring: Ring, uplink_gbps: float, most_jobs: int, lasts_s: Callable[[float], float]
    ) -> float:
        """Return the time of the exchange at full speed: average rates add up to at most the link's speed."""
        del most_jobs, lasts_s
        return ROUNDED_DOWN * ring.work.exchange_gbit / uplink_gbps


@by_pointer
class Filling(NamedTuple):
    """Scratch arrays for progressive filling."""

    links: Integers  # links to be shared
    seen: Integers  # of each link: stamped if it is one of them
    left: Floats  # of each link: speed not given to any job yet
    open: Integers  # of each link: jobs that have not got theirs yet
    full: NDArray[np.bool_]  # of each link: those have all that is left ...
    nearly_full: NDArray[np.bool_]  # ... but for rounding
    demand: Floats  # of each job: the rate it asks for; negative once it has its own
    rate: Floats  # of each job: the rate it got


@kernel
def fill(links: Links, traffic: Traffic, on_average: bool) -> None:
    """Share the links of the touched jobs, and of all that are connected with them; these are touched too.

    By progressive filling: the rates of all rise alike; a job that has all it asks for stops there, and
    so do all on a link that is full. Jobs ask for their average rate alone, or else for that of their
    exchange alone.
    """
    filling = traffic.filling
    num_links = _gather(links, traffic)
    num_open = _ask(links, traffic, on_average)
    while num_open > 0:
        level = math.inf
        for at in range(num_links):
            link = filling.links[at]
            if filling.open[link] > 0:
                level = min(level, filling.left[link] / filling.open[link])
        num_served = _serve_modest(links, traffic, level)
        if num_served == 0:
            num_served = _serve_full(links, traffic, num_links, level)
        num_open -= num_served


@part
def _gather(links: Links, traffic: Traffic) -> int:
    """Touch every job connected with the touched ones, and list their links; return how many."""
    filling, stamp = traffic.filling, traffic.counts[STAMP] + 1
    num_links, at = 0, 0
    while at < traffic.counts[NUM_TOUCHED]:  # which grows
        job = traffic.touched[at]
        at += 1
        entry = links.entry_first[job]
        for its in range(entry, entry + traffic.num_links[job]):
            link = traffic.entry_link[its]
            if filling.seen[link] != stamp:
                filling.seen[link] = stamp
                filling.links[num_links] = link
                num_links += 1
                filling.left[link] = links.uplink_gbps[link]
                filling.open[link] = 0
                first = links.link_first[link]
                for other in range(first, first + traffic.num_on_link[link]):
                    touch(traffic, links.entry_job[traffic.on_link[other]])
    return num_links


@part
def _ask(links: Links, traffic: Traffic, on_average: bool) -> int:
    """Set what every spread job asks for, with its links for itself; return how many."""
    filling, num_open = traffic.filling, 0
    for at in range(traffic.counts[NUM_TOUCHED]):
        job = traffic.touched[at]
        filling.demand[job] = _SERVED
        if traffic.num_links[job] == 0:
            continue
        gbps = alone_gbps(links, traffic, job)
        traffic.tau[job] = tau_at(links, job, gbps, traffic.num_servers[job])
        traffic.limit[job] = NO_LINK
        if links.exchange_gbit[job] > 0:
            average_gbps = links.exchange_gbit[job] / traffic.tau[job]
            filling.demand[job] = average_gbps if on_average else gbps
            entry = links.entry_first[job]
            for its in range(entry, entry + traffic.num_links[job]):
                filling.open[traffic.entry_link[its]] += 1
            num_open += 1
    return num_open


@part
def _serve_modest(links: Links, traffic: Traffic, level: float) -> int:
    """Serve jobs that ask for no more than an equal part of every link; return how many."""
    num_served = 0
    for at in range(traffic.counts[NUM_TOUCHED]):
        job = traffic.touched[at]
        demand = traffic.filling.demand[job]
        if 0 <= demand <= level:  # as fast as alone
            _serve(links, traffic, job, demand)
            num_served += 1
    return num_served


@part
def _serve_full(links: Links, traffic: Traffic, num_links: int, level: float) -> int:
    """Serve all jobs on the fullest links with an equal part of what is left there; return how many."""
    filling = traffic.filling
    for at in range(num_links):
        link = filling.links[at]
        opened = filling.open[link]
        filling.full[link] = opened > 0 and filling.left[link] / opened <= level
        filling.nearly_full[link] = opened > 0 and filling.left[link] / opened <= level * EQUAL
    num_served = 0
    for at in range(traffic.counts[NUM_TOUCHED]):
        job = traffic.touched[at]
        if filling.demand[job] < 0:
            continue
        is_full, limit = False, NO_LINK
        entry = links.entry_first[job]
        for its in range(entry, entry + traffic.num_links[job]):
            link = traffic.entry_link[its]
            is_full = is_full or filling.full[link]
            if filling.nearly_full[link] and (limit == NO_LINK or link < limit):
                limit = link
        if is_full:
            traffic.tau[job] = links.exchange_gbit[job] / level
            traffic.limit[job] = limit
            _serve(links, traffic, job, level)
            num_served += 1
    return num_served


@kernel
def _serve(links: Links, traffic: Traffic, job: int, gbps: float) -> None:
    filling = traffic.filling
    entry = links.entry_first[job]
    for its in range(entry, entry + traffic.num_links[job]):
        link = traffic.entry_link[its]
        filling.left[link] = max(0.0, filling.left[link] - gbps)
        filling.open[link] -= 1
    filling.rate[job] = gbps
    filling.demand[job] = _SERVED
