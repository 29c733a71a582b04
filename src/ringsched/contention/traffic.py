"""Who is on which link: the network as arrays, and the running jobs on it, for the kernels.

A job enters with the servers it holds GPUs of and leaves when it ends. Jobs that share a link with it are
*touched* then: their iteration times may change.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ringsched.contention.iteration_time import iteration_time_s
from ringsched.contention.model import COUNTING
from ringsched.contention.network import CORE
from ringsched.jit import by_pointer, kernel, part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ringsched.contention.max_min import Filling
    from ringsched.contention.model import ContentionModel
    from ringsched.contention.phases import Meetings

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

# Places in `counts`.
NUM_TOUCHED = 0
STAMP = 1
NUM_CONTENDED = 2  # links that two or more jobs cross
NUM_COUNTS = 3


@by_pointer
class Links(NamedTuple):
    """What does not change while jobs run. A job's entries are its places in the lists of links."""

    kernel: int  # of the contention model
    python: ContentionModel | None  # the model itself, where it is the user's
    silent_jobs_contend: bool
    num_servers: int
    inside_gbps: Floats  # of a server, by the GPUs that a job uses in it; the last holds beyond
    latency_s: float  # per server
    uplink_gbps: Floats  # of each node
    alone_gbps: Floats  # of each node: what a job alone has of its uplink
    parent_of: Integers  # of each node
    link_first: Integers  # of each node: where the list of jobs on its uplink begins
    factor: Floats  # f(n)
    gpus: Integers  # of each job
    entry_first: Integers  # of each job: where its entries begin
    exchange_gbit: Floats  # of each job
    reduce_s: Floats
    compute_s: Floats
    backward_s: Floats
    overlap: Floats
    entry_job: NDArray[np.int32]  # of each entry


@by_pointer
class Traffic(NamedTuple):
    """The running jobs on the network, in preallocated arrays."""

    counts: Integers
    num_on_link: Integers
    shared_gbps: Floats  # of each link: uplink / f(jobs on it)
    on_link: NDArray[np.int32]  # entries of the jobs on each link
    entry_link: NDArray[np.int32]  # of each entry: its link
    entry_place: NDArray[np.int32]  # of each entry: its place among those on the link
    num_links: Integers  # of each job; none once it has left
    num_servers: Integers  # of each job
    free_gbps: Floats  # of each job: of its ring's slowest part that knows no contention
    gbps: Floats  # of each job: what it had when its rate was set; infinity until then
    below: Integers  # of each node, scratch
    touched: Integers  # jobs
    touched_at: Integers  # of each job: the stamp of when it was last
    tau: Floats  # of each job that crosses links, where the model shares them among all at once
    limit: Integers  # of each such job: the link that keeps it from going faster, or NO_LINK
    filling: Filling
    meetings: Meetings


@kernel
def clear(links: Links, traffic: Traffic) -> None:
    """Return to a network without jobs."""
    traffic.counts[:] = 0
    traffic.num_on_link[:] = 0
    traffic.touched_at[:] = 0
    traffic.filling.seen[:] = 0
    for link in range(len(links.uplink_gbps)):
        traffic.shared_gbps[link] = links.uplink_gbps[link]


@kernel
def touch(traffic: Traffic, job: int) -> None:
    """Note that the iteration time of a job may change."""
    if traffic.touched_at[job] != traffic.counts[STAMP] + 1:
        traffic.touched_at[job] = traffic.counts[STAMP] + 1
        traffic.touched[traffic.counts[NUM_TOUCHED]] = job
        traffic.counts[NUM_TOUCHED] += 1


@part
def forget_touched(traffic: Traffic) -> None:
    """Begin a new instant: no job is touched."""
    traffic.counts[NUM_TOUCHED] = 0
    traffic.counts[STAMP] += 1


@part
def inside(links: Links, held: int) -> float:
    """Return the speed between the GPUs of a job in one server."""
    return links.inside_gbps[min(held, len(links.inside_gbps) - 1)]


@part
def come(traffic: Traffic, job: int) -> None:
    """Let a job come, of which `hold` says where it is, and `cross` that this was all."""
    traffic.num_links[job] = 0
    traffic.num_servers[job] = 0
    traffic.free_gbps[job] = math.inf
    traffic.gbps[job] = math.inf


@part
def hold(links: Links, traffic: Traffic, job: int, server: int, held: int) -> None:
    """Give a job so many GPUs of a server."""
    traffic.num_servers[job] += 1
    if held > 1:
        traffic.free_gbps[job] = min(traffic.free_gbps[job], inside(links, held))
    if held < links.gpus[job]:
        _enter(links, traffic, job, server)
        node = links.parent_of[server]
        while node != CORE:
            traffic.below[node] += held
            node = links.parent_of[node]


@part
def cross(links: Links, traffic: Traffic, job: int) -> None:
    """Enter the uplinks of the switches that have a part of the job below them, not all of it."""
    if traffic.num_servers[job] > 1:
        first = links.entry_first[job]
        for entry in range(first, first + traffic.num_servers[job]):  # those of its servers
            node = links.parent_of[traffic.entry_link[entry]]
            while node != CORE and traffic.below[node] > 0:
                if traffic.below[node] < links.gpus[job]:
                    _enter(links, traffic, job, node)
                traffic.below[node] = 0
                node = links.parent_of[node]
    touch(traffic, job)


