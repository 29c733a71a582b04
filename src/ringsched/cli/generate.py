"""`ringsched generate`: workloads to begin with, or jobs that arrive over time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ringsched.cli.files import check_output, options_for_arguments, put_scenario, written_line
from ringsched.cli.progress import Working
from ringsched.model import Cluster, Scenario, Time
from ringsched.workloads import Workload, contention_share, generate, offered_load
from ringsched.workloads.mixes import MODEL_MIXES, SIZE_MIXES

Command = Callable[..., None]
Decorator = Callable[[Command], Command]

# Whose option has another name than the argument: switches of a level are racks to the user.
RENAMED_OPTIONS = {
    "contention_share": "contention",
    "switches": "racks",
    "switch_uplink_gbps": "rack-uplink-gbps",
}


def _horizon(ctx: click.Context, option: click.Parameter, value: str) -> float | None:
    """Return the seconds; the word "none" leaves the horizon out."""
    try:
        return None if value == "none" else float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number nor none", ctx, option) from None


def _number(
    option: str, metavar: str, default: float | None, help: str | None = None, *, name: str | None = None
) -> Decorator:
    """Return an option for a number: whole where it is called N; no default is shown where there is none."""
    names = [option] if name is None else [option, name]
    kind = int if metavar == "N" else float
    return click.option(*names, metavar=metavar, type=kind, default=default, show_default=True, help=help)


def _text(option: str, metavar: str, default: str, help: str, **more: Any) -> Decorator:
    return click.option(option, metavar=metavar, default=default, show_default=True, help=help, **more)


def _options(*options: Decorator) -> Decorator:
    """Add some options and those that every kind of workload has."""
    common = (
        _number("--seed", "N", 0, "Same seed, same bytes."),
        click.option(
            "-o",
            "--output",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Write the scenario there instead of printing it; .toml with the jobs in a CSV file.",
        ),
        click.option("-q", "--quiet", is_flag=True, help="Print no summary."),
        click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
    )

    def add(command: Command) -> Command:
        every: list[Decorator] = [*options, *common]
        for option in reversed(every):
            command = option(command)
        return command

    return add


def _known_models(*own: Decorator, servers: int, sizes: str) -> Decorator:
    """Add the options of known models on identical servers, with these defaults."""
    racks = "Number of switches between servers and core; 0 for none."
    gpus = f"GPUs per job: {', '.join(SIZE_MIXES)}, or weights such as 1:80,2:14."
    models = f"Models of the catalogue: {', '.join(MODEL_MIXES)}, or weights such as resnet50:3,vgg16:1."
    uplink = "Default: a quarter of what its servers can send."
    return _options(
        *own,
        _number("--jobs", "N", 10_000),
        _number("--servers", "N", servers),
        _number("--gpus-per-server", "N", 8),
        _number("--racks", "N", 0, racks, name="switches"),
        _text("--sizes", "MIX", sizes, gpus),
        _text("--models", "MIX", "uniform", models),
        _number("--min-hours", "H", 0.5, "Shortest best case."),
        _number("--max-hours", "H", 8.0, "Longest best case."),
        _number("--inter-server-gbps", "X", 100.0),
        _number("--rack-uplink-gbps", "X", None, uplink, name="switch_uplink_gbps"),
        _number("--slot", "S", None, "Slotted time instead of continuous time.", name="slot_s"),
    )


@click.group("generate")
def generate_command() -> None:
    """Make a workload: a scenario out of a seed.

    Prints the scenario as JSON, or writes it with -o, and says in short what it amounts to.
    """


_SHARE = "Share of the jobs' time that is not computation, reached within 0.005."
_SHARE_SERVERS = "Reach the share on N servers, so that a sweep over servers has the same jobs."


@generate_command.command("paper")
@_options(
    _number("--contention", "X", 0.15, _SHARE),
    _number("--servers", "N", 20, "The first N of the seed's draw."),
    _number("--jobs", "N", 160, "In the paper's proportions."),
    _text("--horizon", "S", "1200", "T in seconds, or none.", callback=_horizon),
    _number("--share-servers", "N", None, _SHARE_SERVERS),
)
def paper_command(contention: float, horizon: float | None, **options: Any) -> None:
    """The paper's workload: 160 jobs on servers of 4 to 32 GPUs, in slots of a second."""

    def workload(**fields: Any) -> Workload:
        return Workload.paper(contention_share=contention, horizon_s=horizon, **fields)

    _generate(workload, _queue_figures, **options)


