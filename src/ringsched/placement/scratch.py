"""Room for the placement rules to work in, beside the state of the engine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.engine.arrays import Arrays, Floats, Integers


class Scratch(NamedTuple):
    """Preallocated; what stands in it has a meaning only to the rule that wrote it."""

    servers: Integers  # all servers, in order
    no_tie: Floats  # zero for each server
    order: Integers  # servers, as far as LBSGF sorted them
    selected: Integers  # which of them it took, for which job, at which version of the loads
    eligible: Integers  # GPUs
    drawn: Integers  # how many random numbers were used
    idle_below: Integers  # of each node
    taken: NDArray[np.bool_]  # of each server: chosen already, or not to be chosen
    below: Integers  # of each node: GPUs chosen at or below it
    links: Integers  # links that would be crossed ...
    num_links: Integers  # ... and how many, one number
    neighbours: Integers  # jobs on them


def new_scratch(arrays: Arrays) -> Scratch:
    """Return room for a cluster."""
    num_servers, num_gpus = arrays.num_servers, len(arrays.server_of)
    return Scratch(
        servers=np.arange(num_servers),
        no_tie=np.zeros(num_servers),
        order=np.arange(num_servers),
        selected=np.full(4, -1, dtype=np.int64),
        eligible=np.zeros(num_gpus, dtype=np.int64),
        drawn=np.zeros(1, dtype=np.int64),
        idle_below=np.zeros(len(arrays.capacity), dtype=np.int64),
        taken=np.zeros(num_servers, dtype=np.bool_),
        below=np.zeros(len(arrays.capacity), dtype=np.int64),
        links=np.zeros(len(arrays.capacity), dtype=np.int64),
        num_links=np.zeros(1, dtype=np.int64),
        neighbours=np.zeros(len(arrays.gpus), dtype=np.int64),
    )
