"""`ringsched compare`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

from ringsched.analysis.compare import Comparison, compare
from ringsched.analysis.summary import METRICS, PolicySummary, Ratio
from ringsched.cli.progress import SILENT_S
from ringsched.errors import InputError
from ringsched.model import OBJECTIVES
from ringsched.model.checks import choice

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table

OPTION_OF = {"workers": "--jobs", "scenarios": "SCENARIO"}  # where it is not the field's own name
HEADINGS = {
    "makespan_s": "makespan\ns",
    "mean_completion_s": "mean\ns",
    "p95_completion_s": "p95\ns",
    "gpu_utilisation": "GPUs\nheld",
    "contention_loss": "lost to\ncontention",
    "spreading_loss": "lost to\nspreading",
    "lower_bound_s": "bound\ns",
    "gap": "gap",
    "planning_s": "planning\ns",
}
SHARES = ("gpu_utilisation", "contention_loss", "spreading_loss")
# The bound is the same for all policies, and in the gap.
SHOWN = tuple(name for name in METRICS if name != "lower_bound_s")


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
@click.option(
    "--metrics", metavar="A,B,...", default=",".join(SHOWN), help=f"Columns to print: {', '.join(METRICS)}."
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
    metrics: str,
    output: Path | None,
    resume: bool,
    jobs: int | None,
    dask: str | None,
    as_json: bool,
) -> None:
    """Compare policies over scenarios and seeds, in pairs.

    Prints the means of every policy and, against the first, the ratio of makespans with a 95 % confidence
    interval over the scenarios.
    """
    shown = [choice(name, "--metrics", METRICS) for name in _names(metrics)]
    try:
        with RowProgress() as progress:
            result = compare(
                scenario_files,
                _names(policies),
                orders=_names(orders),
                seeds=seeds,
                seed=seed,
                objective=objective,
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
        print_comparison(result, shown, len(scenario_files), output)


class RowProgress:
    """A bar on a terminal, once the work takes longer than two seconds."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._bar: Progress | None = None

    def on_row(self, done: int, total: int) -> None:
        """Show how many rows are done."""
        if self._bar is None:
            if time.monotonic() - self._started < SILENT_S or not sys.stderr.isatty():
                return
            self._bar = _bar()
        self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    def __enter__(self) -> RowProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def comparison_to_json(result: Comparison) -> str:
    """Return summary and rows as JSON."""
    import json
    from dataclasses import asdict

    content: dict[str, Any] = {
        "baseline": _label(result, result.summary[0]),
        "summary": [asdict(summary) for summary in result.summary],
        "rows": [asdict(row) for row in result.rows],
    }
    return json.dumps(content, indent=1)


def print_comparison(result: Comparison, metrics: list[str], num_scenarios: int, output: Path | None) -> None:
    """Print the means, then the pairs."""
    from ringsched.cli.tables import counted, show

    runs = f"{counted(len(result.rows), 'run')}, {counted(num_scenarios, 'scenario')}"
    parts: list[str | Table] = [f"{runs}; means over the feasible runs"]
    parts += [_means_table(result, metrics), *_infeasible(result)]
    if len(result.summary) > 1:
        baseline = _label(result, result.summary[0])
        parts += ["", f"makespan against {baseline}, in pairs; below 1 is better", _pairs_table(result)]
    if output is not None:
        resumed = f", {result.num_resumed} of them from before" if result.num_resumed else ""
        parts += ["", f"{counted(len(result.rows), 'row')} in {output}{resumed}"]
    show(parts)


def _means_table(result: Comparison, metrics: list[str]) -> Table:
    table = _table("policy", "n", *(HEADINGS[name] for name in metrics))
    for summary in result.summary:
        means = [_shown(name, summary.means[name]) if summary.means else "-" for name in metrics]
        table.add_row(_label(result, summary), str(summary.num_runs - summary.num_infeasible), *means)
    return table


def _infeasible(result: Comparison) -> list[str]:
    counts = [
        f"{_label(result, summary)} {summary.num_infeasible} of {summary.num_runs}"
        for summary in result.summary
        if summary.num_infeasible
    ]
    return [f"infeasible, in no mean and no pair: {', '.join(counts)}"] if counts else []


def _pairs_table(result: Comparison) -> Table:
    table = _table("policy", "pairs", "left out", "ratio", "95 % interval")
    for summary in result.summary:
        if (ratio := summary.makespan_ratio) is not None:
            counts = (str(ratio.num_pairs), str(ratio.num_left_out))
            mean = "-" if ratio.mean is None else f"{ratio.mean:.3f}"
            table.add_row(_label(result, summary), *counts, mean, _interval(ratio))
    return table


def _table(first: str, *others: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column(first, overflow="fold", vertical="bottom")
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _label(result: Comparison, summary: PolicySummary) -> str:
    """Return the policy's name, with the order if the policy stands there under several."""
    alone = sum(other.policy == summary.policy for other in result.summary) == 1
    return summary.policy if alone else f"{summary.policy} ({summary.order})"


def _shown(metric: str, value: float) -> str:
    from ringsched.cli.figures import figure

    if metric in SHARES:
        return f"{100 * value:.1f} %"
    return f"{value:.3f}" if metric == "gap" else figure(value)


def _interval(ratio: Ratio) -> str:
    if ratio.low is None or ratio.high is None:
        return "-"
    return f"{ratio.low:.3f} to {ratio.high:.3f}"


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("comparing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task("comparing")
    bar.start()
    return bar


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]


def _option_error(error: InputError) -> InputError:
    """Return the error under the name of the option; what has a place stands in a file."""
    if error.file or error.place or error.field is None:
        return error
    return InputError(error.problem, field=OPTION_OF.get(error.field, f"--{error.field}"))
