"""`ringsched generate`: workloads to begin with, or jobs that arrive over time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ringsched.cli.command import COMMON, Group, option
from ringsched.cli.files import check_output, options_for_arguments, put_scenario, written_line
from ringsched.cli.options import json_option, scenario_output_option
from ringsched.cli.progress import Working
from ringsched.cli.values import DURATION, RATIOS, SIZES, Duration, Name
from ringsched.errors import InputError
from ringsched.formats.catalogue import TIMED
from ringsched.model import Cluster, Scenario, Time
from ringsched.workloads import Workload, contention_share, generate, offered_load
from ringsched.workloads.mixes import MODEL_MIXES, SIZE_MIXES

Command = Callable[..., None]
Decorator = Callable[[Command], Command]
SECONDS_PER_HOUR = 3600
CLUSTER = "Cluster"

# Whose option has another name than the argument: switches of a level are racks to the user.
RENAMED_OPTIONS = {
    "models": "model-mix",
    "sizes": "size-mix",
    "min_hours": "min-duration",
    "max_hours": "max-duration",
    "submit_hours": "submit-span",
    "switches": "racks",
    "switch_uplink_gbps": "rack-uplink-gbps",
}


class Horizon(Duration):
    """A duration, or the word none."""

    def convert(  # type: ignore[override]
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | None:
        """Return the seconds, None for the word none."""
        if value == "none":
            return None
        try:
            return super().convert(value, param, ctx)
        except InputError:
            raise InputError(
                f"must be a duration such as 20min, or none, not {value!r}", field="--horizon"
            ) from None


TYPES: dict[str, Any] = {
    "N": int,
    "DURATION": DURATION,
    "N:N:...": SIZES,
    "X:X:...": RATIOS,
    "MIX": Name("mix", lambda _: [*SIZE_MIXES, *MODEL_MIXES, *TIMED], several=True),
}


def _value(
    names: str, metavar: str, default: float | str | None, help: str, *, group: str = COMMON, stated: str = ""
) -> Decorator:
    """Return an option with a value; after a blank, `names` has the name of the argument it sets."""
    return option(
        *names.split(),
        metavar=metavar,
        type=TYPES.get(metavar, float),
        default=default,
        show_default=True,
        stated=stated,
        help=help,
        group=group,
    )


def _options(*options: Decorator) -> Decorator:
    """Add some options and those that every kind of workload has."""
    common = (
        _value("--seed", "N", 0, "Random seed; the same seed gives the same bytes."),
        scenario_output_option,
        option("-q", "--quiet", is_flag=True, help="Print no summary."),
        json_option("Print the summary as JSON."),
    )

    def add(command: Command) -> Command:
        for each in reversed([*common, *options]):
            command = each(command)
        return command

    return add


_RATIO = "By level of switches: speed of the links below over that of the uplink."


def _known_models(*own: Decorator, servers: int, sizes: str) -> Decorator:
    """Add the options of catalogue models on identical servers, with these defaults."""
    gpus = f"GPUs per job: {', '.join(SIZE_MIXES)}, or weights such as 1:80,2:14."
    models = f"Models: {', '.join(MODEL_MIXES)}, or weights such as resnet50:3,vgg16:1."
    return _options(
        _value("--jobs", "N", 10_000, "Number of jobs."),
        *own,
        _value("--size-mix sizes", "MIX", sizes, gpus),
        _value("--model-mix models", "MIX", "uniform", models),
        _value("--min-duration", "DURATION", "30min", "Shortest best case."),
        _value("--max-duration", "DURATION", "8h", "Longest best case."),
        _value(
            "--servers",
            "N",
            None,
            "Number of servers.",
            group=CLUSTER,
            stated=f"{servers}, or as many as --levels have",
        ),
        _value("--gpus-per-server", "N", 8, "GPUs of each server.", group=CLUSTER),
        _value("--racks switches", "N", 0, "Number of racks; 0 for none.", group=CLUSTER),
        _value("--levels", "N:N:...", None, "Servers per leaf switch, leaves per spine, ...", group=CLUSTER),
        _value("--oversubscription", "X:X:...", None, _RATIO, group=CLUSTER, stated="1"),
        _value("--inter-server-gbps", "X", 100.0, "Speed of the servers' links.", group=CLUSTER),
        _value(
            "--rack-uplink-gbps switch_uplink_gbps",
            "X",
            None,
            "Speed of the racks' links.",
            group=CLUSTER,
            stated="a quarter of what its servers can send",
        ),
        _value("--slot slot_s", "DURATION", None, "Slotted time instead of continuous time.", group=CLUSTER),
    )


@click.group("generate", cls=Group)
def generate_command() -> None:
    """Generate a workload from a seed.

    Prints the scenario as JSON, or writes it with -o, and a short summary.
    """


_SHARE = "Share of the jobs' time that is not computation, reached within 0.005."
_SHARE_SERVERS = "Reach the share on N servers, so that a sweep over --servers has the same jobs."


@generate_command.command("paper")
@_options(
    _value("--jobs", "N", 160, "Number of jobs, in the paper's proportions."),
    _value("--servers", "N", 20, "Number of servers: the first N of the seed's draw."),
    _value("--contention-share", "X", 0.15, _SHARE),
    option(
        "--horizon",
        metavar="DURATION",
        type=Horizon(),
        default="20min",
        show_default=True,
        help="Time by which a plan must end (T), or none.",
    ),
    _value("--share-servers", "N", None, _SHARE_SERVERS),
)
def paper_command(contention_share: float, horizon: float | None, **options: Any) -> None:
    """The paper's workload: 160 jobs, in slots of a second."""

    def workload(**fields: Any) -> Workload:
        return Workload.paper(contention_share=contention_share, horizon_s=horizon, **fields)

    _generate(workload, _queue_figures, **options)