@part
def enter_links(
    links: Links, traffic: Traffic, job: int, crossed: Integers, num_servers: int, free_gbps: float
) -> None:
    """Let a job come of which it is known already which links it crosses."""
    come(traffic, job)
    traffic.num_servers[job] = num_servers
    traffic.free_gbps[job] = free_gbps
    for link in crossed:
        _enter(links, traffic, job, link)
    touch(traffic, job)


@part
def leave(links: Links, traffic: Traffic, job: int) -> None:
    """Take a job off its links."""
    first = links.entry_first[job]
    for entry in range(first, first + traffic.num_links[job]):
        # The last one on the link takes its place.
        link = traffic.entry_link[entry]
        start = links.link_first[link]
        last = traffic.on_link[start + traffic.num_on_link[link] - 1]
        traffic.on_link[start + traffic.entry_place[entry]] = last
        traffic.entry_place[last] = traffic.entry_place[entry]
        _resize(links, traffic, link, traffic.num_on_link[link] - 1)
    traffic.num_links[job] = 0


@part
def _enter(links: Links, traffic: Traffic, job: int, link: int) -> None:
    entry = links.entry_first[job] + traffic.num_links[job]
    traffic.num_links[job] += 1
    place = traffic.num_on_link[link]
    traffic.on_link[links.link_first[link] + place] = entry
    traffic.entry_link[entry] = link
    traffic.entry_place[entry] = place
    _resize(links, traffic, link, place + 1)


@part
def _resize(links: Links, traffic: Traffic, link: int, num_jobs: int) -> None:
    """Set the number of jobs on a link; those that it may limit are touched.

    Under a model that counts jobs, a job with less bandwidth than the link gives is limited elsewhere.
    """
    traffic.counts[NUM_CONTENDED] += int(num_jobs > 1) - int(traffic.num_on_link[link] > 1)
    traffic.num_on_link[link] = num_jobs
    least_gbps, now_gbps = traffic.shared_gbps[link], links.uplink_gbps[link] / links.factor[num_jobs]
    traffic.shared_gbps[link] = now_gbps
    least_gbps = min(least_gbps, now_gbps) if links.kernel == COUNTING else 0.0
    first = links.link_first[link]
    for at in range(first, first + num_jobs):
        job = links.entry_job[traffic.on_link[at]]
        if traffic.gbps[job] >= least_gbps:
            touch(traffic, job)


@part
def is_beside_others(links: Links, traffic: Traffic, job: int) -> bool:
    """Whether other jobs are on the links of a job."""
    first, most = links.entry_first[job], 1
    for entry in range(first, first + traffic.num_links[job]):
        most = max(most, traffic.num_on_link[traffic.entry_link[entry]])
    return most > 1


@part
def tau_at(links: Links, job: int, bandwidth_gbps: float, num_servers: int) -> float:
    """Return tau of a job at a bandwidth."""
    return iteration_time_s(
        links.exchange_gbit[job],
        links.reduce_s[job],
        links.compute_s[job],
        links.backward_s[job],
        links.overlap[job],
        links.latency_s * num_servers,
        bandwidth_gbps,
    )


@part
def alone_gbps(links: Links, traffic: Traffic, job: int) -> float:
    """Return the bandwidth of a job that had its links for itself, all of them."""
    gbps = traffic.free_gbps[job]
    first = links.entry_first[job]
    for entry in range(first, first + traffic.num_links[job]):
        gbps = min(gbps, links.uplink_gbps[traffic.entry_link[entry]])
    return gbps


@part
def copy_link(links: Links, traffic: Traffic, copy: Traffic, link: int) -> None:
    """Copy a link with its list of jobs; `copy_job` copies the jobs themselves."""
    copy.num_on_link[link] = traffic.num_on_link[link]
    copy.shared_gbps[link] = traffic.shared_gbps[link]
    first = links.link_first[link]
    for at in range(first, first + traffic.num_on_link[link]):
        entry = traffic.on_link[at]
        copy.on_link[at] = entry
        copy.entry_place[entry] = traffic.entry_place[entry]


@part
def copy_job(links: Links, traffic: Traffic, copy: Traffic, job: int) -> None:
    """Make a running job of a copy what it is."""
    first = links.entry_first[job]
    for entry in range(first, first + traffic.num_links[job]):
        copy.entry_link[entry] = traffic.entry_link[entry]
        copy.entry_place[entry] = traffic.entry_place[entry]
    copy.num_links[job] = traffic.num_links[job]
    copy.num_servers[job] = traffic.num_servers[job]
    copy.free_gbps[job] = traffic.free_gbps[job]
    copy_pace(traffic, copy, job)


@part
def copy_pace(traffic: Traffic, copy: Traffic, job: int) -> None:
    """Give a running job of a copy the bandwidth it has."""
    copy.gbps[job] = traffic.gbps[job]
