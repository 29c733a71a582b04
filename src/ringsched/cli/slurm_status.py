"""`ringsched slurm cluster` and `ringsched slurm status`: they look, and change nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table

from ringsched.cli.files import check_output, put_scenario, written_line
from ringsched.cli.options import json_option, output_option
from ringsched.cli.slurm_options import (
    commands_of,
    network_of,
    partition_of,
    planner_of,
    snapshot_now,
    with_cluster,
    with_planner,
)
from ringsched.cli.tables import placed, show
from ringsched.clusters.slurm.status import JobStatus, ServerStatus, Status
from ringsched.model import Placement
from ringsched.phrases import counted, figure, seconds


def print_status(status: Status) -> None:
    """Print servers, running jobs, shared links, the queue, and what is left alone."""
    gpus = sum(server.gpus for server in status.servers)
    held = sum(server.held for server in status.servers)
    unavailable = sum(server.unavailable for server in status.servers)
    parts: list[str | Table] = [
        f"partition {status.partition}: {counted(len(status.servers), 'server')}, {counted(gpus, 'GPU')}: "
        f"{held} held, {gpus - held - unavailable} free, {unavailable} unavailable"
    ]
    parts += [_server_line(server) for server in status.servers if server.unavailable]
    running = [job for job in status.jobs if job.phase in ("running", "starting")]
    queued = [job for job in status.jobs if job.phase == "queued"]
    left = [job for job in status.jobs if job.phase == "left"]
    if running:
        parts += ["", _running_table(running)]
    parts += [
        f"uplink of {link.name}: {link.jobs} jobs, each {figure(link.factor)} times slower on it"
        for link in status.shared_links
    ]
    if queued:
        parts += ["", _queue_table(queued)]
        parts.append(f"all done in {seconds(status.makespan_s)}, as planned now by {status.policy}")
    if left:
        parts += ["", _left_table(left)]
    if not status.jobs:
        parts.append("no jobs")
    show(parts)


def _server_line(server: ServerStatus) -> str:
    reason = f" ({server.reason})" if server.reason else ""
    return f"{server.name}: {server.state}{reason}, {counted(server.unavailable, 'GPU')} unavailable"


def _running_table(jobs: Sequence[JobStatus]) -> Table:
    table = _table("running", "user", right=("done", "ends in s", "predicted", "slower"), last="servers:GPUs")
    for job in jobs:
        table.add_row(
            _name(job),
            job.user,
            "starting" if job.done is None else f"{100 * job.done:.0f} %",
            _figure(job.finish_s),
            _figure(job.predicted_finish_s),
            "" if job.slowdown is None else f"{job.slowdown:.2f}",
            _servers(job.servers),
        )
    return table


def _queue_table(jobs: Sequence[JobStatus]) -> Table:
    table = _table(
        "queued", "user", right=("GPUs", "starts in s", "ends in s"), last="servers:number of GPUs"
    )
    for job in jobs:
        times = (_figure(job.start_s), _figure(job.finish_s))
        table.add_row(_name(job), job.user, str(job.gpus), *times, _servers(job.servers))
    return table


def _left_table(jobs: Sequence[JobStatus]) -> Table:
    table = _table("left held", "user", right=(), last="reason")
    for job in jobs:
        table.add_row(_name(job), job.user, _printable(job.reason))
    return table


def _table(first: str, second: str, *, right: Sequence[str], last: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(first, overflow="fold")
    table.add_column(second, no_wrap=True)
    for column in right:
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column(last, overflow="fold")
    return table


def _name(job: JobStatus) -> str:
    was = "" if job.origin is None else f" (was {job.origin})"
    return f"{job.id}{was} {_printable(job.name)}"


def _printable(text: str) -> str:
    """Return a user's text without what could steer a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _figure(value: float | None) -> str:
    return "" if value is None else figure(round(value, 1))


def _servers(servers: Mapping[str, Sequence[int] | int]) -> str:
    return " ".join(
        f"{name}:{held}" if isinstance(held, int) else placed(Placement({name: held}))
        for name, held in servers.items()
    )


WATCH_S = 2.0


@click.command("cluster")
@output_option("Write it there.")
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
@json_option("Print JSON, with --watch a line each time.")
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
    from ringsched.clusters.slurm.status import status_of

    commands, speeds = commands_of(command_timeout), network_of(network)
    planner = planner_of(policy, objective, time_limit, iterations)
    name = partition_of(commands, partition)
    while True:
        status = status_of(snapshot_now(commands, name, speeds), planner)
        if as_json:
            click.echo(json.dumps(asdict(status), indent=None if watch else 1))
        else:
            if watch:
                click.clear()
            print_status(status)
        if not watch:
            return
        time.sleep(WATCH_S)
