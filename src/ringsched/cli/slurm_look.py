"""`ringsched slurm cluster` and `ringsched slurm status`: they look, and change nothing."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path

import click

from ringsched.cli.scenario_output import check_output, put_scenario, written_line
from ringsched.cli.slurm_options import (
    commands_of,
    network_of,
    partition_of,
    planner_of,
    snapshot_now,
    with_cluster,
    with_planner,
)

WATCH_S = 2.0


@click.command("cluster")
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write it there.")
@with_cluster
def cluster_command(
    output: Path | None, partition: str | None, network: Path | None, command_timeout: float
) -> None:
    """The cluster and its queue as a scenario, whose time 0 is now.

    Switches that tell nodes apart are taken over; GPUs out of use become unavailable; jobs that run become
    running jobs.
    """
    check_output(output)
    commands, speeds = commands_of(command_timeout), network_of(network)
    snapshot = snapshot_now(commands, partition_of(commands, partition), speeds)
    put_scenario(snapshot.scenario, output)
    if output is not None:
        click.echo(written_line(output))


@click.command("status")
@with_planner
@click.option("--watch", is_flag=True, help="Look again every two seconds, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with --watch a line each time.")
@with_cluster
def status_command(
    policy: str,
    objective: str,
    time_limit: float | None,
    iterations: int | None,
    watch: bool,
    as_json: bool,
    partition: str | None,
    network: Path | None,
    command_timeout: float,
) -> None:
    """Servers, running jobs, contention now, the queue and its plan.

    The plan is one of this moment; the controller plans anew whenever something happens.
    """
    from ringsched.slurm.status import status_of

    commands, speeds = commands_of(command_timeout), network_of(network)
    planner = planner_of(policy, objective, time_limit, iterations)
    name = partition_of(commands, partition)
    while True:
        status = status_of(snapshot_now(commands, name, speeds), planner)
        if as_json:
            click.echo(json.dumps(asdict(status), indent=None if watch else 1))
        else:
            from ringsched.cli.slurm_tables import print_status

            if watch:
                click.clear()
            print_status(status)
        if not watch:
            return
        time.sleep(WATCH_S)
