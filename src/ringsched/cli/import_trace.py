"""`ringsched import`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ringsched.cli.command import Command, option
from ringsched.cli.files import check_output, options_for_arguments, put_scenario, written_line
from ringsched.cli.options import FILE, json_option, scenario_output_option
from ringsched.cli.progress import Working
from ringsched.cli.values import Name
from ringsched.errors import InputError
from ringsched.formats.catalogue import TIMED
from ringsched.formats.files import check_writable
from ringsched.formats.plan import save_plan
from ringsched.formats.traces.formats import FORMATS
from ringsched.importing import ImportedTrace, import_trace
from ringsched.workloads.mixes import MODEL_MIXES


@click.command("import", cls=Command)
@click.argument("format", metavar="FORMAT", type=Name("format", FORMATS, check=True))
@click.argument("file", metavar="FILE", type=FILE)
@scenario_output_option
@option(
    "--cluster",
    metavar="FILE",
    type=FILE,
    stated="64 servers of 8 GPUs in 8 racks",
    help="Scenario (.toml, .json) or Tiresias specification (.csv) to take the cluster from.",
)
@option(
    "--model-mix",
    "models",
    metavar="MIX",
    type=Name("mix", [*MODEL_MIXES, *TIMED], several=True),
    default="uniform",
    show_default=True,
    help=f"Models of jobs that name none: {', '.join(MODEL_MIXES)}, or weights such as resnet50:3,vgg16.",
)
@option("--seed", metavar="N", type=int, default=0, show_default=True, help="Random seed for the models.")
@option("--strict", is_flag=True, help="End at the first malformed row instead of dropping it.")
@option(
    "--as-plan",
    "plan_file",
    metavar="PLAN",
    type=FILE,
    help="philly-json: write the recorded placements as a plan.",
)
@json_option("Print the summary as JSON.")
def import_command(
    format: str, file: Path, plan_file: Path | None, output: Path | None, as_json: bool, **options: Any
) -> None:
    """Make a scenario from the trace of a real cluster.

    FORMAT is philly, philly-json, tiresias, muri, helios, acme or itp. Prints the scenario as JSON, or writes
    it with -o, and reports how many rows were read, kept and dropped, and why.
    """
    check_output(output)
    if plan_file is not None:
        _check_plan_file(plan_file, output)
    for written in (output, plan_file):
        if written is not None and written.exists() and file.exists() and written.samefile(file):
            raise InputError("is the trace itself; write to another file", file=str(written))
    with Working(f"importing {file}"), options_for_arguments({"models": "model-mix"}):
        trace = import_trace(file, format, as_plan=plan_file is not None, **options)
    with Working("writing the scenario"):
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
    from ringsched.formatting import counted, duration

    report, cluster = trace.report, trace.scenario.cluster
    lines = [f"{counted(report.rows_read, 'row')} read, {report.rows_kept} kept"]
    lines += [
        f"  dropped {counted(dropped.count, 'row')}: {dropped.reason} (first on line {dropped.first_line})"
        for dropped in report.dropped
    ]
    servers = counted(len(cluster.servers), "server")
    lines.append(
        f"{counted(report.rows_kept, 'job')} over {duration(report.span_s)}, load {report.load:.2f} "
        f"on {servers} with {counted(cluster.capacity, 'GPU')}"
    )
    lines.append(
        f"models: {report.models_named} from the trace, {report.rows_kept - report.models_named} drawn"
    )
    if report.largest_difference_s is not None:
        lines.append(f"largest difference of the plan to the record: {duration(report.largest_difference_s)}")
    lines += [] if output is None else [written_line(output)]
    return lines if plan_file is None else [*lines, f"plan written to {plan_file}"]
