"""`ringsched compare`."""

from __future__ import annotations

from pathlib import Path

import click

from ringsched.analysis.compare.compare import compare
from ringsched.analysis.compare.summary import METRICS, PAIRED
from ringsched.cli.compare_tables import comparison_to_json, print_comparison
from ringsched.cli.progress import RowProgress
from ringsched.errors import InputError
from ringsched.model import OBJECTIVES
from ringsched.model.checks import choice
from ringsched.model.contention import model_names

OPTION_OF = {"workers": "--jobs", "scenarios": "SCENARIO"}  # where it is not the field's own name


@click.command("compare")
@click.argument(
    "scenario_files", metavar="SCENARIO...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--policies", metavar="A,B,...", required=True, help="Policies to compare; the first is the baseline."
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
@click.option(
    "--objective",
    metavar="NAME",
    default=OBJECTIVES[0],
    show_default=True,
    help=f"What bound and gap are about: {', '.join(OBJECTIVES)}.",
)
@click.option("--time-limit", metavar="S", type=float, help="Seconds for policies that search.")
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
    type=click.Path(path_type=Path),
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
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Keep the rows: .csv or .parquet."
)
@click.option(
    "--resume/--no-resume",
    default=True,
    show_default=True,
    help="Do not compute again what the output has; --no-resume replaces it.",
)
@click.option(
    "--jobs", metavar="N", type=int, help="Processes that work; default: all cores, if there is enough to do."
)
@click.option("--dask", metavar="ADDRESS", help="Let a Dask cluster work; the address of its scheduler.")
@click.option("--json", "as_json", is_flag=True, help="Print summary and rows as JSON.")
def compare_command(
    scenario_files: tuple[Path, ...],
    policies: str,
    orders: str,
    seeds: int,
    seed: int,
    objective: str,
    time_limit: float | None,
    iterations: int | None,
    contention_models: str,
    calibration: Path | None,
    draws: int,
    metrics: str,
    pairs: str,
    output: Path | None,
    resume: bool,
    jobs: int | None,
    dask: str | None,
    as_json: bool,
) -> None:
    """Compare policies over scenarios and seeds, in pairs.

    Prints the means of every policy and, against the first, the ratio of makespans (or what --pairs
    names) with a 95 % confidence interval over the scenarios. With several contention models, or draws
    from a calibration, says whether the policies keep their places.
    """
    shown = [choice(name, "--metrics", METRICS) for name in _names(metrics)]
    paired = [choice(name, "--pairs", PAIRED) for name in _names(pairs)]
    try:
        with RowProgress("comparing") as progress:
            result = compare(
                scenario_files,
                _names(policies),
                orders=_names(orders),
                seeds=seeds,
                seed=seed,
                objective=objective,
                time_limit_s=time_limit,
                iterations=iterations,
                contention_models=_names(contention_models),
                calibration=calibration,
                draws=draws,
                output=output,
                resume=resume,
                workers=jobs,
                dask=dask,
                on_row=progress.on_row,
            )
    except InputError as error:
        raise _option_error(error) from None
    if as_json:
        click.echo(comparison_to_json(result))
    else:
        print_comparison(result, shown, paired, len(scenario_files), output)


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]


def _option_error(error: InputError) -> InputError:
    """Return the error under the name of the option; what has a place stands in a file."""
    if error.file or error.place or error.field is None:
        return error
    return InputError(error.problem, field=OPTION_OF.get(error.field, f"--{error.field}"))
