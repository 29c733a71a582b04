"""Links shared fairly at each moment by exchanges that meet by chance (docs/concepts/model.md).

Once as if all exchanged all the time. From that follows which part of its time each job exchanges, so how
many others one meets on a link, and from that how fast it is; and so once more.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ringsched.contention.max_min import EQUAL, FairModel, fill
from ringsched.contention.model import NO_LINK, PHASES
from ringsched.contention.traffic import NUM_TOUCHED, Links, Traffic, alone_gbps, tau_at
from ringsched.jit import by_pointer, kernel, part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ringsched.contention.traffic import Floats, Integers

ROUNDS = 2  # as near to exchanges simulated one by one as many rounds (docs/concepts/model.md)
RARE = 1e-9  # a chance below it is as good as none
SAME = 1e-12  # a variance below it is rounding
NOT_MET = -1.0


class Phases(FairModel):
    """Links are shared fairly among the jobs that exchange at that moment, which they do by chance."""

    name = "phases"
    kernel = PHASES


@by_pointer
class Meetings(NamedTuple):
    """Scratch arrays for the jobs that exchange over links, and for how often they meet."""

    rings: Integers  # jobs that exchange over links
    on_link: NDArray[np.int32]  # those on each link
    path: NDArray[np.int32]  # of each of their entries: the links in order
    alone_gbps: Floats  # of each job: the rate it has with its links for itself
    rest_s: Floats  # of each job: seconds per iteration in which it does not exchange
    mean: Floats  # of each job: the part of its time in which it exchanges, so that others meet it
    variance: Floats  # of each job: of that
    loading: Floats  # of each job: increase in the expected number of concurrent jobs caused by it; scratch
    others: Integers  # jobs that are met


@kernel
def meet_by_chance(links: Links, traffic: Traffic) -> None:
    """Set tau of the touched jobs, and of all that are connected with them."""
    fill(links, traffic, False)
    meetings = traffic.meetings
    num_rings = _gather_rings(links, traffic)
    for _ in range(ROUNDS):
        for at in range(num_rings):
            job = meetings.rings[at]
            chance = 1 - meetings.rest_s[job] / traffic.tau[job]
            meetings.mean[job], meetings.variance[job] = chance, chance * (1 - chance)
        for at in range(num_rings):
            job = meetings.rings[at]
            _set_tau(links, traffic, job, _exchange_gbps(links, traffic, job))


@part
def _set_tau(links: Links, traffic: Traffic, job: int, gbps: float) -> None:
    """Set tau of a job that exchanges at this rate, and how long it does not exchange."""
    traffic.tau[job] = tau_at(links, job, gbps, traffic.num_servers[job])
    if links.overlap[job] > 0:  # else the rest is the same at any rate
        wire_s = links.exchange_gbit[job] / gbps if gbps > 0 else traffic.tau[job]
        traffic.meetings.rest_s[job] = traffic.tau[job] - wire_s if traffic.tau[job] < math.inf else 0.0


@part
def _gather_rings(links: Links, traffic: Traffic) -> int:
    """List the touched jobs that exchange over links, and on every link those that do; return how many.

    A job's links are put in order: what it meets depends on it a little, so it is always the same.
    """
    filling, meetings, num_rings = traffic.filling, traffic.meetings, 0
    for at in range(traffic.counts[NUM_TOUCHED]):
        job = traffic.touched[at]
        if traffic.num_links[job] == 0 or links.exchange_gbit[job] <= 0:
            continue
        meetings.rings[num_rings] = job
        num_rings += 1
        first = links.entry_first[job]
        for entry in range(first, first + traffic.num_links[job]):
            link = traffic.entry_link[entry]
            place = entry
            while place > first and meetings.path[place - 1] > link:
                meetings.path[place] = meetings.path[place - 1]
                place -= 1
            meetings.path[place] = link
            filling.open[link] = 0
        num_servers = traffic.num_servers[job]
        meetings.alone_gbps[job] = alone_gbps(links, traffic, job)
        meetings.rest_s[job] = tau_at(links, job, math.inf, num_servers)
        _set_tau(links, traffic, job, filling.rate[job])
    for at in range(num_rings):
        job = meetings.rings[at]
        first = links.entry_first[job]
        for entry in range(first, first + traffic.num_links[job]):
            link = traffic.entry_link[entry]
            meetings.on_link[links.link_first[link] + filling.open[link]] = job
            filling.open[link] += 1
    return num_rings


@part
def _exchange_gbps(links: Links, traffic: Traffic, job: int) -> float:
    """Return how fast a job exchanges on average while it does; the link that limits it is noted."""
    filling, meetings = traffic.filling, traffic.meetings
    own_alone_gbps, own_gbps = meetings.alone_gbps[job], filling.rate[job]
    own_mean, own_variance = meetings.mean[job], meetings.variance[job]
    meetings.mean[job] = meetings.variance[job] = 0.0  # it does not meet itself
    scale, least = (1 / own_gbps, 0.0) if own_gbps > 0 else (0.0, 1.0)
    mean, variance = 0.0, 0.0  # of the number of other jobs on the fullest link so far
    widest, largest, limit = 0.0, 0.0, NO_LINK
    num_met = 0
    entry = links.entry_first[job]
    for its in range(entry, entry + traffic.num_links[job]):
        link = meetings.path[its]
        if filling.open[link] < 2:
            continue
        met, spread, shared = _met_on(links, traffic, link, scale, least)
        share = own_alone_gbps / links.uplink_gbps[link]
        crowd = share * (1 + met)
        if crowd > largest * EQUAL:
            limit, largest = link, crowd
        here, here_variance = crowd - 1, share * share * spread
        ahead = 0.0  # the chance that an earlier link is the fuller one
        if widest == 0:
            mean, variance = here, here_variance
        else:
            mean, variance, ahead = larger_of(mean, variance, here, here_variance, share * shared)
        if its < entry + traffic.num_links[job] - 1:
            num_met = _load(links, traffic, link, num_met, ahead, share)
        widest = max(widest, share)
    meetings.mean[job], meetings.variance[job] = own_mean, own_variance
    if 0 < widest < 1:  # all links are faster than the job, so N may be negative
        held, variance, ahead = larger_of(mean, variance, 0.0, 0.0, 0.0)
        mean = min(held, mean + 1 - widest)
    for at in range(num_met):
        meetings.loading[meetings.others[at]] = NOT_MET
    gbps = max(own_alone_gbps * expected_part(mean, variance), own_gbps)
    traffic.limit[job] = limit if gbps < own_alone_gbps else NO_LINK
    return gbps


@part
def _met_on(
    links: Links, traffic: Traffic, link: int, scale: float, least: float
) -> tuple[float, float, float]:
    """Return mean and variance of the number of jobs met on a link, and its covariance with N so far."""
    filling, meetings = traffic.filling, traffic.meetings
    mean, variance, shared = 0.0, 0.0, 0.0
    first = links.link_first[link]
    for place in range(first, first + filling.open[link]):
        other = meetings.on_link[place]
        # One that is held up elsewhere counts for less than a contender.
        weight = max(least, min(1.0, filling.rate[other] * scale))
        mean += meetings.mean[other] * weight
        each = meetings.variance[other] * weight * weight
        variance += each
        shared += max(0.0, meetings.loading[other]) * each
    return mean, variance, shared


@part
def _load(links: Links, traffic: Traffic, link: int, num_met: int, ahead: float, share: float) -> int:
    """Note the increase in N that each other causes, on average; return how many were met so far."""
    meetings = traffic.meetings
    for at in range(num_met):
        meetings.loading[meetings.others[at]] *= ahead
    first = links.link_first[link]
    for place in range(first, first + traffic.filling.open[link]):
        other = meetings.on_link[place]
        if meetings.loading[other] == NOT_MET:
            meetings.loading[other] = 0.0
            meetings.others[num_met] = other
            num_met += 1
        meetings.loading[other] += (1 - ahead) * share
    return num_met


@part
def larger_of(
    mean: float, variance: float, other_mean: float, other_variance: float, covariance: float
) -> tuple[float, float, float]:
    """Return mean and variance of the larger of two numbers, and the probability that it is the first.

    By Clark (1961), as if they were normal.

    Examples
    --------
    >>> larger_of(2.0, 0.0, 1.0, 0.0, 0.0)
    (2.0, 0.0, 1.0)
    >>> [round(each, 3) for each in larger_of(0.5, 0.25, 0.5, 0.25, 0.0)]
    [0.782, 0.17, 0.5]
    """
    spread_squared = variance + other_variance - 2 * covariance
    if spread_squared < SAME:
        if other_mean > mean:
            return other_mean, other_variance, 0.0
        return mean, variance, 1.0
    spread = math.sqrt(spread_squared)
    ahead = (mean - other_mean) / spread
    first = 0.5 * math.erfc(-ahead / math.sqrt(2.0))
    tie = spread * math.exp(-ahead * ahead / 2) / math.sqrt(2 * math.pi)
    larger = mean * first + other_mean * (1 - first) + tie
    square = (
        (mean * mean + variance) * first
        + (other_mean * other_mean + other_variance) * (1 - first)
        + (mean + other_mean) * tie
    )
    return larger, max(0.0, square - larger * larger), first


@part
def expected_part(mean: float, variance: float) -> float:
    """Return the expected part 1 / (1 + N) of a link beside N others, N as if binomial.

    Exact for others that are alike, and for those that are always there.

    Examples
    --------
    >>> expected_part(0.0, 0.0), expected_part(2.0, 0.0), expected_part(0.5, 0.25)
    (1.0, 0.3333333333333333, 0.75)
    """
    if mean <= 0:
        return 1.0
    chance = 1 - variance / mean
    if chance < RARE:
        return -math.expm1(-mean) / mean
    if chance >= 1:
        return 1 / (1 + mean)
    return -math.expm1((mean / chance + 1) * math.log1p(-chance)) / (mean + chance)
