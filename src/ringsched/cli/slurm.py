"""`ringsched slurm`: the cluster as a scenario, submission, the controller, its status, a Slurm to try."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import Any

import click

from ringsched.cli.command import Group, option
from ringsched.cli.files import check_output, put_scenario, written_line
from ringsched.cli.options import FILE, OBJECTIVE, json_option, output_option
from ringsched.cli.slurm_status import print_status
from ringsched.cli.values import DURATION, Name
from ringsched.clusters.controller import Controller, run
from ringsched.clusters.network import Network, load_network, usual_network
from ringsched.clusters.planning import ROLLING, Planner
from ringsched.clusters.slurm.backend import SlurmBackend
from ringsched.clusters.slurm.commands import Commands, DryRun, SlurmCommands
from ringsched.clusters.slurm.jobs import read_jobs
from ringsched.clusters.slurm.lease import Fenced, Lease, held
from ringsched.clusters.slurm.local import LocalCluster
from ringsched.clusters.slurm.nodes import default_partition
from ringsched.clusters.slurm.snapshot import SlurmSnapshot, read_slurm, snapshot_of
from ringsched.clusters.slurm.status import status_of
from ringsched.clusters.slurm.submit import Prediction, predict, submit
from ringsched.errors import InputError, UnknownName
from ringsched.formats.catalogue import CATALOGUE
from ringsched.formats.job_description import BYTES, SHARDINGS
from ringsched.formatting import duration
from ringsched.jit import plain_python
from ringsched.model import OBJECTIVES
from ringsched.model.checks import integer
from ringsched.policies.table import policies

Command = Callable[..., Any]
MOST_SECONDS = 86400
MOST_NODES = 200
WATCH_S = 2.0
PLANNER = Name("policy", lambda _: [ROLLING, *(policy.name for policy in policies())])


@dataclass(frozen=True)
class Site:
    """The cluster that the options of a command mean."""

    timeout_s: float
    network: Network
    partition_given: str | None

    @cached_property
    def commands(self) -> Commands:
        """Slurm's commands."""
        return SlurmCommands(timeout_s=self.timeout_s)

    @cached_property
    def partition(self) -> str:
        """The partitions, separated by commas; Slurm is asked for its default only when it is needed."""
        given = self.partition_given
        return default_partition(self.commands) if given is None else given

    def snapshot(self) -> SlurmSnapshot:
        """Return the cluster as it is now."""
        return snapshot_of(read_slurm(self.commands, self.partitions, time.time()), self.network)

    @property
    def partitions(self) -> tuple[str, ...]:
        """The same, by name."""
        return tuple(name for name in self.partition.split(",") if name)


def _checked_s(_: click.Context, option: click.Parameter, value: float) -> float:
    """Raise if a duration is not positive, or longer than a day."""
    if not 0 < value <= MOST_SECONDS:
        raise InputError(f"must be > 0 and at most {MOST_SECONDS}, not {value:g}", field=option.opts[0])
    return value


seconds_option = partial(option, metavar="DURATION", type=DURATION, show_default=True, callback=_checked_s)


def with_site(command: Command) -> Command:
    """Add the options that say which cluster is meant, and how fast its links are."""

    @wraps(command)
    def on_site(
        *given: Any, partition: str | None, network: Path | None, command_timeout: float, **named: Any
    ) -> None:
        speeds = usual_network() if network is None else load_network(network)
        command(*given, site=Site(command_timeout, speeds, partition), **named)

    for each in (
        seconds_option("--command-timeout", default="30s", help="Timeout for each Slurm command."),
        option("--network", metavar="FILE", type=FILE,
                     stated="$RINGSCHED_NETWORK, /etc/ringsched/network.toml",
                     help="Link speeds and contention."),
        option("--partition", metavar="NAME", stated="the default partition",
                     help="Partition, or several separated by commas."),
    ):  # fmt: skip
        on_site = each(on_site)
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
        _check_planner(planner)
        command(*given, planner=planner, **named)

    for each in (
        option("--max-schedules", "iterations", metavar="N", type=int,
                     help="End the search after N tried schedules."),
        option("--time-limit", metavar="DURATION", type=DURATION,
                     help="End the search after this time.  [default: 300ms]"),
        option("--objective", metavar="NAME", default=OBJECTIVES[0], show_default=True,
                     type=OBJECTIVE, help=f"Objective to minimise: {', '.join(OBJECTIVES)}."),
        option("--policy", metavar="NAME", type=PLANNER, default=ROLLING, show_default=True,
                     help="rolling (a short search of the present queue), or one of `ringsched policies`."),
    ):  # fmt: skip
        planned = each(planned)
    return planned


def _check_planner(planner: Planner) -> None:
    if planner.policy != ROLLING and planner.policy not in (known := [policy.name for policy in policies()]):
        raise UnknownName("policy", planner.policy, [ROLLING, *known], field="--policy")
    try:
        planner.check()
    except InputError as error:
        raise InputError(error.problem, field=f"--{error.field or 'policy'}") from None


