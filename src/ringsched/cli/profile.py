"""`ringsched profile`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from rich.table import Table

from ringsched.calibrate.profile.description import (
    JobProfile,
    append_entry,
    check_can_append,
    name_of,
    profile_job,
)
from ringsched.calibrate.profile.nccl_inspector import Exchange, read_inspector
from ringsched.cli.command import Command, option
from ringsched.cli.files import options_for_arguments
from ringsched.cli.options import json_option, output_option
from ringsched.cli.tables import show
from ringsched.cli.values import DURATION
from ringsched.errors import InputError
from ringsched.formatting import counted, figure


@click.command("profile", cls=Command)
@click.argument("command", metavar="-- COMMAND...", nargs=-1, type=click.UNPROCESSED)
@option("--name", metavar="NAME", stated="that of its script", help="Name of the job.")
@option(
    "--iterations",
    metavar="N",
    type=click.IntRange(min=1),
    stated="as many as ran",
    help="Iterations that the job will have.",
)
@option(
    "--time-limit",
    "time_limit_s",
    metavar="DURATION",
    type=DURATION,
    help="End the command after this time, and describe what ran.",
)
@option("--quiet", is_flag=True, help="Do not show the output of the command.")
@option(
    "--nccl-inspector", "inspector", is_flag=True, help="Read files of NCCL Inspector; give them as COMMAND."
)
@output_option("Add the entry to this TOML file, or write a new one.")
@json_option("Print what was measured as JSON.")
def profile_command(
    command: tuple[str, ...],
    name: str | None,
    iterations: int | None,
    time_limit_s: float | None,
    quiet: bool,
    inspector: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Run a PyTorch job and describe it: gradients, times and buckets.

    Runs the command unchanged, with a hook that reads DDP's own measurements. The result is a [[jobs]] entry
    for a scenario. The output of the command goes to standard error.

    ringsched profile -o queue.toml -- torchrun --nproc_per_node=2 train.py

    ringsched profile --nccl-inspector nccl-inspector-1234/*.log
    """
    if not command:
        raise InputError(
            "is missing; write it after --, such as: ringsched profile -- python train.py", field="COMMAND"
        )
    if inspector:
        _inspect([Path(file) for file in command], output, as_json)
        return
    if output is not None:
        check_can_append(output, name or name_of(command))
    echo = None if quiet else _echo
    with options_for_arguments():
        profile = profile_job(command, name=name, iterations=iterations, time_limit_s=time_limit_s, echo=echo)
    if output is not None:
        append_entry(profile, output)
    if as_json:
        click.echo(json.dumps(profile.as_data(), indent=2))
    else:
        _print_profile(profile, output)


def _echo(output: bytes) -> None:
    sys.stderr.buffer.write(output)
    sys.stderr.buffer.flush()


def _print_profile(profile: JobProfile, output: Path | None) -> None:
    job, iteration = profile.job, profile.iteration
    table = Table(box=None, pad_edge=False)
    table.add_column("part", no_wrap=True)
    for heading in ("median ms", "quartiles", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    rows = {
        "iteration": iteration,
        "forward": profile.forward,
        "backward": profile.backward,
        "exposed exchange": profile.exposed,
    }
    for part, spread in rows.items():
        quartiles = f"{figure(spread.low_ms)} to {figure(spread.high_ms)}"
        share = f"{spread.median_ms / iteration.median_ms:.1%}"
        table.add_row(part, figure(spread.median_ms), quartiles, share)
    table.add_row(
        "optimizer, data, other",
        figure(profile.other_ms),
        "",
        f"{profile.other_ms / iteration.median_ms:.1%}",
    )
    show(
        [
            f"{job.name}: {counted(job.gpus, 'GPU')}, {figure(job.gradient_mb)} MB of gradients in "
            f"{counted(len(profile.bucket_mb), 'bucket')}, minibatch {job.minibatch}",
            table,
            f"{counted(profile.samples, 'iteration')} measured, confidence {profile.confidence}",
            *(f"note: {note}" for note in profile.notes),
            "",
            f"job added to {output}" if output is not None else profile.as_toml().rstrip(),
        ]
    )


def _inspect(files: list[Path], output: Path | None, as_json: bool) -> None:
    if output is not None:
        raise InputError("needs a command to run; NCCL Inspector records no compute times", field="-o")
    exchange = read_inspector(files)
    if as_json:
        click.echo(json.dumps(exchange._asdict(), indent=2))
        return
    show([*_exchange_lines(exchange), *(f"note: {note}" for note in exchange.notes)])


def _exchange_lines(exchange: Exchange) -> list[str]:
    bandwidth = f"{figure(exchange.bus_low_gbps)} to {figure(exchange.bus_high_gbps)}"
    return [
        f"{counted(exchange.iterations, 'iteration')} of {counted(exchange.gpus, 'GPU')} on "
        f"{counted(exchange.servers, 'server')}, {figure(exchange.exchange_ms)} ms of all-reduce each",
        f"bus bandwidth {figure(exchange.bus_gbps)} Gbit/s (quartiles {bandwidth})",
        "",
        f"gpus = {exchange.gpus}",
        f"gradient_mb = {exchange.gradient_mb}",
        f"buckets = {exchange.buckets}  # DDP sends {len(exchange.bucket_mb)}; the largest counts",
    ]
