"""The cluster, contention and time of an imported trace."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import NamedTuple

from ringsched.errors import InputError
from ringsched.formats.decode import parse
from ringsched.formats.files import read_text
from ringsched.formats.scenario import load_scenario
from ringsched.model import Cluster, Contention, Time
from ringsched.model.checks import MAX_GPUS, integer, shown

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
        return Cluster.of_servers(switches * nodes, gpus, switches=switches if switches > 1 else 0)
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


NUM_SERVERS = 64
GPUS_PER_SERVER = 8
NUM_SWITCHES = 8
CONTINUOUS = Time(model="continuous")


class Surroundings(NamedTuple):
    """A scenario without its jobs."""

    cluster: Cluster
    contention: Contention
    time: Time


def surroundings_of(cluster: object) -> Surroundings:
    """Return the surroundings given as a cluster, a file, or nothing.

    A file is a scenario (.toml or .json), of which only the jobs do not count, or a cluster
    specification of Tiresias (.csv). Time is continuous unless the file has a section `time`.

    Examples
    --------
    >>> surroundings_of(None).cluster.capacity, surroundings_of("examples/first.toml").time.slotted
    (512, True)
    """
    if cluster is None:
        servers = Cluster.of_servers(NUM_SERVERS, GPUS_PER_SERVER, switches=NUM_SWITCHES)
        return Surroundings(servers, Contention.ethernet(), CONTINUOUS)
    if isinstance(cluster, Cluster):
        return Surroundings(cluster, Contention.ethernet(), CONTINUOUS)
    if not isinstance(cluster, str | os.PathLike):
        raise InputError(f"must be a Cluster or a file, not {shown(cluster)}", field="cluster")
    path = Path(cluster)
    if path.suffix.lower() == ".csv":
        return Surroundings(cluster_of_spec(path), Contention.ethernet(), CONTINUOUS)
    scenario, stated = load_scenario(path), parse(path)
    return Surroundings(
        scenario.cluster,
        scenario.contention if "contention" in stated else Contention.ethernet(),
        scenario.time if "time" in stated else CONTINUOUS,
    )
