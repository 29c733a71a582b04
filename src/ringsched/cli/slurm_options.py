"""Options that the commands of `ringsched slurm` share, and what they stand for."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ringsched.cli.options import FILE
from ringsched.errors import InputError
from ringsched.model import OBJECTIVES

if TYPE_CHECKING:
    from ringsched.clusters.slurm.commands import SlurmCommands
    from ringsched.clusters.slurm.controller import Planner
    from ringsched.clusters.slurm.network import Network
    from ringsched.clusters.slurm.snapshot import Snapshot

Command = Callable[..., Any]
MOST_SECONDS = 86400


def with_cluster(command: Command) -> Command:
    """Add what says which cluster is meant, and how fast its links are."""
    for option in (
        click.option("--command-timeout", metavar="S", type=float, default=30.0, show_default=True,
                     help="Seconds after which a command of Slurm has failed."),
        click.option("--network", metavar="FILE", type=FILE,
                     help="Speeds and contention; default $RINGSCHED_NETWORK, /etc/ringsched/network.toml."),
        click.option("--partition", metavar="NAME", help="Default: the cluster's default partition."),
    ):  # fmt: skip
        command = option(command)
    return command


def with_planner(command: Command) -> Command:
    """Add what says how the queue is planned."""
    for option in (
        click.option("--iterations", metavar="N", type=int, help="End the search after N schedules."),
        click.option("--time-limit", metavar="S", type=float,
                     help="End the search after S seconds.  [default: 0.3]"),
        click.option("--objective", metavar="NAME", default=OBJECTIVES[0], show_default=True,
                     help=f"What the search makes small: {', '.join(OBJECTIVES)}."),
        click.option("--policy", metavar="NAME", default="rolling", show_default=True,
                     help="A short search on the present queue, or a name out of `ringsched policies`."),
    ):  # fmt: skip
        command = option(command)
    return command


def check_seconds(option: str, value: float) -> None:
    """Refuse what nobody can wait for."""
    if not 0 < value <= MOST_SECONDS:
        raise InputError(f"must be > 0 and at most {MOST_SECONDS}, not {value:g}", field=option)


def commands_of(timeout_s: float) -> SlurmCommands:
    """Return Slurm's commands."""
    from ringsched.clusters.slurm.commands import SlurmCommands

    check_seconds("--command-timeout", timeout_s)
    return SlurmCommands(timeout_s=timeout_s)


def partition_of(commands: SlurmCommands, partition: str | None) -> str:
    """Return the partition that is meant."""
    from ringsched.clusters.slurm.network import default_partition

    return default_partition(commands) if partition is None else partition


def network_of(network: Path | None) -> Network:
    """Return the network that is meant."""
    from ringsched.clusters.slurm.network import load_network, usual_network

    return usual_network() if network is None else load_network(network)


def planner_of(policy: str, objective: str, time_limit: float | None, iterations: int | None) -> Planner:
    """Return the planner, checked before anything is done for it."""
    from ringsched.clusters.slurm.controller import Planner

    planner = Planner(policy=policy, objective=objective, time_limit_s=time_limit, iterations=iterations)
    try:
        planner.check()
    except InputError as error:
        field = f"--{error.field}" if error.field else "--policy"
        raise InputError(error.problem, field=field) from None
    return planner


def snapshot_now(commands: SlurmCommands, partition: str, network: Network) -> Snapshot:
    """Return the cluster as it is now."""
    from ringsched.clusters.slurm.snapshot import read_slurm, snapshot_of

    return snapshot_of(read_slurm(commands, partition, time.time()), network)