@click.group("slurm", cls=Group)
def slurm_command() -> None:
    """Plan the queue of a Slurm cluster and run the plan.

    Users' jobs are held Slurm jobs with their model in a comment. The controller gives each job its placement
    and releases it when its GPUs are free. All state is kept in Slurm.
    """


@slurm_command.command("cluster")
@output_option("Write the scenario here instead of printing it.")
@with_site
def cluster_command(output: Path | None, site: Site) -> None:
    """Print the cluster and its queue as a scenario; its time 0 is now.

    Switches of topology.conf are included, except those above all nodes of the partition. Free GPUs of
    nodes that get no new jobs become unavailable. Running jobs stay where they are.
    """
    check_output(output)
    put_scenario(site.snapshot().scenario, output)
    if output is not None:
        click.echo(written_line(output))


@slurm_command.command("submit", context_settings={"allow_interspersed_args": False})
@click.argument("script", metavar="SCRIPT", type=FILE)
@click.argument("arguments", metavar="[ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
@option("--gpus", metavar="N", type=int, required=True, help="Number of GPUs, one task on each.")
@option("--iterations", metavar="N", type=int, required=True, help="Training iterations.")
@option(
    "--model",
    metavar="NAME",
    type=Name("model", CATALOGUE),
    help="Model of the catalogue, for the fields that no option states.",
)
@option("--iteration-ms", metavar="X", type=float, help="Forward and backward pass of one micro-batch.")
@option("--parameters-m", metavar="X", type=float, help="Trained parameters, in millions.")
@option("--precision", metavar="TYPE", type=Name("precision", BYTES), help="Type of the gradients sent.")
@option("--accumulation", metavar="N", type=int, help="Micro-batches per exchange.")
@option("--bucket-mib", metavar="X", type=float, help="Cap of a gradient bucket; the default of DDP is 25.")
@option("--sharding", metavar="NAME", type=Name("sharding", SHARDINGS), help="Sharding: none or fsdp.")
@option("--gradient-mb", metavar="X", type=float, help="Size of the gradients in MB.")
@option("--minibatch", metavar="N", type=int, help="Samples per GPU and iteration.")
@option("--forward-ms", metavar="X", type=float, help="Forward pass of one sample, in ms.")
@option("--backward-ms", metavar="X", type=float, help="Backward pass of the whole minibatch, in ms.")
@option(
    "--buckets",
    metavar="N",
    type=int,
    stated="1",
    help="Number of gradient buckets that DDP sends during the backward pass.",
)
@option("--weight", metavar="X", type=float, help="Weight in weighted objectives.")
@option("--server-slack", metavar="X", type=float, help="server_slack (lambda), for policies that use it.")
@option("--estimate", "estimate_s", metavar="DURATION", type=DURATION, help="Estimated duration of the job.")
@option(
    "--sbatch",
    "options",
    metavar="OPTION",
    multiple=True,
    help="Additional option for sbatch, such as --sbatch=--time=60. Repeatable.",
)
@option(
    "--policy",
    metavar="NAME",
    type=PLANNER,
    default=ROLLING,
    show_default=True,
    help="Policy for the prediction; use that of the controller.",
)
@option("--no-prediction", is_flag=True, help="Print the job id only, without a prediction.")
@json_option("Print JSON.")
@with_site
def submit_command(
    script: Path,
    arguments: tuple[str, ...],
    options: tuple[str, ...],
    policy: str,
    no_prediction: bool,
    as_json: bool,
    site: Site,
    **fields: Any,
) -> None:
    """Submit a training job for the controller to start.

    Calls `sbatch --hold`, and prints the id and a prediction of when and where the job will run. ARGUMENTS
    are passed to the script.
    """
    planner = Planner(policy=policy)
    _check_planner(planner)
    for written in options:
        if not written.startswith("-"):
            raise InputError(
                f"must be an option such as --sbatch=--time=60, not {written!r}", field="--sbatch"
            )
    stated = {key: value for key, value in fields.items() if value is not None}
    try:
        job_id = submit(
            site.commands, stated, script, arguments, partition=site.partition_given, options=options
        )
    except InputError as error:
        if error.place != "comment" or error.field is None:
            raise
        raise _option_error(error, stated) from None
    if not as_json:
        click.echo(f"submitted job {job_id}")
    prediction: Prediction | str = ""
    if not no_prediction:
        if site.partition_given is None:  # sbatch has chosen it
            chosen = {job.id: job.partition for job in read_jobs(site.commands)}
            site = replace(site, partition_given=chosen.get(str(job_id)))
        with plain_python():
            prediction = predict(site.snapshot(), planner, job_id)
    if as_json:
        said = {"reason": prediction} if isinstance(prediction, str) else asdict(prediction)
        click.echo(json.dumps({"id": job_id} | ({} if no_prediction else said)))
    elif isinstance(prediction, Prediction):
        where = " ".join(f"{server}:{count}" for server, count in prediction.servers.items())
        click.echo(
            f"predicted: starts in {duration(prediction.start_s)}, ends in {duration(prediction.finish_s)}, "
            f"on {where}"
        )
    elif prediction:
        click.echo(f"no prediction: {prediction}")


_MODEL = ("gradient_mb", "minibatch", "forward_ms", "backward_ms")


def _option_error(error: InputError, given: Mapping[str, Any]) -> InputError:
    """Return an error about a field of the comment as one about an option."""
    if error.field in _MODEL and error.field not in given:
        return InputError(
            "the model is missing; give --model NAME, or --gradient-mb, --minibatch, --forward-ms and "
            "--backward-ms"
        )
    return InputError(error.problem, field=f"--{(error.field or '').removesuffix('_s').replace('_', '-')}")


@slurm_command.command("run")
@with_planner
@option("--once", is_flag=True, help="Poll once, release the jobs that can start, and end.")
@option("--until-idle", is_flag=True, help="End when no job waits or runs.")
@option(
    "--dry-run",
    is_flag=True,
    help="Print every command that would change something, and run none; implies --once.",
)
@seconds_option("--poll-interval", default="5s", help="Time between two polls of the queue.")
@seconds_option("--start-timeout", default="1min", help="Time that Slurm has to start a released job.")
@with_site
def run_command(
    planner: Planner,
    once: bool,
    until_idle: bool,
    dry_run: bool,
    poll_interval: float,
    start_timeout: float,
    site: Site,
) -> None:
    """Run the controller: plan the queue, place and release jobs.

    Runs until it is stopped. It can be killed at any point and started again. Needs operator rights in Slurm,
    not root. Of several controllers one is active; another takes over within 20 s if it fails.
    """
    say = (lambda line: click.echo(line, err=True)) if dry_run else _say
    lease = Lease(commands=site.commands)
    timely = SlurmCommands(timeout_s=site.timeout_s, left_s=lease.left_s)
    commands: Commands = Fenced(real=timely, lease=lease)
    if dry_run:
        commands = DryRun(real=site.commands, show=click.echo)
    backend = SlurmBackend(
        commands=commands,
        clock=time.time,
        network=site.network,
        partitions=site.partitions,
        start_timeout_s=start_timeout,
        say=say,
    )
    controller = Controller(backend=backend, planner=planner, say=say)
    if dry_run:
        run(controller, interval_s=poll_interval, wait=time.sleep, once=True)
        return
    held(
        lease,
        lambda wait: run(controller, interval_s=poll_interval, wait=wait, once=once, until_idle=until_idle),
        wait=time.sleep,
        say=say,
        once=once,
    )


def _say(line: str) -> None:
    """Print a line at once, also into a pipe or a log; names in it may hold anything."""
    click.echo(line.encode("utf-8", "backslashreplace").decode())


@slurm_command.command("status")
@with_planner
@option("--watch", is_flag=True, help="Refresh every two seconds, until Ctrl-C.")
@json_option("Print JSON; with --watch one line per refresh.")
@with_site
def status_command(planner: Planner, watch: bool, as_json: bool, site: Site) -> None:
    """Show servers, running jobs, contention, the queue and its plan.

    The plan is made now, by --policy; the controller plans again whenever a job arrives or ends.
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
@option(
    "--servers", metavar="N", type=int, default=4, show_default=True, help="Number of servers (Slurm nodes)."
)
@option(
    "--gpus-per-server",
    "gpus",
    metavar="A,B,...",
    default="8",
    show_default=True,
    help="GPUs of each server, or one number for all.",
)
@option("--racks", "switches", metavar="N", type=int, default=0, help="Distribute the servers over N racks.")
@option(
    "--directory",
    "directory",
    metavar="DIR",
    type=FILE,
    default=Path("slurm-local"),
    show_default=True,
    help="Directory for its files.",
)
@option("--stop", is_flag=True, help="Stop the cluster and its jobs, and remove the directory.")
def local_command(servers: int, gpus: str, switches: int, directory: Path, stop: bool) -> None:
    """Start or stop a real Slurm with fake GPUs on this machine.

    For tests and demonstrations: many servers on one machine, without special rights. Needs slurm-wlm and
    munge.
    """
    cluster = LocalCluster(directory)
    if stop:
        if not directory.exists():
            raise InputError("there is no such directory", file=str(directory))
        cluster.stop()
        click.echo(f"stopped; {directory} is removed")
        return
    each = _gpus(gpus, servers)
    integer(switches, "--racks", minimum=0, maximum=servers)
    cluster.start(each, switches)
    click.echo(f"{len(each)} nodes with {sum(each)} GPUs are up; commands find them by")
    # Relative as it was given, so that the line can be shown and typed anywhere.
    before = "" if directory.is_absolute() else '"$PWD"/'
    click.echo(f"export SLURM_CONF={before}{shlex.quote(str(directory / 'etc' / 'slurm.conf'))}")


def _gpus(text: str, servers: int) -> list[int]:
    integer(servers, "--servers", minimum=1, maximum=MOST_NODES)
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"must be numbers separated by commas, not {text!r}", field="--gpus-per-server"
        ) from None
    for count in counts:
        integer(count, "--gpus-per-server", minimum=1, maximum=128)
    if len(counts) not in (1, servers):
        raise InputError(f"names {len(counts)} servers, --servers says {servers}", field="--gpus-per-server")
    return counts * servers if len(counts) == 1 else counts
