"""`ringsched generate`: workloads to begin with, or jobs that arrive over time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ringsched.cli.files import check_output, options_for_arguments, put_scenario, written_line
from ringsched.cli.progress import Working
from ringsched.errors import InputError
from ringsched.formats.files import check_writable, write_text
from ringsched.formats.scenario_text import scenario_to_json
from ringsched.generate import (
    Description,
    describe,
    generate_diurnal,
    generate_paper,
    generate_poisson,
    generate_uniform,
    offered_load,
)
from ringsched.generate.mixes import MODEL_MIXES, SIZE_MIXES
from ringsched.model import Scenario


def _horizon(ctx: click.Context, option: click.Parameter, value: str) -> float | None:
    """Return the seconds; the word "none" leaves the horizon out."""
    try:
        return None if value == "none" else float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number nor none", ctx, option) from None


def _number(
    option: str, metavar: str, default: float | None, help: str | None = None, *, name: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return an option for a number: whole where it is called N; no default is shown where there is none."""
    names = [option] if name is None else [option, name]
    kind = int if metavar == "N" else float
    return click.option(*names, metavar=metavar, type=kind, default=default, show_default=True, help=help)


def _text(
    option: str, metavar: str, default: str, help: str, **more: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(option, metavar=metavar, default=default, show_default=True, help=help, **more)


def _common(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that every kind of workload has."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
        click.option("-q", "--quiet", is_flag=True, help="Print no summary."),
        click.option(
            "-o",
            "--output",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Write the scenario there instead of printing it.",
        ),
        _number("--seed", "N", 0, "Same seed, same bytes."),
    ):
        command = option(command)
    return command


@click.group("generate")
def generate_command() -> None:
    """Make a workload: a scenario out of a seed.

    Prints the scenario as JSON, or writes it with -o, and says in short what it amounts to.
    """


@generate_command.command("paper")
@_number("--contention", "X", 0.15, "Share of the jobs' time that is not computation, reached within 0.005.")
@_number("--servers", "N", 20, "The first N of the seed's draw.")
@_number("--jobs", "N", 160, "In the paper's proportions.")
@_text("--horizon", "S", "1200", "T in seconds, or none.", callback=_horizon)
@_number(
    "--share-servers",
    "N",
    None,
    "Reach the share on N servers, so that a sweep over servers has the same jobs.",
)
@_common
def paper_command(
    contention: float,
    servers: int,
    jobs: int,
    horizon: float | None,
    share_servers: int | None,
    seed: int,
    output: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """The paper's workload: 160 jobs on servers of 4 to 32 GPUs, in slots of a second."""
    _generate(
        lambda: generate_paper(seed, servers, contention, horizon, jobs=jobs, share_servers=share_servers),
        output,
        quiet,
        as_json,
    )


@generate_command.command("uniform")
@_number("--servers", "N", 1250)
@_number("--gpus-per-server", "N", 8)
@_number("--racks", "N", 0, "Number of switches between servers and core; 0 for none.", name="switches")
@_number("--jobs", "N", 10_000)
@_text("--sizes", "MIX", "paper", f"GPUs per job: {', '.join(SIZE_MIXES)}, or weights such as 1:80,2:14.")
@_text(
    "--models",
    "MIX",
    "uniform",
    f"Models of the catalogue: {', '.join(MODEL_MIXES)}, or weights such as resnet50:3,vgg16:1.",
)
@_number("--min-hours", "H", 0.5, "Shortest best case.")
@_number("--max-hours", "H", 8.0, "Longest best case.")
@_number("--submit-hours", "H", 0.0, "Jobs are submitted over so many hours; 0: all at the start.")
@_number("--inter-server-gbps", "X", 100.0)
@_number(
    "--rack-uplink-gbps",
    "X",
    None,
    "Default: a quarter of what its servers can send.",
    name="switch_uplink_gbps",
)
@_number("--slot", "S", None, "Slotted time instead of continuous time.", name="slot_s")
@_common
def uniform_command(output: Path | None, quiet: bool, as_json: bool, **options: Any) -> None:
    """Known models on like servers; durations are log-uniform."""
    _generate(lambda: generate_uniform(**options), output, quiet, as_json)


def _generate(make: Callable[[], Scenario], output: Path | None, quiet: bool, as_json: bool) -> None:
    """Make a scenario, write it, and print what it amounts to."""
    if output is not None:
        if output == Path("-"):
            raise InputError("names no file; without -o the scenario is printed", field="-o -")
        if output.suffix.lower() == ".toml":
            raise InputError("is named .toml, but what is written is JSON", file=str(output))
        check_writable(output)
    with options_for_arguments(RENAMED_OPTIONS):
        scenario = make()
    summary = "" if quiet else _summary(scenario, output, as_json)
    if output is None:
        click.echo(scenario_to_json(scenario), nl=False)
    else:
        write_text(output, scenario_to_json(scenario))
    if summary:
        click.echo(summary, err=output is None)  # stdout is taken where it holds the scenario


def _summary(scenario: Scenario, output: Path | None, as_json: bool) -> str:
    description = describe(scenario)
    if as_json:
        head = {"name": scenario.name, "scenario_sha256": scenario.sha256()}
        where = {} if output is None else {"output": str(output)}
        return json.dumps(head | asdict(description) | where, indent=1)
    lines = _lines(description)
    return "\n".join(lines if output is None else [*lines, f"scenario written to {output}"])


def _lines(description: Description) -> list[str]:
    from ringsched.phrases import seconds

    return [
        f"{description.num_jobs} jobs that ask for {description.job_gpus} GPUs, on {description.num_servers} "
        f"servers with {description.server_gpus} GPUs",
        f"contention share  {description.contention_share:.3f} of the jobs' time under list-scheduling",
        f"lower bound       {seconds(description.lower_bound_s)}",
    ]


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
    _generate_arrivals(generate_poisson, output, quiet, as_json, options)


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
    _generate_arrivals(generate_diurnal, output, quiet, as_json, options)


def _generate_arrivals(
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
        said = _json(scenario, output) if as_json else _arrivals_summary(scenario, output)
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


def _arrivals_summary(scenario: Scenario, output: Path | None) -> str:
    figures = _figures(scenario)
    lines = [
        f"{figures['num_jobs']} jobs that ask for {figures['job_gpus']} GPUs, on {figures['num_servers']} "
        f"servers with {figures['server_gpus']} GPUs",
        f"arriving over {figures['span_s'] / 3600:.1f} hours, load {figures['load']:.3f}",
    ]
    return "\n".join(lines if output is None else [*lines, written_line(output)])


generate_command.add_command(poisson_command)
generate_command.add_command(diurnal_command)
