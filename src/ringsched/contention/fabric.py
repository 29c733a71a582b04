"""The network with its contention model, as arrays for the kernels; it answers how long iterations take."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from ringsched.contention.iteration_time import Ring, Work, iteration_time_s, work_of
from ringsched.contention.max_min import Filling
from ringsched.contention.model import COUNTING, PHASES, ContentionModel, Pace, PythonModel
from ringsched.contention.network import Network, Shape, network_of, shape_of
from ringsched.contention.phases import NOT_MET, Meetings
from ringsched.contention.sharing import model_of
from ringsched.contention.traffic import NUM_COUNTS, Links, Traffic
from ringsched.model import Cluster, Contention, Job
from ringsched.model.eligibility import ANY_PARTS, Labels, balanced_sizes, matching
from ringsched.model.job import Restriction

if TYPE_CHECKING:
    from ringsched.contention.over_time import Paces
    from ringsched.contention.traffic import Floats, Integers, Links


def links_of(
    network: Network,
    model: ContentionModel,
    latency_s: float,
    works: Floats,
    *,
    gpus: Integers,
    most_links: Integers,
    most_jobs: Integers,
) -> Links:
    """Return the links of a network as arrays that are large enough for all jobs.

    Parameters
    ----------
    latency_s
        Per server that a job uses.
    works
        The fields of `Work`, each of every job.
    most_links
        Of each job: how many links it may cross.
    most_jobs
        Of each link: how many jobs may be on it at a time.
    """
    uplink_gbps = np.array(network.uplink_gbps, dtype=np.float64)
    numbers = range(1, 1 + max(1, int(most_jobs.max(initial=0))))
    factor = np.array([1.0, *(model.factor(number) for number in numbers)])
    return Links(
        kernel=model.kernel,
        python=model if isinstance(model, PythonModel) else None,
        silent_jobs_contend=model.silent_jobs_contend,
        num_servers=network.num_servers,
        inside_gbps=np.array(network.inside_gbps, dtype=np.float64),
        latency_s=latency_s,
        uplink_gbps=uplink_gbps,
        alone_gbps=uplink_gbps / model.alone_factor(),
        parent_of=np.array(network.parent_of, dtype=np.int64),
        link_first=offsets(most_jobs),
        factor=factor,
        gpus=gpus,
        entry_first=offsets(most_links),
        exchange_gbit=works[0],
        reduce_s=works[1],
        compute_s=works[2],
        backward_s=works[3],
        overlap=works[4],
        entry_job=np.repeat(np.arange(len(gpus), dtype=np.int32), most_links),
    )


def offsets(sizes: Integers) -> Integers:
    """Return where each of several lists begins, one after another, and where the last ends."""
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))


def works_of(works: Sequence[Work], at: Integers | None = None) -> Floats:
    """Return the fields of works as rows, a column for each work, or for each of those at these places."""
    columns = np.array(works, dtype=np.float64).reshape(-1, len(Work._fields)).T
    return np.ascontiguousarray(columns if at is None else columns[:, at])


def new_traffic(links: Links) -> Traffic:
    """Return the traffic of a network without jobs; its arrays are large enough for all of them."""
    num_nodes, num_jobs = len(links.uplink_gbps), len(links.gpus)
    num_entries, num_places = len(links.entry_job), int(links.link_first[-1])
    is_shared, is_phased = links.kernel != COUNTING, links.kernel == PHASES
    return Traffic(
        counts=_integers(NUM_COUNTS),
        num_on_link=_integers(num_nodes),
        shared_gbps=np.zeros(num_nodes),
        on_link=np.zeros(num_places, dtype=np.int32),
        entry_link=np.zeros(num_entries, dtype=np.int32),
        entry_place=np.zeros(num_entries, dtype=np.int32),
        num_links=_integers(num_jobs),
        num_servers=_integers(num_jobs),
        free_gbps=np.zeros(num_jobs),
        gbps=np.zeros(num_jobs),
        below=_integers(num_nodes),
        touched=_integers(num_jobs),
        touched_at=_integers(num_jobs),
        tau=np.zeros(num_jobs if is_shared else 0),
        limit=_integers(num_jobs if is_shared else 0),
        filling=_filling(num_nodes, num_jobs) if is_shared else _filling(0, 0),
        meetings=_meetings(num_jobs, num_entries, num_places) if is_phased else _meetings(0, 0, 0),
    )


def _filling(num_links: int, num_jobs: int) -> Filling:
    return Filling(
        links=_integers(num_links),
        seen=_integers(num_links),
        left=np.zeros(num_links),
        open=_integers(num_links),
        full=np.zeros(num_links, dtype=np.bool_),
        nearly_full=np.zeros(num_links, dtype=np.bool_),
        demand=np.zeros(num_jobs),
        rate=np.zeros(num_jobs),
    )


def _meetings(num_jobs: int, num_entries: int, num_places: int) -> Meetings:
    return Meetings(
        rings=_integers(num_jobs),
        on_link=np.zeros(num_places, dtype=np.int32),
        path=np.zeros(num_entries, dtype=np.int32),
        alone_gbps=np.zeros(num_jobs),
        rest_s=np.zeros(num_jobs),
        mean=np.zeros(num_jobs),
        variance=np.zeros(num_jobs),
        loading=np.full(num_jobs, NOT_MET),
        others=_integers(num_jobs),
    )


def _integers(size: int) -> Integers:
    return np.zeros(size, dtype=np.int64)


_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Fabric:
    """The links, what jobs that share them do to each other, and what every server costs."""

    network: Network
    model: ContentionModel
    latency_s: float  # per server that a job uses

    def shape(self, gpus_on: Mapping[int, int]) -> Shape:
        """Return what the network sees of a placement given as server index -> number of GPUs."""
        return shape_of(self.network, gpus_on)

    def ring(self, work: Work, shape: Shape) -> Ring:
        """Return a job as it runs on its GPUs."""
        return Ring(work, shape, self.latency_s * shape.num_servers)

    def tau(self, work: Work, num_servers: int, bandwidth_gbps: float) -> float:
        """Return eq. (8) for a job on so many servers at a bandwidth."""
        return iteration_time_s(*work, self.latency_s * num_servers, bandwidth_gbps)

    def alone_tau(self, work: Work, shape: Shape) -> float:
        """Return seconds per iteration at a placement, with no other job around."""
        alone, uplinks = self.model.alone_factor(), self.network.uplink_gbps
        gbps = min([shape.free_gbps, *(uplinks[link] / alone for link in shape.links)])
        return self.tau(work, shape.num_servers, gbps)

    def iteration_times(self, rings: Mapping[_Key, Ring]) -> dict[_Key, Pace]:
        """Return how fast each of these jobs goes while all of them run."""
        from ringsched.contention.over_time import paces_of

        jobs = list(rings.values())
        paces = paces_of(self._links(jobs), jobs, [0.0] * len(jobs), [1.0] * len(jobs), at_once=True)
        steps = zip(paces.tau.tolist(), paces.link.tolist(), strict=True)
        return {key: Pace(tau, link) for key, (tau, link) in zip(rings, steps, strict=True)}

    def paces(self, rings: Sequence[Ring], starts: Sequence[float], ends: Sequence[float]) -> Paces:
        """Return the iteration times of jobs that run from these starts to these ends, as steps."""
        from ringsched.contention.over_time import paces_of

        return paces_of(self._links(rings), rings, starts, ends)

    def _links(self, rings: Sequence[Ring]) -> Links:
        import numpy as np

        crossed = np.array([link for ring in rings for link in ring.links], dtype=np.int64)
        return links_of(
            self.network,
            self.model,
            self.latency_s,
            works_of([ring.work for ring in rings]),
            gpus=np.zeros(len(rings), dtype=np.int64),  # where they are is known already
            most_links=np.array([len(ring.links) for ring in rings], dtype=np.int64),
            most_jobs=np.bincount(crossed, minlength=len(self.network.uplink_gbps)),
        )


def fabric_of(cluster: Cluster, contention: Contention) -> Fabric:
    """Return the fabric of a cluster under these settings of contention."""
    return Fabric(network_of(cluster), model_of(contention), contention.server_latency_ms * 1e-3)


class Extremes:
    """The fastest and the slowest iteration a job can have in a fabric, whatever the plan.

    `num_spreadable_jobs` counts the jobs with two or more GPUs, which can meet on a link. The fastest
    iteration is that on some servers only, if it is said of each server whether the job may use it.
    """

    def __init__(
        self, fabric: Fabric, num_spreadable_jobs: int, may_use: Sequence[bool] | None = None
    ) -> None:
        network, model = fabric.network, fabric.model
        self._fabric = fabric
        self._num_servers = network.num_servers
        self._widest_of: dict[int, Shape] = {}
        self._best_options: dict[tuple[int, int], list[tuple[int, float]]] = {}
        self._slowest_alone_gbps = min(network.uplink_gbps)
        self._largest_server = max(network.capacity[: network.num_servers])
        usable = [at for at in range(network.num_servers) if may_use is None or may_use[at]]
        self._usable = sorted((network.capacity[at] for at in usable), reverse=True)
        self._capacity_of_largest = list(accumulate(self._usable))
        # Alone on it, a job has all of a link, or a lane if they are reserved.
        self._fastest_gbps = (
            max((network.uplink_gbps[at] for at in usable), default=0.0) / model.alone_factor()
        )
        # With every link as full as can be: no more jobs on it than GPUs below it.
        most_jobs = [max(1, min(capacity, num_spreadable_jobs)) for capacity in network.capacity]
        factor = {num_jobs: model.factor(num_jobs) for num_jobs in set(most_jobs)}
        self._slowest_gbps = min(
            uplink / factor[num_jobs] for uplink, num_jobs in zip(network.uplink_gbps, most_jobs, strict=True)
        )

    def best_case_tau(self, work: Work, gpus: int, parts: int = ANY_PARTS) -> float:
        """Return a tau below that of every placement: one server, or the fewest and fastest of several."""
        options = self._best_options.get((gpus, parts))
        if options is None:
            options = self._best_options[gpus, parts] = self._options(gpus, parts)
        tau = math.inf
        for num_servers, gbps in options:
            tau = min(tau, self._fabric.tau(work, num_servers, gbps))
        return tau

    def _options(self, gpus: int, parts: int) -> list[tuple[int, float]]:
        """Return how many servers a job may use at best, and at which bandwidth: one, or several."""
        options = []
        if parts <= 1 and self._usable and self._usable[0] >= gpus:
            options.append((1, self._fabric.network.inside(gpus)))
        if gpus >= 2 and len(self._usable) >= 2:
            fewest = self._fewest(gpus) if parts == ANY_PARTS else self._fewest_balanced(gpus, parts)
            if fewest is not None:
                options.append((fewest, self._fastest_gbps))
        return options

    def _fewest(self, gpus: int) -> int:
        """Return the fewest servers, but at least two, that hold so many GPUs."""
        return max(2, bisect_left(self._capacity_of_largest, gpus) + 1)

    def _fewest_balanced(self, gpus: int, parts: int) -> int | None:
        """Return the fewest servers, but at least two, that hold so many GPUs in equal parts."""
        sizes = balanced_sizes(gpus, len(self._usable), parts)
        return next(
            (number for number, each in sizes if number > 1 and self._usable[number - 1] >= each), None
        )

    def worst_case_tau(self, work: Work, gpus: int) -> float:
        """Return a tau above that of every placement; of a one-GPU job its best case."""
        if gpus == 1:
            return self.best_case_tau(work, gpus)
        ring = self._fabric.ring(work, self._widest(gpus))
        if self._num_servers < 2:
            return ring.tau(math.inf)
        return self._fabric.model.worst_case_tau(ring, self._slowest_alone_gbps, self._slowest_gbps)

    def _widest(self, gpus: int) -> Shape:
        """Return the shape on the most servers, at the slowest speed inside of them."""
        if gpus not in self._widest_of:
            slowest = min(self._fabric.network.speeds_inside(min(gpus, self._largest_server)))
            self._widest_of[gpus] = Shape((), min(gpus, self._num_servers), slowest)
        return self._widest_of[gpus]


class Kind(NamedTuple):
    """Jobs that are alike: their GPUs and work, and the fastest and the slowest iteration they can have."""

    gpus: int
    work: Work
    best_tau: float
    worst_tau: float


def kinds_of(
    fabric: Fabric, cluster: Cluster, examples: Sequence[tuple[Job, Restriction]], num_spreadable_jobs: int
) -> tuple[Kind, ...]:
    """Return the kinds of these jobs, one of each kind."""
    anywhere = Extremes(fabric, num_spreadable_jobs)
    extremes_of: dict[Labels, Extremes] = {}
    kinds: list[Kind] = []
    for job, (requires, parts) in examples:
        extremes, gpus, work = anywhere, job.gpus, work_of(job, cluster)
        if requires:
            if requires not in extremes_of:
                may_use = matching(cluster.servers, requires)
                extremes_of[requires] = Extremes(fabric, num_spreadable_jobs, may_use)
            extremes = extremes_of[requires]
        best = extremes.best_case_tau(work, gpus, parts)
        kinds.append(Kind(gpus, work, best, best if gpus == 1 else extremes.worst_case_tau(work, gpus)))
    return tuple(kinds)
