"""`ringsched compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ringsched.analysis.compare.compare import compare
from ringsched.analysis.compare.summary import METRICS, PAIRED, USUAL
from ringsched.cli.command import SEARCH, Command, option
from ringsched.cli.compare_tables import comparison_to_json, print_comparison
from ringsched.cli.files import options_for_arguments
from ringsched.cli.options import (
    FILE,
    POLICIES,
    json_option,
    limit_options,
    names_in,
    objective_option,
    output_option,
    set_option,
    workers_option,
)
from ringsched.cli.progress import RowProgress
from ringsched.cli.values import Name
from ringsched.errors import InputError
from ringsched.model.checks import choice
from ringsched.model.contention import model_names
from ringsched.policies.custom import policy_from_file
from ringsched.policies.policy import ORDERS
from ringsched.policies.table import policies

ROBUSTNESS = "Robustness"
# The metric of each objective. A gap is about the objective, and all policies have the same bound.
OF_OBJECTIVE = {
    "makespan": "makespan_s",
    "mean-completion": "mean_completion_s",
    "weighted-completion": "gap",
    "max-slowdown": "max_slowdown",
}


@click.command("compare", cls=Command)
@click.argument("scenario_files", metavar="SCENARIO...", nargs=-1, required=True, type=FILE)
@option(
    "--policies",
    metavar="A,B,...",
    type=POLICIES,
    multiple=True,
    required=True,
    help="Policies to compare. The first is the baseline. FILE.py:NAME loads a custom policy.",
)
@option(
    "--seeds",
    metavar="N",
    type=int,
    default=1,
    show_default=True,
    help="Number of seeds for policies that use them.",
)
@objective_option()
@limit_options("the search", time="10s")
@set_option
@output_option("Keep one row per run in a .csv or .parquet file.")
@json_option("Print summary and rows as JSON.")
@option(
    "--metrics",
    metavar="A,B,...",
    type=Name("metric", METRICS, several=True),
    multiple=True,
    stated="all but lower_bound_s, and max_slowdown only if it is the objective",
    help="Columns to print.",
)
@option(
    "--pairs",
    metavar="A,B,...",
    type=Name("metric", PAIRED, several=True),
    multiple=True,
    stated="that of --objective",
    help="Metrics to compare in pairs, with 95 % intervals.",
)
@option(
    "--resume/--no-resume",
    default=True,
    help="Reuse the rows of FILE (default), or replace them.",
)
@option(
    "--contention-models",
    metavar="A,B,...",
    type=Name("contention model", lambda _: model_names(), several=True),
    multiple=True,
    help="Compare under each model and report whether the ranking stays the same.",
    group=ROBUSTNESS,
)
@option(
    "--calibration",
    metavar="FILE",
    type=FILE,
    help="Use the numbers that `calibrate fit -o` wrote.",
    group=ROBUSTNESS,
)
@option(
    "--draws",
    metavar="N",
    type=int,
    default=0,
    show_default=True,
    help="Repeat N times with sampled parameters.",
    group=ROBUSTNESS,
)
@option(
    "--orders",
    metavar="A,B,...",
    type=Name("order", ["own", *ORDERS], several=True),
    multiple=True,
    default=["own"],
    show_default=True,
    help="Queue orders to combine with every policy; own is that of the policy.",
    group=SEARCH,
)
@option(
    "--first-seed",
    "seed",
    metavar="N",
    type=int,
    default=0,
    show_default=True,
    help="First seed.",
    group=SEARCH,
)
@workers_option("Number of processes.")
@option("--dask", metavar="ADDRESS", help="Address of a Dask scheduler that runs the work.", group=SEARCH)
def compare_command(
    scenario_files: tuple[Path, ...],
    metrics: tuple[str, ...],
    pairs: tuple[str, ...],
    output: Path | None,
    as_json: bool,
    time_limit: float | None,
    max_schedules: int | None,
    **given: Any,
) -> None:
    """Compare policies over many scenarios, with confidence intervals.

    Prints the means of every policy, and its objective (or --pairs) relative to the baseline, with a 95 %
    confidence interval over the pairs.
    """
    given |= {"time_limit_s": time_limit, "max_schedules": max_schedules}
    shown = [_metric(name, "--metrics", METRICS) for name in names_in(*metrics)]
    shown = shown or [name for name in PAIRED if name in (*USUAL, OF_OBJECTIVE[given["objective"]])]
    paired = [_metric(name, "--pairs", PAIRED) for name in names_in(*pairs)]
    given |= {name: names_in(*given[name]) for name in ("policies", "orders", "contention_models")}
    given["policies"] = [policy_from_file(name) or name for name in given["policies"]]
    _check_files(scenario_files)
    renamed = {"seed": "first-seed", "scenarios": "SCENARIO"}
    with options_for_arguments(renamed), RowProgress("comparing") as progress:
        result = compare(scenario_files, output=output, on_row=progress.on_row, **given)
    if as_json:
        click.echo(comparison_to_json(result))
    else:
        compared = paired or [OF_OBJECTIVE[given["objective"]]]
        print_comparison(result, shown, compared, len(scenario_files), output)


def _metric(name: str, option: str, known: tuple[str, ...]) -> str:
    """Return a metric, whose name may be written without its unit and with hyphens."""
    full = name.replace("-", "_")
    return choice(f"{full}_s" if f"{full}_s" in known else full if full in known else name, option, known)


def _check_files(scenario_files: tuple[Path, ...]) -> None:
    """Raise if a file that is not there has the name of a policy, as after `--policies lwf, fifo`."""
    for path in scenario_files:
        if str(path).rstrip(",") in {policy.name for policy in policies()} and not path.exists():
            problem = "there is no such file; separate policies by commas without spaces: --policies a,b"
            raise InputError(problem, file=str(path))