@generate_command.command("uniform")
@_known_models(
    _number("--submit-hours", "H", 0.0, "Jobs are submitted over so many hours; 0: all at the start."),
    servers=1250,
    sizes="paper",
)
def uniform_command(**options: Any) -> None:
    """Known models on like servers; durations are log-uniform."""
    _generate(_on_servers(Workload.uniform), _queue_figures, **options)


_LOAD = _number("--load", "X", 0.8, "GPU-time the jobs ask for over what the cluster has while they arrive.")
_SWING = "How far the rate rises above its mean by day and falls below it by night, 0 to 1."


@generate_command.command("poisson")
@_known_models(_LOAD, servers=64, sizes="philly")
def poisson_command(**options: Any) -> None:
    """Jobs that arrive as a Poisson process, at a given load."""
    _generate(_on_servers(Workload.poisson), _arrival_figures, **options)


@generate_command.command("diurnal")
@_known_models(
    _number("--swing", "X", 0.8, _SWING),
    _number("--peak-hour", "H", 14.0, "When most jobs arrive."),
    _LOAD,
    servers=64,
    sizes="philly",
)
def diurnal_command(**options: Any) -> None:
    """Jobs that arrive more by day than by night, at a given mean load."""
    _generate(_on_servers(Workload.diurnal), _arrival_figures, **options)


def _on_servers(kind: Callable[..., Workload]) -> Callable[..., Workload]:
    """Return a workload of that kind, as a function of the options of known models."""

    def workload(
        servers: int,
        gpus_per_server: int,
        switches: int,
        inter_server_gbps: float,
        switch_uplink_gbps: float | None,
        slot_s: float | None,
        **fields: Any,
    ) -> Workload:
        cluster = Cluster.of_servers(
            servers,
            gpus_per_server,
            switches=switches,
            inter_server_gbps=inter_server_gbps,
            switch_uplink_gbps=switch_uplink_gbps,
        )
        time = Time(model="continuous") if slot_s is None else Time(slot_s=slot_s)
        return kind(cluster=cluster, time=time, **fields)

    return workload


def _generate(
    workload: Callable[..., Workload],
    figures_of: Callable[[Scenario], tuple[dict[str, float], list[str]]],
    *,
    seed: int,
    output: Path | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Make a scenario, write it, and print what it amounts to."""
    check_output(output)
    with Working("drawing the jobs"), options_for_arguments(RENAMED_OPTIONS):
        scenario = generate(workload(**options), seed=seed)
    summary = "" if quiet else _summary(scenario, figures_of, output, as_json)
    with Working("writing the scenario"):
        put_scenario(scenario, output)
    if summary:
        click.echo(summary, err=output is None)  # stdout is taken where it holds the scenario


def _summary(
    scenario: Scenario,
    figures_of: Callable[[Scenario], tuple[dict[str, float], list[str]]],
    output: Path | None,
    as_json: bool,
) -> str:
    num_jobs, job_gpus = len(scenario.jobs), sum(job.gpus for job in scenario.jobs)
    num_servers, server_gpus = len(scenario.cluster.servers), scenario.cluster.capacity
    figures, lines = figures_of(scenario)
    if as_json:
        head = {
            "name": scenario.name,
            "scenario_sha256": scenario.sha256(),
            "num_jobs": num_jobs,
            "job_gpus": job_gpus,
            "num_servers": num_servers,
            "server_gpus": server_gpus,
        }
        where = {} if output is None else {"output": str(output)}
        return json.dumps(head | figures | where, indent=1)
    first = f"{num_jobs} jobs that ask for {job_gpus} GPUs, on {num_servers} servers with {server_gpus} GPUs"
    return "\n".join([first, *lines, *([] if output is None else [written_line(output)])])


def _queue_figures(scenario: Scenario) -> tuple[dict[str, float], list[str]]:
    """Return what jobs that are all known come to, as figures and as lines."""
    from ringsched.api import lower_bounds
    from ringsched.phrases import seconds

    share, bound_s = contention_share(scenario), lower_bounds(scenario)[0].value_s
    return {"contention_share": share, "lower_bound_s": bound_s}, [
        f"contention share  {share:.3f} of the jobs' time under list-scheduling",
        f"lower bound       {seconds(bound_s)}",
    ]


def _arrival_figures(scenario: Scenario) -> tuple[dict[str, float], list[str]]:
    """Return the same of jobs that arrive over time."""
    span_s, load = max(job.submit_s for job in scenario.jobs), offered_load(scenario)
    return {"span_s": span_s, "load": load}, [f"arriving over {span_s / 3600:.1f} hours, load {load:.3f}"]
