"""`ringsched simulate`: what a person sees of it, and what a program gets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from ringsched.analysis.certified import CertifiedGap, certified_gaps
from ringsched.analysis.over_time import OverTime, SizeClass, over_time, series_columns
from ringsched.analysis.overload import simulation_warning
from ringsched.bounds.reasons import reason
from ringsched.cli.command import OUTPUT, SEARCH, Command, option
from ringsched.cli.files import check_different, check_no_input, check_plan_output, options_for_arguments
from ringsched.cli.options import (
    FILE,
    ONLINE_POLICY,
    json_option,
    limit_options,
    objective_option,
    order_option,
    output_option,
    scenario_argument,
    seed_option,
    set_option,
)
from ringsched.cli.progress import RowProgress
from ringsched.cli.tables import limits_and_deadlines, show
from ringsched.cli.values import DURATION, Name
from ringsched.errors import InputError
from ringsched.formats.files import check_table_file, save_table
from ringsched.formats.plan import plan_to_json, save_plan
from ringsched.formats.scenario import load_scenario, locate
from ringsched.formatting import counted, duration, figure, percent_above
from ringsched.model import Plan
from ringsched.model.objective import objective_named
from ringsched.online.settings import BACKFILLS, EASY, Standing
from ringsched.online.simulate import simulate
from ringsched.online.simulation import Simulation
from ringsched.policies.custom import policy_from_file
from ringsched.policies.policy import Observer, Stop
from ringsched.policies.table import DEFAULT_ONLINE_POLICY


def print_simulation(
    simulation: Simulation,
    result: OverTime,
    gaps: Sequence[CertifiedGap],
    files: Mapping[str, Path | None],
) -> None:
    """Print waiting, completion and slowdown by size, how the cluster was used, and what was possible."""
    cluster = simulation.scenario.cluster
    parts: list[str | Table] = [
        f"{counted(result.num_jobs, 'job')} on {counted(len(cluster.servers), 'server')} with "
        f"{counted(cluster.capacity, 'GPU')}, policy {simulation.policy} ({', '.join(_choices(simulation))})"
    ]
    if result.num_jobs:
        parts += [_by_size(result), ""]
    parts.append(_summary(simulation, result))
    runs_s = zip(simulation.start_s.tolist(), simulation.finish_s.tolist(), strict=True)
    parts += limits_and_deadlines(simulation.scenario, list(runs_s))
    if gaps:
        parts += ["", _certified(gaps)]
    parts += [f"{what} written to {path}" for what, path in files.items() if path is not None]
    show(parts)


def simulation_to_json(plan: Plan, result: OverTime, gaps: Sequence[CertifiedGap]) -> str:
    """Return the text of the plan, with the figures over time as `simulation`."""
    head, _, rest = plan_to_json(plan).partition("\n")
    certified = {
        each.objective: {
            "value_s": each.value_s,
            "bound_s": each.bound_s,
            "gap": each.gap,
            "bound": each.bound.name,
            "terms": dict(each.bound.terms),
        }
        for each in gaps
    }
    figures = asdict(result) | {"certified": certified}
    return "\n".join([head, f' "simulation": {json.dumps(figures)},', rest])


def _choices(simulation: Simulation) -> list[str]:
    chosen = [f"order {simulation.order}", f"backfill {simulation.backfill}"]
    if simulation.estimate_error:
        chosen.append(f"estimate error {simulation.estimate_error:g}")
    return [*chosen, f"seed {simulation.seed}"] if simulation.seed else chosen


def _by_size(result: OverTime) -> Table:
    table = Table(box=None, pad_edge=False)
    figures = [(f"mean\n{name}", "95th\npct.") for name in ("waiting", "completion", "slowdown")]
    headings = ("GPUs", "jobs", *(heading for pair in figures for heading in pair))
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for size in result.by_size:
        table.add_row(*_row(size))
    return table


def _row(size: SizeClass) -> tuple[str, ...]:
    return (
        size.size,
        str(size.num_jobs),
        *(duration(size.mean_waiting_s), duration(size.p95_waiting_s)),
        *(duration(size.mean_completion_s), duration(size.p95_completion_s)),
        *(f"{size.mean_slowdown:.2f}", f"{size.p95_slowdown:.2f}"),
    )


def _summary(simulation: Simulation, result: OverTime) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("makespan", duration(result.makespan_s), "")
    rest = f"{duration(result.mean_waiting_s)} of it waiting; slowdown {result.mean_slowdown:.2f}"
    table.add_row("mean completion", duration(result.mean_completion_s), rest)
    if result.by_size:
        by_size = ", ".join(
            f"{duration(each.max_waiting_s)} ({each.size} {'GPU' if each.size == '1' else 'GPUs'})"
            for each in result.by_size
        )
        table.add_row("longest wait", duration(max(each.max_waiting_s for each in result.by_size)), by_size)
    table.add_row("queue", str(result.max_queue), f"at most; {figure(result.mean_queue)} on average")
    table.add_row(
        "GPU utilisation", f"{100 * result.gpu_utilisation:.1f} %", "on average, to the last finish"
    )
    table.add_row("links contended", figure(result.mean_contended_links), "on average")
    if simulation.backfill == EASY:
        share = 100 * result.num_backfilled / max(1, result.num_jobs)
        table.add_row(
            "backfilled", f"{share:.1f} %", f"of all starts: {counted(result.num_backfilled, 'job')}"
        )
        broken = f"to heads of the queue, {result.num_broken_promises} of them broken"
        table.add_row("promises", str(result.num_promises), broken)
    if result.num_plans:
        table.add_row("plans", str(result.num_plans), "made on the way")
    return table


def _certified(gaps: Sequence[CertifiedGap]) -> Table:
    """Return the lower bounds that no policy can beat, and how far above them the simulation is."""
    table = Table(box=None, pad_edge=False)
    for heading in ("objective", "reached", "lower bound", "gap"):
        table.add_column(heading, justify="left" if heading == "objective" else "right", no_wrap=True)
    table.add_column("because of", overflow="fold")
    for each in gaps:
        reached, bound_s = duration(each.value_s), duration(each.bound_s)
        words = objective_named(each.objective).words
        table.add_row(words, reached, bound_s, percent_above(each.gap), reason(each.bound))
    return table


class _Shown(Observer):
    def __init__(self, bar: RowProgress) -> None:
        self._bar = bar

    def progress(self, standing: Standing) -> None:
        self._bar.on_row(standing.num_ended, standing.num_jobs)


@click.command("simulate", cls=Command)
@scenario_argument
@option(
    "--policy",
    metavar="NAME|FILE.py:NAME",
    type=ONLINE_POLICY,
    default=DEFAULT_ONLINE_POLICY,
    show_default=True,
    help="Policy; `ringsched policies --online` lists them. FILE.py:NAME loads yours.",
)
@option(
    "--backfill",
    metavar="|".join(BACKFILLS),
    type=Name("backfill", BACKFILLS),
    default=BACKFILLS[0],
    show_default=True,
    help="easy: a job may overtake the head of the queue if that does not delay the head.",
)
@set_option
@order_option("Queue order; `ringsched policies --online` lists them.")
@objective_option(None, stated="mean-completion with rolling, else makespan", group=SEARCH)
@limit_options("each search of rolling", schedules="at most 1000")
@option(
    "--replan-every",
    "every_s",
    metavar="DURATION",
    type=DURATION,
    help="Shortest time between two plans.",
    group=SEARCH,
)
@option(
    "--max-wait",
    "max_wait_s",
    metavar="DURATION",
    type=DURATION,
    help="Jobs that have waited so long go first.",
    group=SEARCH,
)
@option(
    "--estimate-error",
    metavar="X",
    type=float,
    default=0.0,
    show_default=True,
    help="Make every estimate wrong by a factor between 1/(1+X) and 1+X.",
    group=SEARCH,
)
@seed_option("Random seed for the estimate errors and for rolling.")
@output_option("Write what happened as a plan.", group=OUTPUT)
@option(
    "--jobs-csv",
    "jobs",
    metavar="FILE",
    type=FILE,
    help="Write a row per job: .csv or .parquet.",
    group=OUTPUT,
)
@option(
    "--series-csv",
    "series",
    metavar="FILE",
    type=FILE,
    help="Write the state over time: .csv or .parquet.",
    group=OUTPUT,
)
@option(
    "--series-step",
    "step",
    metavar="DURATION",
    type=DURATION,
    help="Write --series-csv in steps of this time.",
    group=OUTPUT,
)
@json_option("Print the plan as JSON, with the figures over time.", group=OUTPUT)
def simulate_command(
    scenario_file: Path,
    overrides: tuple[str, ...],
    output: Path | None,
    jobs: Path | None,
    series: Path | None,
    step: float | None,
    time_limit: float | None,
    max_schedules: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Simulate a queue of jobs that arrive over time.

    The policy sees a job from its submit time on, and an estimate of its duration. Results are by job size.
    """
    _check_outputs(output, jobs, series)
    if step is not None and series is None:
        raise InputError("is only allowed with --series-csv", field="--series-step")
    given["policy"] = policy_from_file(given["policy"]) or given["policy"]
    scenario = load_scenario(scenario_file, overrides)
    check_no_input([output, jobs, series], scenario_file)
    stop = Stop(time_limit_s=time_limit, max_schedules=max_schedules)
    try:
        with (
            options_for_arguments({"every_s": "replan-every", "max_wait_s": "max-wait"}),
            RowProgress("simulating") as progress,
        ):
            result = simulate(scenario, stop=stop, observer=_Shown(progress), **given)
    except InputError as error:
        raise locate(error, scenario_file) if error.place else error from None
    if series is not None:
        with options_for_arguments({"step": "series-step"}):
            save_table(series_columns(result, step), series)
    if jobs is not None:
        save_table(result.columns, jobs)
    plan = result.plan() if as_json or output is not None else None
    if output is not None and plan is not None:
        save_plan(plan, output)
    warning, gaps = simulation_warning(result), certified_gaps(result)
    if as_json and plan is not None:
        click.echo(simulation_to_json(plan, over_time(result), gaps), nl=False)
    else:
        print_simulation(result, over_time(result), gaps, {"plan": output, "jobs": jobs, "series": series})
    if warning is not None:
        click.echo(f"Warning: {warning}", err=as_json)  # stdout holds the JSON


def _check_outputs(output: Path | None, jobs: Path | None, series: Path | None) -> None:
    """Raise if something cannot be written, before any work is done for it."""
    check_plan_output(output)
    for table in (jobs, series):
        if table is not None:
            check_table_file(table)
    check_different([output, jobs, series])
