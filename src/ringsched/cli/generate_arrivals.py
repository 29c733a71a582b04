"""`ringsched generate poisson` and `diurnal`: jobs that arrive over time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ringsched.cli.scenario_output import check_output, options_for_arguments, put_scenario, written_line
from ringsched.cli.working import Working
from ringsched.generate import generate_diurnal, generate_poisson, offered_load
from ringsched.generate.mixes import MODEL_MIXES, SIZE_MIXES
from ringsched.model import Scenario

Command = Callable[..., None]

# Whose option has another name than the argument: switches of a level are racks to the user.
RENAMED_OPTIONS = {"switches": "racks", "switch_uplink_gbps": "rack-uplink-gbps"}

_OPTIONS = (
    click.option(
        "--load",
        metavar="X",
        type=float,
        default=0.8,
        show_default=True,
        help="GPU-time the jobs ask for over what the cluster has while they arrive.",
    ),
    click.option("--jobs", metavar="N", type=int, default=10_000, show_default=True),
    click.option("--servers", metavar="N", type=int, default=64, show_default=True),
    click.option("--gpus-per-server", metavar="N", type=int, default=8, show_default=True),
    click.option(
        "--racks",
        "switches",
        metavar="N",
        type=int,
        default=0,
        show_default=True,
        help="Number of switches between servers and core; 0 for none.",
    ),
    click.option(
        "--sizes",
        metavar="MIX",
        default="philly",
        show_default=True,
        help=f"GPUs per job: {', '.join(SIZE_MIXES)}, or weights such as 1:80,2:14.",
    ),
    click.option(
        "--models",
        metavar="MIX",
        default="uniform",
        show_default=True,
        help=f"Models of the catalogue: {', '.join(MODEL_MIXES)}, or weights such as resnet50:3,vgg16:1.",
    ),
    click.option(
        "--min-hours", metavar="H", type=float, default=0.5, show_default=True, help="Shortest best case."
    ),
    click.option(
        "--max-hours", metavar="H", type=float, default=8.0, show_default=True, help="Longest best case."
    ),
    click.option("--inter-server-gbps", metavar="X", type=float, default=100.0, show_default=True),
    click.option(
        "--rack-uplink-gbps",
        "switch_uplink_gbps",
        metavar="X",
        type=float,
        help="Default: a quarter of what its servers can send.",
    ),
    click.option(
        "--slot", "slot_s", metavar="S", type=float, help="Slotted time instead of continuous time."
    ),
    click.option(
        "--seed", metavar="N", type=int, default=0, show_default=True, help="Same seed, same bytes."
    ),
    click.option(
        "-o",
        "--output",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Write the scenario there instead of printing it; .toml with the jobs in a CSV file beside it.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="Print no summary."),
    click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
)


def _arrivals(command: Command) -> Command:
    """Add the options that both have."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command("poisson")
@_arrivals
def poisson_command(output: Path | None, quiet: bool, as_json: bool, **options: Any) -> None:
    """Jobs that arrive as a Poisson process, at a given load."""
    _generate(generate_poisson, output, quiet, as_json, options)


@click.command("diurnal")
@click.option(
    "--swing",
    metavar="X",
    type=float,
    default=0.8,
    show_default=True,
    help="How far the rate rises above its mean by day and falls below it by night, 0 to 1.",
)
@click.option(
    "--peak-hour", metavar="H", type=float, default=14.0, show_default=True, help="When most jobs arrive."
)
@_arrivals
def diurnal_command(output: Path | None, quiet: bool, as_json: bool, **options: Any) -> None:
    """Jobs that arrive more by day than by night, at a given mean load."""
    _generate(generate_diurnal, output, quiet, as_json, options)


def _generate(
    make: Callable[..., Scenario],
    output: Path | None,
    quiet: bool,
    as_json: bool,
    options: dict[str, Any],
) -> None:
    """Make a scenario, write it, and print what it amounts to."""
    check_output(output)
    with Working("drawing the jobs"), options_for_arguments(RENAMED_OPTIONS):
        scenario = make(**options)
    with Working("writing the scenario"):
        put_scenario(scenario, output)
    if not quiet:
        said = _json(scenario, output) if as_json else _summary(scenario, output)
        click.echo(said, err=output is None)  # stdout is taken where it holds the scenario


def _figures(scenario: Scenario) -> dict[str, Any]:
    return {
        "num_jobs": len(scenario.jobs),
        "job_gpus": sum(job.gpus for job in scenario.jobs),
        "num_servers": len(scenario.cluster.servers),
        "server_gpus": scenario.cluster.capacity,
        "span_s": max(job.submit_s for job in scenario.jobs),
        "load": offered_load(scenario),
    }


def _json(scenario: Scenario, output: Path | None) -> str:
    head = {"name": scenario.name, "scenario_sha256": scenario.sha256()}
    where = {} if output is None else {"output": str(output)}
    return json.dumps(head | _figures(scenario) | where, indent=1)


def _summary(scenario: Scenario, output: Path | None) -> str:
    figures = _figures(scenario)
    lines = [
        f"{figures['num_jobs']} jobs that ask for {figures['job_gpus']} GPUs, on {figures['num_servers']} "
        f"servers with {figures['server_gpus']} GPUs",
        f"arriving over {figures['span_s'] / 3600:.1f} hours, load {figures['load']:.3f}",
    ]
    return "\n".join(lines if output is None else [*lines, written_line(output)])
