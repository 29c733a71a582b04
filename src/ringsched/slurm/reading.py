"""What Slurm says of a partition at one moment."""

from __future__ import annotations

from dataclasses import dataclass

from ringsched.slurm.commands import Commands
from ringsched.slurm.jobs import SlurmJob, read_jobs
from ringsched.slurm.nodes import Node, read_nodes
from ringsched.slurm.topology import Topology, read_topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What Slurm said, and when."""

    now_s: float
    partition: str
    nodes: tuple[Node, ...]
    topology: Topology
    jobs: tuple[SlurmJob, ...]


def read_slurm(commands: Commands, partition: str, now_s: float) -> Reading:
    """Ask Slurm for nodes, switches and jobs."""
    nodes = read_nodes(commands, partition)
    topology = read_topology(commands, [node.name for node in nodes])
    jobs = read_jobs(commands)
    return Reading(now_s=now_s, partition=partition, nodes=nodes, topology=topology, jobs=jobs)
