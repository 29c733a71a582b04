"""`ringsched slurm run`."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import click

from ringsched.cli.slurm_options import (
    check_seconds,
    commands_of,
    network_of,
    partition_of,
    planner_of,
    with_cluster,
    with_planner,
)


@click.command("run")
@with_planner
@click.option("--once", is_flag=True, help="Look once, release what can start, and end.")
@click.option("--until-idle", is_flag=True, help="End when no job waits or runs any more.")
@click.option("--dry-run", is_flag=True, help="Print every command instead of running it; implies --once.")
@click.option(
    "--interval", metavar="S", type=float, default=5.0, show_default=True, help="Seconds between two looks."
)
@click.option(
    "--start-timeout",
    metavar="S",
    type=float,
    default=60.0,
    show_default=True,
    help="Seconds that Slurm has to start a job.",
)
@with_cluster
def run_command(
    policy: str,
    objective: str,
    time_limit: float | None,
    iterations: int | None,
    once: bool,
    until_idle: bool,
    dry_run: bool,
    interval: float,
    start_timeout: float,
    partition: str | None,
    network: Path | None,
    command_timeout: float,
) -> None:
    """The controller: plan the queue, place and release jobs.

    Runs until it is stopped, and can be killed at any point and started again. Needs an operator's rights
    in Slurm, and root's to start other users' jobs on unequal numbers of GPUs.
    """
    from ringsched.slurm.commands import Commands
    from ringsched.slurm.controller import Controller
    from ringsched.slurm.dry_run import DryRun
    from ringsched.slurm.run import alone, run

    for option, value in (("--interval", interval), ("--start-timeout", start_timeout)):
        check_seconds(option, value)
    real = commands_of(command_timeout)
    planner = planner_of(policy, objective, time_limit, iterations)
    speeds = network_of(network)
    name = partition_of(real, partition)
    commands: Commands = DryRun(real=real, show=click.echo) if dry_run else real
    controller = Controller(
        commands=commands,
        clock=time.time,
        network=speeds,
        partition=name,
        planner=planner,
        start_timeout_s=start_timeout,
        say=(lambda line: click.echo(line, err=True)) if dry_run else _say,
    )
    with contextlib.nullcontext() if dry_run else alone(name):
        run(controller, interval_s=interval, wait=time.sleep, once=once or dry_run, until_idle=until_idle)


def _say(line: str) -> None:
    """Print a line at once, also into a pipe or a log; names in it may hold anything."""
    click.echo(line.encode("utf-8", "backslashreplace").decode())
