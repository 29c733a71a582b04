"""The cluster, contention and time of an imported trace."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ringsched.errors import InputError
from ringsched.formats.decode import parse
from ringsched.formats.files import read_text
from ringsched.formats.scenario import load_scenario
from ringsched.formats.traces.rows import TraceRow
from ringsched.model import Cluster, Contention, Scenario, Time
from ringsched.model.checks import MAX_GPUS, integer, shown
from ringsched.model.cluster import INTER_SERVER_GBPS

COLUMNS = ("num_switch", "num_node_p_switch", "num_gpu_p_node")


def cluster_of_spec(path: Path) -> Cluster:
    """Return the cluster: its switches only if there are several."""
    lines = [line for line in read_text(path).splitlines() if line.strip()]
    try:
        header, *rows = csv.reader(lines)
    except csv.Error as error:
        raise InputError(f"is not valid CSV: {error}", file=str(path)) from None
    if len(rows) != 1:
        raise InputError(f"must hold one row below its header, not {len(rows)}", file=str(path))
    cells = dict(zip((name.strip() for name in header), rows[0], strict=False))
    try:
        switches, nodes, gpus = (_count(cells, column) for column in COLUMNS)
        # Non-blocking: what all servers below a switch can send.
        above = {"switches": switches, "switch_uplink_gbps": nodes * INTER_SERVER_GBPS}
        return Cluster.of_servers(switches * nodes, gpus, **(above if switches > 1 else {}))  # type: ignore[arg-type]
    except InputError as error:
        raise error.located(place="line 2", file=str(path)) from None


def _count(cells: dict[str, str], column: str) -> int:
    if column not in cells:
        raise InputError("is missing: not a cluster specification", field=column)
    try:
        count = int(cells[column])
    except ValueError:
        problem = f"must be an integer, not {shown(cells[column].strip())}"
        raise InputError(problem, field=column) from None
    return integer(count, column, minimum=1, maximum=MAX_GPUS)


NUM_SERVERS = 64  # at least, where nothing is known
GPUS_PER_SERVER = 8
ENOUGH_FOR = 0.99  # part of the time in which a cluster of that size holds all jobs at once
CONTINUOUS = Time(model="continuous")
# The model closest to measurements, without losses that were measured on one network only.
USUAL_CONTENTION = Contention(model="phases", server_latency_ms=0.2)


class Surroundings(NamedTuple):
    """A scenario without its jobs."""

    cluster: Cluster
    contention: Contention
    time: Time


def usual_surroundings(num_gpus: int = 0) -> Surroundings:
    """Return servers of 8 GPUs below one non-blocking switch: as many as hold `num_gpus`, at least 64.

    Examples
    --------
    >>> usual_surroundings().cluster.capacity, usual_surroundings(900).cluster.capacity
    (512, 904)
    """
    servers = max(NUM_SERVERS, -(-num_gpus // GPUS_PER_SERVER))
    return Surroundings(Cluster.of_servers(servers, GPUS_PER_SERVER), USUAL_CONTENTION, CONTINUOUS)


def surroundings_of(cluster: object, field: str = "cluster") -> Surroundings:
    """Return the surroundings given as a cluster or a file.

    A file is a scenario (.toml or .json), of which only the jobs do not count, or a cluster
    specification of Tiresias (.csv). Time is continuous unless the file has a section `time`.

    Examples
    --------
    >>> surroundings_of("examples/first.toml").time.slotted
    True
    """
    if isinstance(cluster, Cluster):
        return Surroundings(cluster, USUAL_CONTENTION, CONTINUOUS)
    if isinstance(cluster, Scenario):
        return Surroundings(cluster.cluster, cluster.contention, cluster.time)
    if not isinstance(cluster, str | os.PathLike):
        raise InputError(f"must be a Cluster or a file, not {shown(cluster)}", field=field)
    path = Path(cluster)
    if path.suffix.lower() == ".csv":
        return Surroundings(cluster_of_spec(path), USUAL_CONTENTION, CONTINUOUS)
    scenario, stated = load_scenario(path), parse(path)
    return Surroundings(
        scenario.cluster,
        scenario.contention if "contention" in stated else USUAL_CONTENTION,
        scenario.time if "time" in stated else CONTINUOUS,
    )


def gpus_held(rows: Sequence[TraceRow], part: float = ENOUGH_FOR) -> int:
    """Return how many GPUs hold all jobs for this part of the time, if none had to wait longer than it did.

    Time counts from the first submit to the last. A job of which no start is recorded starts when it is
    submitted.
    """
    starts = np.array([row.submit if row.start is None else row.start for row in rows], dtype=np.float64)
    ends = starts + np.array([row.duration_s for row in rows], dtype=np.float64)
    gpus = np.array([row.gpus for row in rows], dtype=np.int64)
    last = max((row.submit for row in rows), default=0.0)
    instants = np.concatenate((starts, ends))
    changes = np.concatenate((gpus, -gpus))
    order = np.argsort(instants, kind="stable")
    instants, held = np.minimum(instants[order], last), np.cumsum(changes[order])
    lengths, held = np.diff(instants), held[:-1]
    if not lengths.sum() > 0:
        return int(held.max(initial=0))
    by_size = np.argsort(held, kind="stable")
    passed = np.cumsum(lengths[by_size])
    return int(held[by_size][np.searchsorted(passed, part * passed[-1])])
