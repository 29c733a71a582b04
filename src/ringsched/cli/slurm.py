"""`ringsched slurm`: the cluster as a scenario, submission, the controller, its status, a Slurm to try."""

from __future__ import annotations

import contextlib
import json
import shlex
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import Any

import click

from ringsched.cli.files import check_output, put_scenario, written_line
from ringsched.cli.options import FILE, json_option, output_option
from ringsched.cli.slurm_status import print_status
from ringsched.clusters.slurm.commands import Commands, DryRun, SlurmCommands
from ringsched.clusters.slurm.controller import Controller, Planner
from ringsched.clusters.slurm.local import LocalCluster
from ringsched.clusters.slurm.network import Network, default_partition, load_network, usual_network
from ringsched.clusters.slurm.run import alone, run
from ringsched.clusters.slurm.snapshot import Snapshot, read_slurm, snapshot_of
from ringsched.clusters.slurm.status import status_of
from ringsched.clusters.slurm.submit import Prediction, predict, submit, tidy
from ringsched.errors import InputError
from ringsched.model import OBJECTIVES
from ringsched.model.checks import integer
from ringsched.phrases import seconds

Command = Callable[..., Any]
MOST_SECONDS = 86400
MOST_NODES = 200
WATCH_S = 2.0


@dataclass(frozen=True)
class Site:
    """The cluster that the options of a command mean."""

    commands: Commands
    network: Network
    partition_given: str | None

    @cached_property
    def partition(self) -> str:
        """The partition; Slurm is asked for its default only when it is needed."""
        given = self.partition_given
        return default_partition(self.commands) if given is None else given

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now."""
        return snapshot_of(read_slurm(self.commands, self.partition, time.time()), self.network)


def with_site(command: Command) -> Command:
    """Add the options that say which cluster is meant, and how fast its links are."""

    @wraps(command)
    def on_site(
        *given: Any, partition: str | None, network: Path | None, command_timeout: float, **named: Any
    ) -> None:
        check_seconds("--command-timeout", command_timeout)
        speeds = usual_network() if network is None else load_network(network)
        command(*given, site=Site(SlurmCommands(timeout_s=command_timeout), speeds, partition), **named)

    for option in (
        click.option("--command-timeout", metavar="S", type=float, default=30.0, show_default=True,
                     help="Seconds after which a command of Slurm has failed."),
        click.option("--network", metavar="FILE", type=FILE,
                     help="Speeds and contention; default $RINGSCHED_NETWORK, /etc/ringsched/network.toml."),
        click.option("--partition", metavar="NAME", help="Default: the cluster's default partition."),
    ):  # fmt: skip
        on_site = option(on_site)
    return on_site


def with_planner(command: Command) -> Command:
    """Add the options that say how the queue is planned; they are checked before anything is done."""

    @wraps(command)
    def planned(
        *given: Any,
        policy: str,
        objective: str,
        time_limit: float | None,
        iterations: int | None,
        **named: Any,
    ) -> None:
        planner = Planner(policy=policy, objective=objective, time_limit_s=time_limit, iterations=iterations)
        try:
            planner.check()
        except InputError as error:
            raise InputError(error.problem, field=f"--{error.field or 'policy'}") from None
        command(*given, planner=planner, **named)

    for option in (
        click.option("--iterations", metavar="N", type=int, help="End the search after N schedules."),
        click.option("--time-limit", metavar="S", type=float,
                     help="End the search after S seconds.  [default: 0.3]"),
        click.option("--objective", metavar="NAME", default=OBJECTIVES[0], show_default=True,
                     help=f"What the search makes small: {', '.join(OBJECTIVES)}."),
        click.option("--policy", metavar="NAME", default="rolling", show_default=True,
                     help="A short search on the present queue, or a name out of `ringsched policies`."),
    ):  # fmt: skip
        planned = option(planned)
    return planned


def check_seconds(option: str, value: float) -> None:
    """Refuse what nobody can wait for."""
    if not 0 < value <= MOST_SECONDS:
        raise InputError(f"must be > 0 and at most {MOST_SECONDS}, not {value:g}", field=option)


@click.group("slurm")
def slurm_command() -> None:
    """Plan the queue of a Slurm cluster, and carry the plan out.

    Users' jobs are held Slurm jobs that carry their model in a comment; the controller gives each its exact
    placement and releases it when its GPUs are free. Slurm is the database: nothing else is kept.
    """


@slurm_command.command("cluster")
@output_option("Write it there.")
@with_site
def cluster_command(output: Path | None, site: Site) -> None:
    """The cluster and its queue as a scenario, whose time 0 is now.

    Switches that tell nodes apart are taken over; GPUs out of use become unavailable; jobs that run become
    running jobs.
    """
    check_output(output)
    put_scenario(site.snapshot().scenario, output)
    if output is not None:
        click.echo(written_line(output))


@slurm_command.command("submit", context_settings={"allow_interspersed_args": False})
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
@with_site
def submit_command(
    script: Path,
    arguments: tuple[str, ...],
    options: tuple[str, ...],
    no_prediction: bool,
    as_json: bool,
    site: Site,
    **fields: Any,
) -> None:
    """Submit a training job, to be started by the plan.

    A thin wrapper of `sbatch --hold`: prints the job's id, and when and where it would run by a plan of now.
    What follows SCRIPT is passed on to it word by word.
    """
    stated = {key: value for key, value in fields.items() if value is not None}
    try:
        job_id = submit(site.commands, stated, script, arguments, partition=site.partition, options=options)
    except InputError as error:
        if error.place != "comment" or error.field is None:
            raise
        option = error.field.removesuffix("_s").replace("_", "-")
        raise InputError(error.problem, field=f"--{option}") from None
    if not as_json:
        click.echo(f"submitted job {job_id}")
    prediction: Prediction | str = ""
    if not no_prediction:
        snapshot = site.snapshot()
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


@slurm_command.command("run")
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
@with_site
def run_command(
    planner: Planner,
    once: bool,
    until_idle: bool,
    dry_run: bool,
    interval: float,
    start_timeout: float,
    site: Site,
) -> None:
    """The controller: plan the queue, place and release jobs.

    Runs until it is stopped, and can be killed at any point and started again. Needs an operator's rights
    in Slurm, and root's to start other users' jobs on unequal numbers of GPUs.
    """
    for option, value in (("--interval", interval), ("--start-timeout", start_timeout)):
        check_seconds(option, value)
    controller = Controller(
        commands=DryRun(real=site.commands, show=click.echo) if dry_run else site.commands,
        clock=time.time,
        network=site.network,
        partition=site.partition,
        planner=planner,
        start_timeout_s=start_timeout,
        say=(lambda line: click.echo(line, err=True)) if dry_run else _say,
    )
    with contextlib.nullcontext() if dry_run else alone(site.partition):
        run(controller, interval_s=interval, wait=time.sleep, once=once or dry_run, until_idle=until_idle)


def _say(line: str) -> None:
    """Print a line at once, also into a pipe or a log; names in it may hold anything."""
    click.echo(line.encode("utf-8", "backslashreplace").decode())


@slurm_command.command("status")
@with_planner
@click.option("--watch", is_flag=True, help="Look again every two seconds, until Ctrl-C.")
@json_option("Print JSON, with --watch a line each time.")
@with_site
def status_command(planner: Planner, watch: bool, as_json: bool, site: Site) -> None:
    """Servers, running jobs, contention now, the queue and its plan.

    The plan is one of this moment; the controller plans anew whenever something happens.
    """
    while True:
        status = status_of(site.snapshot(), planner)
        if as_json:
            click.echo(json.dumps(asdict(status), indent=None if watch else 1))
        else:
            if watch:
                click.clear()
            print_status(status)
        if not watch:
            return
        time.sleep(WATCH_S)


@slurm_command.command("local")
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
