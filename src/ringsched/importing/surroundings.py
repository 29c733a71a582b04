"""The cluster a trace is put on, and what goes with it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from ringsched.errors import InputError
from ringsched.generate.like_servers import CONTENTION, like_servers
from ringsched.importing.cluster_spec import cluster_of_spec
from ringsched.io.decode import parse
from ringsched.io.scenario_file import load_scenario
from ringsched.model import Cluster, Contention, Time
from ringsched.model.checks import shown

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
        servers = like_servers(NUM_SERVERS, GPUS_PER_SERVER, NUM_SWITCHES)
        return Surroundings(servers, CONTENTION, CONTINUOUS)
    if isinstance(cluster, Cluster):
        return Surroundings(cluster, CONTENTION, CONTINUOUS)
    if not isinstance(cluster, str | os.PathLike):
        raise InputError(f"must be a Cluster or a file, not {shown(cluster)}", field="cluster")
    path = Path(cluster)
    if path.suffix.lower() == ".csv":
        return Surroundings(cluster_of_spec(path), CONTENTION, CONTINUOUS)
    scenario, stated = load_scenario(path), parse(path)
    return Surroundings(
        scenario.cluster,
        scenario.contention if "contention" in stated else CONTENTION,
        scenario.time if "time" in stated else CONTINUOUS,
    )
