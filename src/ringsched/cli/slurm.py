"""`ringsched slurm`: its commands and the options they share."""

from __future__ import annotations

import contextlib
import json
import shlex
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ringsched.cli.options import FILE, json_option
from ringsched.cli.slurm_options import (
    check_seconds,
    commands_of,
    network_of,
    partition_of,
    planner_of,
    snapshot_now,
    with_cluster,
    with_planner,
)
from ringsched.cli.slurm_status import cluster_command, status_command
from ringsched.errors import InputError
from ringsched.model.checks import integer
from ringsched.phrases import seconds

if TYPE_CHECKING:
    pass


MOST_NODES = 200


@click.command("local")
@click.option("--nodes", metavar="N", type=int, default=4, show_default=True, help="How many nodes.")
@click.option(
    "--gpus", metavar="A,B,...", default="8", show_default=True, help="Of each node, or one for all."
)
@click.option(
    "--racks", "switches", metavar="N", type=int, default=0, help="Spread the nodes over N switches."
)
@click.option(
    "--folder",
    metavar="DIR",
    type=FILE,
    default=Path("slurm-local"),
    show_default=True,
    help="Where all of it is kept.",
)
@click.option("--stop", is_flag=True, help="End the cluster, its jobs too, and remove the folder.")
def local_command(nodes: int, gpus: str, switches: int, folder: Path, stop: bool) -> None:
    """Start or stop a real Slurm with fake GPUs on this machine.

    For trying out: many nodes, one machine, no special rights. Needs slurm-wlm and munge.
    """
    from ringsched.clusters.slurm.local import LocalCluster

    cluster = LocalCluster(folder)
    if stop:
        if not folder.exists():
            raise InputError("there is no such folder", file=str(folder))
        cluster.stop()
        click.echo(f"stopped; {folder} is removed")
        return
    each = _gpus(gpus, nodes)
    integer(switches, "--racks", minimum=0, maximum=nodes)
    cluster.start(each, switches)
    click.echo(f"{len(each)} nodes with {sum(each)} GPUs are up; commands find them by")
    # Relative as it was given, so that the line can be shown and typed anywhere.
    before = "" if folder.is_absolute() else '"$PWD"/'
    click.echo(f"export SLURM_CONF={before}{shlex.quote(str(folder / 'etc' / 'slurm.conf'))}")


def _gpus(text: str, nodes: int) -> list[int]:
    integer(nodes, "--nodes", minimum=1, maximum=MOST_NODES)
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"must be numbers separated by commas, not {text!r}", field="--gpus") from None
    for count in counts:
        integer(count, "--gpus", minimum=1, maximum=128)
    if len(counts) not in (1, nodes):
        raise InputError(f"names {len(counts)} nodes, --nodes says {nodes}", field="--gpus")
    return counts * nodes if len(counts) == 1 else counts


@click.command("submit", context_settings={"allow_interspersed_args": False})
@click.argument("script", metavar="SCRIPT", type=FILE)
@click.argument("arguments", metavar="[ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
@click.option("--gpus", metavar="N", type=int, required=True, help="GPUs, one task on each.")
@click.option("--iterations", metavar="N", type=int, required=True, help="Iterations of the training.")
@click.option("--model", metavar="NAME", help="Of the catalogue; else the next four.")
@click.option("--gradient-mb", metavar="X", type=float, help="Size of the gradients.")
@click.option("--minibatch", metavar="N", type=int, help="Samples per GPU and iteration.")
@click.option("--forward-ms", metavar="X", type=float, help="Forward pass per sample.")
@click.option("--backward-ms", metavar="X", type=float, help="Backward pass per iteration.")
@click.option("--weight", metavar="X", type=float, help="In weighted objectives.")
@click.option("--server-slack", metavar="X", type=float, help="Lambda, for policies that use it.")
@click.option("--estimate", "estimate_s", metavar="S", type=float, help="How long you think it takes.")
@click.option("--sbatch", "options", metavar="OPTION", multiple=True, help="One more option for sbatch.")
@click.option("--no-prediction", is_flag=True, help="Do not plan; print the job id only.")
@json_option("Print JSON.")
@with_cluster
def submit_command(
    script: Path,
    arguments: tuple[str, ...],
    options: tuple[str, ...],
    no_prediction: bool,
    as_json: bool,
    partition: str | None,
    network: Path | None,
    command_timeout: float,
    **fields: Any,
) -> None:
    """Submit a training job, to be started by the plan.

    A thin wrapper of `sbatch --hold`: prints the job's id, and when and where it would run by a plan of now.
    What follows SCRIPT is passed on to it word by word.
    """
    from ringsched.clusters.slurm.controller import Planner
    from ringsched.clusters.slurm.submit import Prediction, predict, submit, tidy

    commands, speeds = commands_of(command_timeout), network_of(network)
    name = partition_of(commands, partition)
    stated = {key: value for key, value in fields.items() if value is not None}
    try:
        job_id = submit(commands, stated, script, arguments, partition=name, options=options)
    except InputError as error:
        if error.place != "comment" or error.field is None:
            raise
        option = error.field.removesuffix("_s").replace("_", "-")
        raise InputError(error.problem, field=f"--{option}") from None
    if not as_json:
        click.echo(f"submitted job {job_id}")
    prediction: Prediction | str = ""
    if not no_prediction:
        snapshot = snapshot_now(commands, name, speeds)
        prediction = predict(snapshot, Planner(), job_id)
        tidy(snapshot)
    if as_json:
        said = {"reason": prediction} if isinstance(prediction, str) else asdict(prediction)
        click.echo(json.dumps({"id": job_id} | ({} if no_prediction else said)))
    elif isinstance(prediction, Prediction):
        where = " ".join(f"{server}:{count}" for server, count in prediction.servers.items())
        click.echo(
            f"predicted: starts in {seconds(prediction.start_s)}, ends in {seconds(prediction.finish_s)}, "
            f"on {where}"
        )
    elif prediction:
        click.echo(f"not planned: {prediction}")


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
    from ringsched.clusters.slurm.commands import Commands, DryRun
    from ringsched.clusters.slurm.controller import Controller
    from ringsched.clusters.slurm.run import alone, run

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


@click.group("slurm")
def slurm_command() -> None:
    """Plan the queue of a Slurm cluster, and carry the plan out.

    Users' jobs are held Slurm jobs that carry their model in a comment; the controller gives each its exact
    placement and releases it when its GPUs are free. Slurm is the database: nothing else is kept.
    """


_commands: tuple[Any, ...] = (cluster_command, submit_command, run_command, status_command, local_command)
for _command in _commands:
    slurm_command.add_command(_command)
