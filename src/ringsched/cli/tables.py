"""What a person sees: tables by rich."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from contextlib import nullcontext
from itertools import zip_longest
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from ringsched.bounds.reasons import reason
from ringsched.formatting import counted, duration, gap_text, percent_above
from ringsched.model import Plan, Scenario
from ringsched.model.objective import objective_named
from ringsched.model.plan import ENDINGS, JOB_HEADINGS, PROVED, STALLED, job_cells
from ringsched.policies.policy import Policy
from ringsched.verify import Verdict


def figures_table(first: str, *others: str, last: str | None = None) -> Table:
    """Return a table with a column of names, columns of figures, and perhaps one of text."""
    table = Table(box=None, pad_edge=False)
    table.add_column(first, overflow="fold")
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    if last is not None:
        table.add_column(last, overflow="fold")
    return table


MOST_ROWS = 50
MOST_NAMES = 5  # of jobs in one line
PLAIN_WIDTH = 100  # where there is no terminal whose width could be asked for


def print_plan(scenario: Scenario, plan: Plan, output: Path | None) -> None:
    """Print a plan: its jobs, its makespan, and how good that is."""
    capacity, servers = scenario.cluster.capacity, len(scenario.cluster.servers)
    parts: list[str | Table] = [
        f"{counted(len(plan.jobs), 'job')} on {counted(servers, 'server')} with {counted(capacity, 'GPU')}, "
        f"policy {plan.policy} ({', '.join(plan.choices)})"
    ]
    # A terminal shows a screenful; a file or a pipe gets everything.
    num_rows = min(len(plan.jobs), MOST_ROWS) if sys.stdout.isatty() else len(plan.jobs)
    if plan.jobs:
        parts.append(_job_table(plan, num_rows))
    if num_rows < len(plan.jobs):
        parts.append(f"... and {len(plan.jobs) - num_rows} more jobs; --json or -o give all of them")
    parts += [*([""] if plan.jobs else []), _summary(plan)]
    horizon_s = scenario.time.horizon_s
    if horizon_s is not None and plan.makespan_s >= horizon_s:
        parts.append(f"ends after the horizon of {duration(horizon_s)}, which this policy does not observe")
    parts += limits_and_deadlines(scenario, [(job.start_s, job.finish_s) for job in plan.jobs])
    if output is not None:
        parts.append(f"plan written to {output}")
    show(parts)


def limits_and_deadlines(scenario: Scenario, runs_s: Sequence[tuple[float, float]]) -> list[str]:
    """Return what to say of deadlines and time limits, if jobs have any."""
    from ringsched.analysis.metrics import deadlines_met, ended_by_limits

    lines = []
    num_met, num_deadlines = deadlines_met(scenario, [finish_s for _, finish_s in runs_s])
    if num_deadlines:
        lines.append(f"{num_met} of {counted(num_deadlines, 'deadline')} met")
    cut = ended_by_limits(scenario, runs_s)
    if cut:
        some = ", ".join(cut[:MOST_NAMES]) + (", ..." if len(cut) > MOST_NAMES else "")
        lines.append(f"warning: the time limit ends {counted(len(cut), 'job')}: {some}")
    return lines


def print_verdict(plan: Plan, plan_file: Path, verdict: Verdict) -> None:
    """Print whether a plan is valid and, if not, every violation."""
    if verdict.valid:
        objective = objective_named(plan.objective)
        totals = f"{objective.words} {objective.text(plan.objective_s)}, gap {gap_text(plan.gap)}"
        show([f"valid: {plan_file}, {counted(len(plan.jobs), 'job')}, {totals}"])
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("constraint", no_wrap=True)
    table.add_column("violation", overflow="fold")
    for violation in verdict.violations:
        table.add_row(violation.constraint, violation.message)
    show([f"invalid: {plan_file}, {counted(len(verdict.violations), 'violation')}", table])


def print_policies(policies: Sequence[Policy], orders: Sequence[str], *, online: bool) -> None:
    """Print the table of policies and the orders they can be combined with."""
    each = "; each with --backfill none or easy" if online else ""
    rows = [(policy, (policy.online or ()) if online else policy.options) for policy in policies]
    parts = [*_policy_table(rows), f"orders for --order: {', '.join(orders)}{each}"]
    if online:
        starving = ", ".join(policy.name for policy in policies if policy.may_starve)
        parts.append(
            f"can keep a job waiting for ever: {starving}, and every order but fifo; --max-wait ends it"
        )
    show(parts)


def _policy_table(rows: Sequence[tuple[Policy, Iterable[str]]]) -> list[str | Table]:
    """Return the table of policies; options are below it where it would be too wide."""
    width = Console().width if sys.stdout.isatty() else PLAIN_WIDTH
    wide = width >= PLAIN_WIDTH
    table = Table(box=None, pad_edge=False)
    for column in ("policy", "queue order", "placement", "description", *(["options"] if wide else [])):
        table.add_column(column, overflow="fold", no_wrap=column in ("policy", "queue order"))
    taken: dict[str, list[str]] = {}  # by option
    for policy, options in rows:
        shown = sorted(f"--{option}" for option in options)
        for option in shown:
            taken.setdefault(option, []).append(policy.name)
        last = [" ".join(shown)] if wide else []
        table.add_row(policy.name, policy.order, policy.rule, policy.summary, *last)
    if wide:
        table.columns[-1].min_width = max(map(len, taken), default=0)  # no option is broken
        return [table]
    names = {policy.name for policy, _ in rows}
    return [table, *(f"{option}: {_all_but(names, having)}" for option, having in sorted(taken.items()))]


def _all_but(names: Collection[str], having: Sequence[str]) -> str:
    """Return which policies have an option, in the shorter way."""
    missing = sorted(set(names) - set(having))
    if not missing:
        return "all policies"
    return f"all but {', '.join(missing)}" if len(missing) < len(having) else ", ".join(having)


def _job_table(plan: Plan, num_rows: int) -> Table:
    *figures, where = JOB_HEADINGS
    table = figures_table(*figures, last=where)
    for job in plan.jobs[:num_rows]:
        table.add_row(*job_cells(job))
    return table


def _summary(plan: Plan) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("makespan", duration(plan.makespan_s), "")
    table.add_row("mean completion", duration(plan.mean_completion_s), "")
    if plan.weighted_completion_s is not None:
        table.add_row("weighted completion", duration(plan.weighted_completion_s), "")
    why = reason(plan.bounds[0]) if plan.bounds else ""
    objective = objective_named(plan.objective)
    if objective.is_ratio:
        table.add_row(objective.words, objective.text(plan.objective_s), "")
    if not objective.is_default:
        why = f"on the {objective.words}; {why}"
    table.add_row("lower bound", objective.text(plan.lower_bound_s), why)
    table.add_row("gap", percent_above(plan.gap), plan.quality)
    if plan.ended is not None and plan.ended != PROVED:  # which the quality says
        tried = plan.params.get("iterations") if plan.ended == STALLED else None
        count = f" ({tried} schedules tried)" if tried else ""
        table.add_row("search ended", "", f"{ENDINGS[plan.ended]}{count}")
    return table


def show(parts: Sequence[str | Table]) -> None:
    """Print to a terminal in its width; elsewhere in a fixed width, without trailing spaces."""
    watched = sys.stdout.isatty()
    # Names are printed as they are: "[red]" and ":cat:" mean nothing to us.
    console = Console(width=None if watched else PLAIN_WIDTH, markup=False, emoji=False, highlight=False)
    with nullcontext() if watched else console.capture() as captured:
        width = console.width
        for part in parts:
            widths = _widths(part, width) if isinstance(part, Table) else None
            if isinstance(part, Table) and widths is not None:
                _print_long(console, part, widths)
            else:
                console.width = max(width, _least_width(part)) if isinstance(part, Table) else width
                console.print(part, soft_wrap=isinstance(part, str) and not watched)
    if captured is not None:
        sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _least_width(table: Table) -> int:
    """Return the width without which columns that must not be folded would be cut."""
    widths = [(max(map(_width, _cells(column))), column.no_wrap) for column in table.columns]
    return sum(width if whole else min(width, NARROWEST) for width, whole in widths) + GAP * (len(widths) - 1)


LONG = 200  # rows; beyond, half a millisecond a row is too much
NARROWEST = 8  # column that is still folded
GAP = 2  # spaces between columns


def _widths(table: Table, width: int) -> list[int] | None:
    """Return how wide the columns of a long table are; None for rich to lay it out.

    As rich does, the widest of the columns that may fold give way, one cell at a time.
    """
    if table.row_count <= LONG:
        return None
    widths = [max(map(_width, _cells(column))) for column in table.columns]
    padding = [GAP if 0 < at < len(widths) - 1 else GAP // 2 for at in range(len(widths))]
    folding = [at for at, each in enumerate(table.columns) if each.overflow == "fold" and not each.no_wrap]
    for _ in range(sum(widths) + GAP * (len(widths) - 1) - width):
        widest = max(folding, key=lambda at: widths[at] + padding[at], default=None)
        if widest is None or widths[widest] <= NARROWEST:
            return None
        widths[widest] -= 1
    return widths


def _print_long(console: Console, table: Table, widths: Sequence[int]) -> None:
    """Print a long table as rich would, in a fraction of the time: rich measures and styles every cell."""
    right = [column.justify == "right" for column in table.columns]
    heading, *rows = (
        [_folded(console, cell, width) for cell, width in zip(row, widths, strict=True)]
        for row in zip(*map(_cells, table.columns), strict=True)
    )
    if table.show_header:
        # Headings are aligned to the last of their lines.
        upside_down = zip_longest(*(lines[::-1] for lines in heading), fillvalue="")
        shown = [_line(cells, widths, right) for cells in list(upside_down)[::-1]]
        console.print(Text("\n".join(shown), style="table.header"), soft_wrap=True)
    body = (_line(cells, widths, right) for row in rows for cells in zip_longest(*row, fillvalue=""))
    console.out("\n".join(body), highlight=False)


def _cells(column: Column) -> list[str]:
    return [str(column.header), *map(str, column.cells)]


def _length(line: str) -> int:
    """Return how many places of a terminal a line takes; of most lines that is known without a table."""
    return len(line) if line.isascii() and line.isprintable() else cell_len(line)


def _width(cell: str) -> int:
    return max(map(_length, cell.split("\n")))


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    return (" " * GAP).join(map(_aligned, cells, widths, right)).rstrip()


def _folded(console: Console, cell: str, width: int) -> list[str]:
    if _length(cell) <= width and "\n" not in cell:
        return [cell]
    return [line.plain.rstrip() for line in Text(cell).wrap(console, width, overflow="fold")]


def _aligned(line: str, width: int, right: bool) -> str:
    space = " " * (width - _length(line))
    return space + line if right else line + space
