"""Network and jobs as arrays for the kernels of this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ringsched.contention.iteration_time import Work
from ringsched.contention.max_min import Filling
from ringsched.contention.model import COUNTING, PHASES, ContentionModel, PythonModel
from ringsched.contention.network import Network
from ringsched.contention.phases import NOT_MET, Meetings
from ringsched.contention.traffic import NUM_COUNTS, Links, Traffic

if TYPE_CHECKING:
    from ringsched.contention.traffic import Integers


def links_of(
    network: Network,
    model: ContentionModel,
    latency_s: float,
    works: Sequence[Work],
    *,
    gpus: Integers,
    most_links: Integers,
    most_jobs: Integers,
) -> Links:
    """Return the links of a network as arrays, with room for all jobs.

    Parameters
    ----------
    latency_s
        Per server that a job uses.
    most_links
        Of each job: how many links it may cross.
    most_jobs
        Of each link: how many jobs may be on it at a time.
    """
    parts = np.array(works, dtype=np.float64).reshape(-1, 3)
    uplink_gbps = np.array(network.uplink_gbps, dtype=np.float64)
    numbers = range(1, 1 + max(1, int(most_jobs.max(initial=0))))
    factor = np.array([1.0, *(model.factor(number) for number in numbers)])
    return Links(
        kernel=model.kernel,
        python=model if isinstance(model, PythonModel) else None,
        silent_jobs_contend=model.silent_jobs_contend,
        num_servers=network.num_servers,
        intra_gbps=network.intra_server_gbps,
        latency_s=latency_s,
        uplink_gbps=uplink_gbps,
        alone_gbps=uplink_gbps / model.alone_factor(),
        parent_of=np.array(network.parent_of, dtype=np.int64),
        link_first=offsets(most_jobs),
        factor=factor,
        gpus=gpus,
        entry_first=offsets(most_links),
        exchange_gbit=parts[:, 0].copy(),
        reduce_s=parts[:, 1].copy(),
        compute_s=parts[:, 2].copy(),
        entry_job=np.repeat(np.arange(len(works), dtype=np.int32), most_links),
    )


def offsets(sizes: Integers) -> Integers:
    """Return where each of several lists begins, one after another, and where the last ends."""
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))


def new_traffic(links: Links) -> Traffic:
    """Return a network without jobs, with room for all of them."""
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
