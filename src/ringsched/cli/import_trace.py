"""`ringsched import`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ringsched.cli.command import Command, Group, option
from ringsched.cli.files import check_output, options_for_arguments, put_scenario, written_line
from ringsched.cli.options import FILE, json_option, scenario_output_option
from ringsched.cli.progress import Working
from ringsched.cli.values import Name
from ringsched.errors import InputError, UnknownName
from ringsched.formats.catalogue import TIMED
from ringsched.formats.files import check_writable
from ringsched.formats.plan import save_plan
from ringsched.formats.traces.formats import FORMATS
from ringsched.formats.traces.options import FRACTIONAL, ROUND
from ringsched.formats.traces.suggest import suggestion
from ringsched.formats.traces.values import UNITS_S
from ringsched.formatting import counted, duration
from ringsched.garbage import no_garbage_collection
from ringsched.importing import ImportedTrace, ImportReport, import_trace
from ringsched.importing.models import DRAWN, NO_COMMUNICATION, UNKNOWN_MODELS
from ringsched.workloads.mixes import MODEL_MIXES

# What the readers of single formats ask for; a format has those that it takes.
READING = "Reading"
READING_OPTIONS: Mapping[str, Callable[[Any], Any]] = {
    "columns": option(
        "--map",
        "columns",
        metavar="FIELD=COLUMN,...",
        help="What the columns are: submit, duration (or start, end), gpus, name, model, placement, state.",
        group=READING,
    ),
    "time_unit": option(
        "--time-unit",
        metavar="UNIT",
        help=f"Unit of times that are numbers: {', '.join(UNITS_S)}; or submit=s,duration=min.",
        group=READING,
    ),
    "time_zone": option(
        "--time-zone",
        metavar="ZONE",
        help="Zone of times without an offset, such as Europe/Berlin or +08:00.",
        stated="UTC",
        group=READING,
    ),
    "where": option(
        "--where",
        metavar="COLUMN=VALUE",
        multiple=True,
        help="Keep only such rows; also COLUMN!=VALUE, and * for any text. Repeatable.",
        group=READING,
    ),
    "fractional": option(
        "--fractional",
        metavar="WHAT",
        type=Name("choice", FRACTIONAL),
        stated=ROUND,
        help="Parts of a GPU: round them up, or drop the job.",
        group=READING,
    ),
    "processors_per_gpu": option(
        "--processors-per-gpu",
        metavar="N",
        type=int,
        stated="1",
        help="Processors that count as one GPU.",
        group=READING,
    ),
    "worker_table": option(
        "--worker-table",
        metavar="FILE",
        type=FILE,
        help="Table of workers, with their hosts and GPUs. Required.",
        group=READING,
    ),
    "topology_table": option(
        "--topology-table",
        metavar="FILE",
        type=FILE,
        help="Table of the network, for the switches of --as-plan.",
        group=READING,
    ),
}
# Whose option has another name than the argument.
RENAMED_OPTIONS = {"models": "model-mix", "columns": "map"}

CLUSTER_OPTIONS = (
    option(
        "--cluster",
        metavar="FILE",
        type=FILE,
        stated="sized for the trace",
        help="Scenario or Tiresias specification (.csv) whose cluster the jobs will run on.",
    ),
    option(
        "--recorded-on",
        metavar="FILE",
        type=FILE,
        stated="that of --cluster",
        help="The same for the cluster of the recorded durations.",
    ),
    option(
        "--model-mix",
        "models",
        metavar="MIX",
        type=Name("mix", [*MODEL_MIXES, *TIMED], several=True),
        default="uniform",
        show_default=True,
        help=f"Models of jobs that name none: {', '.join(MODEL_MIXES)}, or weights such as resnet50:3,vgg16.",
    ),
    option(
        "--unknown-models",
        metavar="WHAT",
        type=Name("model", [*UNKNOWN_MODELS, *TIMED]),
        stated="as the trace says, else none",
        help="Communication of models that the catalogue lacks: none, draw, or that of a MODEL.",
    ),
    option("--seed", metavar="N", type=int, default=0, show_default=True, help="Random seed for the models."),
    option("--strict", is_flag=True, help="End at the first malformed row instead of dropping it."),
)
AS_PLAN = option(
    "--as-plan", "plan_file", metavar="PLAN", type=FILE, help="Write the recorded placements as a plan."
)

# The first line of help of each format.
SOURCES: Mapping[str, str] = {
    "csv": "Any table with one job per row; --map names its columns.",
    "sacct": "Slurm accounting, as `sacct -P` prints it.",
    "jobcomp": "Slurm's job completion log, jobcomp/filetxt.",
    "swf": "The Standard Workload Format of the Parallel Workloads Archive.",
    "philly": "Microsoft Philly as a table, published with AdaptDL.",
    "philly-json": "Microsoft Philly as JSON, cluster_job_log.",
    "tiresias": "Tiresias, and simulators that use its files.",
    "chronus": "Chronus: like Tiresias, with times in minutes.",
    "muri": "Muri: like Tiresias, with times in milliseconds.",
    "helios": "SenseTime Helios, cluster_log.csv.",
    "acme": "Shanghai AI Lab Acme, both clusters.",
    "itp": "Microsoft ITP, published with ElasticFlow.",
    "openb": "Alibaba GPU trace of 2023, list of pods.",
    "lingjun": "Alibaba Lingjun trace of 2023: jobs, workers and network.",
}


class Formats(Group):
    """A command for each format."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the formats."""
        return list(FORMATS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command of a format."""
        return _command(cmd_name) if cmd_name in FORMATS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the format that is named first."""
        name = args[0]
        if name not in FORMATS and not name.startswith("-") and not ctx.resilient_parsing:
            if Path(name).is_file() and (hint := suggestion(Path(name), "")):
                raise InputError(f"must come before FILE; {hint}", field="FORMAT")
            raise UnknownName("format", name, FORMATS, field="FORMAT")
        return super().resolve_command(ctx, args)


@click.command("import", cls=Formats, subcommand_metavar="FORMAT FILE [OPTIONS]")
def import_command() -> None:
    """Make a scenario from the trace of a real cluster.

    Prints the scenario as JSON, or writes it with -o, and reports how many rows were read, kept and dropped,
    and why. FORMAT is one of the following.
    """


def _command(format: str) -> click.Command:
    def run(file: Path, **options: Any) -> None:
        _import(format, file, **options)

    run.__doc__ = SOURCES[format]
    takes = [READING_OPTIONS[name] for name in READING_OPTIONS if name in FORMATS[format].takes]
    as_plan = [AS_PLAN] if FORMATS[format].records_places else []
    summary = json_option("Print the summary as JSON.")
    command: Any = run
    for each in reversed([scenario_output_option, *CLUSTER_OPTIONS, *as_plan, summary, *takes]):
        command = each(command)
    command = click.argument("file", metavar="FILE", type=FILE)(command)
    made: click.Command = click.command(format, cls=Command)(command)
    return made


def _import(
    format: str,
    file: Path,
    *,
    output: Path | None,
    as_json: bool,
    plan_file: Path | None = None,
    **options: Any,
) -> None:
    check_output(output)
    if plan_file is not None:
        _check_plan_file(plan_file, output)
    for written in (output, plan_file):
        if written is not None and written.exists() and file.exists() and written.samefile(file):
            raise InputError("is the trace itself; write to another file", file=str(written))
    if "where" in options:
        options["where"] = options["where"] or None
    with Working(f"importing {file}"), options_for_arguments(RENAMED_OPTIONS):
        trace = import_trace(file, format, as_plan=plan_file is not None, **options)
    with Working("writing the scenario"), no_garbage_collection():
        put_scenario(trace.scenario, output)
    if plan_file is not None and trace.plan is not None:
        save_plan(trace.plan, plan_file)
    said = _json(trace, output, plan_file) if as_json else "\n".join(_lines(trace, output, plan_file))
    click.echo(said, err=output is None)  # stdout is taken where it holds the scenario


def _check_plan_file(plan_file: Path, output: Path | None) -> None:
    check_writable(plan_file)
    if output is not None and plan_file.resolve() == output.resolve():
        raise InputError("is the file of the scenario; write the plan to another", file=str(plan_file))


def _json(trace: ImportedTrace, output: Path | None, plan_file: Path | None) -> str:
    head = {"name": trace.scenario.name, "scenario_sha256": trace.scenario.sha256()}
    files = {"output": output, "plan": plan_file}
    where = {key: str(path) for key, path in files.items() if path is not None}
    return json.dumps(head | asdict(trace.report) | where, indent=1)


def _lines(trace: ImportedTrace, output: Path | None, plan_file: Path | None) -> list[str]:
    report, cluster = trace.report, trace.scenario.cluster
    lines = [f"{counted(report.rows_read, 'row')} read, {report.rows_kept} kept"]
    lines += [
        f"  dropped {counted(dropped.count, 'row')}: {dropped.reason} (first on line {dropped.first_line})"
        for dropped in report.dropped
    ]
    servers = counted(len(cluster.servers), "server")
    lines.append(
        f"{counted(report.rows_kept, 'job')} over {duration(report.span_s)}, load {report.load:.2f} "
        f"{_busiest(report)}on {servers} with {counted(cluster.capacity, 'GPU')}"
    )
    lines += _model_lines(report)
    lines += [f"assumed: {text}" for text in report.assumed]
    if report.largest_difference_s is not None:
        lines.append(f"largest difference of the plan to the record: {duration(report.largest_difference_s)}")
    lines += [] if output is None else [written_line(output)]
    lines += [] if plan_file is None else [f"plan written to {plan_file}"]
    return lines if report.warning is None else [*lines, f"Warning: {report.warning}"]


def _busiest(report: ImportReport) -> str:
    return f"({report.busiest_load:.2f} in the busiest week) " if report.busiest_load else ""


MOST_MODELS = 8  # listed on a line


def _model_lines(report: ImportReport) -> list[str]:
    """Return where the models come from, and those that the catalogue has under another name or not."""
    unknown = sum(model.jobs for model in report.models_unknown if model.taken_for != DRAWN)
    not_known = f", {unknown} not in the catalogue" if unknown else ""
    lines = [f"models: {report.models_named} from the trace, {report.models_drawn} drawn{not_known}"]
    similar = [f"{model.name} as {model.taken_for}" for model in report.models_similar]
    lines += [f"  taken for a similar one: {_listed(similar)}"] if similar else []
    for taken_for in dict.fromkeys(model.taken_for for model in report.models_unknown):
        names = [
            f"{model.name} ({counted(model.jobs, 'job')})"
            for model in report.models_unknown
            if model.taken_for == taken_for
        ]
        said = TREATMENTS.get(taken_for, f"taken for {taken_for}")
        lines.append(f"  not in the catalogue: {_listed(names)}; {said}")
    return lines


TREATMENTS = {
    "trace": "they communicate as the trace says",
    NO_COMMUNICATION: "assumed not to communicate, see --unknown-models",
    DRAWN: "models drawn instead",
}


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_MODELS
    return ", ".join(names[:MOST_MODELS]) + (f" and {more} more" if more > 0 else "")