@generate_command.command("uniform")
@_known_models(
    _value("--submit-span", "DURATION", "0s", "Time over which jobs are submitted; 0s: all at the start."),
    servers=1250,
    sizes="paper",
)
def uniform_command(**options: Any) -> None:
    """Catalogue models on identical servers; durations are log-uniform."""
    _generate(_on_servers(Workload.uniform, 1250), _queue_figures, **options)


_LOAD = _value("--load", "X", 0.8, "GPU time of the jobs divided by that of the cluster while they arrive.")
_SWING = "How far the rate rises above its mean by day and falls below it by night, 0 to 1."


@generate_command.command("poisson")
@_known_models(_LOAD, servers=64, sizes="philly")
def poisson_command(**options: Any) -> None:
    """Jobs that arrive as a Poisson process, at a given load."""
    _generate(_on_servers(Workload.poisson, 64), _arrival_figures, **options)


@generate_command.command("diurnal")
@_known_models(
    _LOAD,
    _value("--swing", "X", 0.8, _SWING),
    _value("--peak-hour", "H", 14.0, "Hour of the day at which most jobs arrive."),
    servers=64,
    sizes="philly",
)
def diurnal_command(**options: Any) -> None:
    """Jobs that arrive more by day than by night, at a given mean load."""
    _generate(_on_servers(Workload.diurnal, 64), _arrival_figures, **options)


def _on_servers(kind: Callable[..., Workload], usual_servers: int) -> Callable[..., Workload]:
    """Return a workload of that kind, as a function of the options of known models."""

    def workload(
        servers: int | None,
        gpus_per_server: int,
        levels: tuple[int, ...] | None,
        oversubscription: tuple[float, ...] | None,
        switches: int,
        inter_server_gbps: float,
        switch_uplink_gbps: float | None,
        slot_s: float | None,
        **fields: Any,
    ) -> Workload:
        for bound in ("min", "max"):
            fields[f"{bound}_hours"] = fields.pop(f"{bound}_duration") / SECONDS_PER_HOUR
        if "submit_span" in fields:
            fields["submit_hours"] = fields.pop("submit_span") / SECONDS_PER_HOUR
        if levels is None:
            if oversubscription is not None:
                raise InputError("is only allowed with --levels", field="oversubscription")
            cluster = Cluster.of_servers(
                usual_servers if servers is None else servers,
                gpus_per_server,
                switches=switches,
                inter_server_gbps=inter_server_gbps,
                switch_uplink_gbps=switch_uplink_gbps,
            )
        else:
            if switches or switch_uplink_gbps is not None:
                field = "switches" if switches else "switch_uplink_gbps"
                raise InputError("cannot be combined with --levels; keep one of them", field=field)
            cluster = Cluster.of_levels(
                levels,
                gpus_per_server,
                servers=servers,
                inter_server_gbps=inter_server_gbps,
                oversubscription=oversubscription or (),
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
    from ringsched.formatting import duration

    share, bound_s = contention_share(scenario), lower_bounds(scenario)[0].value_s
    return {"contention_share": share, "lower_bound_s": bound_s}, [
        f"contention share  {share:.3f} of the jobs' time under list-scheduling",
        f"lower bound       {duration(bound_s)}",
    ]


def _arrival_figures(scenario: Scenario) -> tuple[dict[str, float], list[str]]:
    """Return the same of jobs that arrive over time."""
    from ringsched.formatting import duration

    span_s, load = max(job.submit_s for job in scenario.jobs), offered_load(scenario)
    return {"span_s": span_s, "load": load}, [f"arriving over {duration(span_s)}, load {load:.3f}"]
