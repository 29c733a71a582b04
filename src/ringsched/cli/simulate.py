"""`ringsched simulate`."""

from __future__ import annotations

from pathlib import Path

import click

from ringsched.cli.outputs import check_different, check_no_input
from ringsched.cli.row_progress import RowProgress
from ringsched.cli.scenario_output import options_for_arguments
from ringsched.errors import InputError
from ringsched.io.files import check_writable
from ringsched.io.plan_file import save_plan
from ringsched.io.scenario_file import load_scenario, locate
from ringsched.io.table_file import check_table_file, save_table
from ringsched.model import OBJECTIVES
from ringsched.online.registry import BACKFILLS, DEFAULT_POLICY, ONLINE_POLICIES
from ringsched.online.simulate import simulate
from ringsched.policies.orders import ORDERS


@click.command("simulate")
@click.argument("scenario_file", metavar="SCENARIO", type=click.Path(path_type=Path))
@click.option(
    "--policy",
    metavar="NAME",
    default=DEFAULT_POLICY,
    show_default=True,
    help=f"Who goes where, and when: {', '.join(policy.name for policy in ONLINE_POLICIES)}.",
)
@click.option("--order", metavar="NAME", help=f"Queue order of those that dispatch: {', '.join(ORDERS)}.")
@click.option(
    "--backfill",
    metavar="|".join(BACKFILLS),
    default=BACKFILLS[0],
    show_default=True,
    help="Who may step past the head of the queue: nobody, or whoever does not move its start.",
)
@click.option(
    "--estimate-error",
    metavar="X",
    type=float,
    default=0.0,
    show_default=True,
    help="Make every estimate wrong by a factor between 1/(1+X) and 1+X.",
)
@click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="Of the errors.")
@click.option("--every", metavar="S", type=float, help="Plan no sooner than S seconds after the last plan.")
@click.option("--objective", metavar="NAME", help=f"What rolling improves: {', '.join(OBJECTIVES)}.")
@click.option("--time-limit", metavar="S", type=float, help="End each search of rolling after S seconds.")
@click.option(
    "--iterations",
    metavar="N",
    type=int,
    help="End each search of rolling after N schedules.  [default: 1000]",
)
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write the plan there.")
@click.option(
    "--jobs", metavar="FILE", type=click.Path(path_type=Path), help="A row for every job: .csv or .parquet."
)
@click.option(
    "--series",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Queue, GPUs and links over time: .csv or .parquet.",
)
@click.option("--step", metavar="S", type=float, help="Means and maxima over S seconds in --series.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON, with the figures over time.")
def simulate_command(
    scenario_file: Path,
    policy: str,
    order: str | None,
    backfill: str,
    estimate_error: float,
    seed: int,
    every: float | None,
    objective: str | None,
    time_limit: float | None,
    iterations: int | None,
    output: Path | None,
    jobs: Path | None,
    series: Path | None,
    step: float | None,
    as_json: bool,
) -> None:
    """Run a queue over time: jobs become known as they arrive.

    A policy sees a job from its submit time on, and of its length an estimate. Prints waiting,
    completion and slowdown by size of job, and how full the cluster was.
    """
    _check_outputs(output, jobs, series)
    if step is not None and series is None:
        raise InputError("means nothing without --series", field="--step")
    scenario = load_scenario(scenario_file)
    check_no_input([output, jobs, series], scenario_file)
    try:
        with options_for_arguments(), RowProgress("simulating") as progress:
            result = simulate(
                scenario,
                policy,
                order=order,
                backfill=backfill,
                estimate_error=estimate_error,
                seed=seed,
                every_s=every,
                objective=objective,
                time_limit_s=time_limit,
                iterations=iterations,
                on_progress=lambda standing: progress.on_row(standing.num_ended, standing.num_jobs),
            )
    except InputError as error:
        raise locate(error, scenario_file) if error.place else error from None
    from ringsched.analysis.over_time import over_time
    from ringsched.analysis.over_time_tables import job_columns, series_columns
    from ringsched.cli.simulation_tables import print_simulation, simulation_to_json

    if series is not None:
        with options_for_arguments():
            save_table(series_columns(result, step), series)
    if jobs is not None:
        save_table(job_columns(result), jobs)
    plan = result.plan() if as_json or output is not None else None
    if output is not None and plan is not None:
        save_plan(plan, output)
    if as_json and plan is not None:
        click.echo(simulation_to_json(plan, over_time(result)), nl=False)
    else:
        print_simulation(result, over_time(result), {"plan": output, "jobs": jobs, "series": series})


def _check_outputs(output: Path | None, jobs: Path | None, series: Path | None) -> None:
    """Raise if something cannot be written, before any work is done for it."""
    if output is not None:
        if output == Path("-"):
            raise InputError("names no file; --json prints the plan", field="-o -")
        check_writable(output)
    for table in (jobs, series):
        if table is not None:
            check_table_file(table)
    check_different([output, jobs, series])
