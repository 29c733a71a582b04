"""`ringsched compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ringsched.analysis.compare.compare import compare
from ringsched.analysis.compare.summary import METRICS, PAIRED
from ringsched.cli.compare_tables import comparison_to_json, print_comparison
from ringsched.cli.files import options_for_arguments
from ringsched.cli.options import FILE, json_option, names_in, objective_option, output_option
from ringsched.cli.progress import RowProgress
from ringsched.model.checks import choice
from ringsched.model.contention import model_names
from ringsched.policies.custom import policy_from_file


@click.command("compare")
@click.argument("scenario_files", metavar="SCENARIO...", nargs=-1, required=True, type=FILE)
@click.option(
    "--policies",
    metavar="A,B,...",
    required=True,
    help="The first is the baseline; FILE.py:NAME is one of your own.",
)
@click.option(
    "--orders",
    metavar="A,B,...",
    default="own",
    show_default=True,
    help="Queue orders, each with every policy; own: the policy's.",
)
@click.option(
    "--seeds", metavar="N", type=int, default=1, show_default=True, help="How many, for random choices."
)
@click.option("--seed", metavar="FIRST", type=int, default=0, show_default=True, help="The first of them.")
@objective_option
@click.option(
    "--time-limit", "time_limit_s", metavar="S", type=float, help="Seconds for policies that search."
)
@click.option("--iterations", metavar="N", type=int, help="Schedules for policies that search: reproducible.")
@click.option(
    "--contention-models",
    metavar="A,B,...",
    default="",
    help=f"Compare under each: {', '.join(model_names())}. Does the ranking survive?",
)
@click.option(
    "--calibration",
    metavar="FILE",
    type=FILE,
    help="What `calibrate fit -o` wrote: numbers for all scenarios.",
)
@click.option(
    "--draws",
    metavar="N",
    type=int,
    default=0,
    show_default=True,
    help="So often again, drawn from the calibration's intervals. Is the ranking stable?",
)
@click.option(
    "--metrics", metavar="A,B,...", default=",".join(PAIRED), help=f"Columns to print: {', '.join(METRICS)}."
)
@click.option(
    "--pairs",
    metavar="A,B,...",
    default="makespan_s",
    show_default=True,
    help="Metrics to compare in pairs, each with its 95 % interval.",
)
@output_option("Keep the rows: .csv or .parquet.")
@click.option(
    "--resume/--no-resume",
    default=True,
    show_default=True,
    help="Do not compute again what the output has; --no-resume replaces it.",
)
@click.option(
    "--jobs",
    "workers",
    metavar="N",
    type=int,
    help="Processes that work; default: all cores, if there is enough to do.",
)
@click.option("--dask", metavar="ADDRESS", help="Let a Dask cluster work; the address of its scheduler.")
@json_option("Print summary and rows as JSON.")
def compare_command(
    scenario_files: tuple[Path, ...],
    metrics: str,
    pairs: str,
    output: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Compare policies over scenarios and seeds, in pairs.

    Prints the means of every policy and, against the first, the ratio of makespans (or what --pairs
    names) with a 95 % confidence interval over the scenarios. With several contention models, or draws
    from a calibration, says whether the policies keep their places.
    """
    shown = [choice(name, "--metrics", METRICS) for name in names_in(metrics)]
    paired = [choice(name, "--pairs", PAIRED) for name in names_in(pairs)]
    given |= {name: names_in(given[name]) for name in ("policies", "orders", "contention_models")}
    given["policies"] = [policy_from_file(name) or name for name in given["policies"]]
    renamed = {"workers": "jobs", "scenarios": "SCENARIO"}
    with options_for_arguments(renamed), RowProgress("comparing") as progress:
        result = compare(scenario_files, output=output, on_row=progress.on_row, **given)
    if as_json:
        click.echo(comparison_to_json(result))
    else:
        print_comparison(result, shown, paired, len(scenario_files), output)
