"""What a person sees: tables by rich."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ringsched.model import Certificate, Placement, Plan, Scenario
from ringsched.model.objective import objective_named
from ringsched.phrases import choices, counted, figure, quality, reason, seconds
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
PLAIN_WIDTH = 100  # where there is no terminal whose width could be asked for


def print_plan(scenario: Scenario, plan: Plan, output: Path | None) -> None:
    """Print a plan: its jobs, its makespan, and how good that is."""
    capacity, servers = scenario.cluster.capacity, len(scenario.cluster.servers)
    parts: list[str | Table] = [
        f"{counted(len(plan.jobs), 'job')} on {counted(servers, 'server')} with {counted(capacity, 'GPU')}, "
        f"policy {plan.policy} ({', '.join(choices(plan))})"
    ]
    # Someone who watches sees a screenful; a file or the next command in a pipe gets all.
    num_rows = min(len(plan.jobs), MOST_ROWS) if sys.stdout.isatty() else len(plan.jobs)
    if plan.jobs:
        parts.append(_job_table(plan, num_rows))
    if num_rows < len(plan.jobs):
        parts.append(f"... and {len(plan.jobs) - num_rows} more jobs; --json or -o give all of them")
    parts.append(_summary(plan))
    horizon_s = scenario.time.horizon_s
    if horizon_s is not None and plan.makespan_s >= horizon_s:
        parts.append(f"ends after the horizon of {seconds(horizon_s)}, which this policy does not observe")
    if output is not None:
        parts.append(f"plan written to {output}")
    show(parts)


def print_verdict(plan: Plan, plan_file: Path, verdict: Verdict) -> None:
    """Print whether a plan is valid and, if not, every violation."""
    if verdict.valid:
        totals = f"{objective_named(plan.objective).words} {seconds(plan.objective_s)}, gap {plan.gap:.3f}"
        show([f"valid: {plan_file}, {counted(len(plan.jobs), 'job')}, {totals}"])
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("constraint", no_wrap=True)
    table.add_column("violation", overflow="fold")
    for violation in verdict.violations:
        table.add_row(violation.constraint, violation.message)
    show([f"invalid: {plan_file}, {counted(len(verdict.violations), 'violation')}", table])


def print_policies(policies: Sequence[Policy], orders: Sequence[str]) -> None:
    """Print the table of policies and the orders they can be combined with."""
    table = Table(box=None, pad_edge=False)
    for column in ("policy", "queue order", "placement", "search", "options"):
        table.add_column(column, overflow="fold", no_wrap=column == "policy")
    for policy in policies:
        options = " ".join(f"--{option}" for option in sorted(policy.options))
        table.add_row(policy.name, policy.order, policy.rule, policy.search, options)
    show([table, f"orders for --order: {', '.join(orders)}"])


def print_online_policies(policies: Sequence[Policy], orders: Sequence[str]) -> None:
    """Print the table of policies for jobs that arrive over time."""
    table = Table(box=None, pad_edge=False)
    for column in ("policy", "queue order", "placement", "what it is", "options"):
        table.add_column(column, overflow="fold", no_wrap=column in ("policy", "queue order"))
    for policy in policies:
        options = " ".join(f"--{option}" for option in sorted(policy.online or ()))
        table.add_row(policy.name, policy.order, policy.rule, policy.summary, options)
    show([table, f"orders for --order: {', '.join(orders)}; each with --backfill none or easy"])


def placed(placement: Placement) -> str:
    """Return a placement in short.

    Examples
    --------
    >>> placed(Placement({"a": [0, 1, 2, 5], "b": [3]}))
    'a:0-2,5 b:3'
    """
    return " ".join(f"{server}:{_ranges(held)}" for server, held in placement.items())


def _job_table(plan: Plan, num_rows: int) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("job", overflow="fold")
    for column in ("GPUs", "start s", "finish s"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("servers:GPUs", overflow="fold")
    for job in plan.jobs[:num_rows]:
        times = (figure(job.start_s), figure(job.finish_s))
        table.add_row(job.name, str(job.gpus.num_gpus), *times, placed(job.gpus))
    return table


def _summary(plan: Plan) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("makespan", seconds(plan.makespan_s), "")
    table.add_row("mean completion", seconds(plan.mean_completion_s), "")
    if plan.weighted_completion_s is not None:
        table.add_row("weighted completion", seconds(plan.weighted_completion_s), "")
    why = reason(plan.bounds[0]) if plan.bounds else ""
    objective = objective_named(plan.objective)
    if not objective.is_default:
        why = f"on the {objective.words}; {why}"
    table.add_row("lower bound", seconds(plan.lower_bound_s), why)
    table.add_row("gap", f"{plan.gap:.3f}", quality(plan))
    if plan.certificate is not None:
        table.add_row("claimed ratio", figure(plan.certificate.claimed_ratio), _certificate(plan.certificate))
    return table


def _certificate(certificate: Certificate) -> str:
    """Return the factors of the ratio that the paper's theorem claims, by its letters."""
    factors = (
        f"n_g {certificate.largest_job} x phi {figure(certificate.worst_over_best)} "
        f"x u {figure(certificate.overestimate)} / l {figure(certificate.underestimate)}"
    )
    load = f"W_max {figure(certificate.max_load)} of theta {certificate.theta}"
    return f"{factors}; measured {figure(certificate.measured_ratio)}; {load}"


def _ranges(indices: Sequence[int]) -> str:
    runs = [
        [index for _, index in group]
        for _, group in groupby(enumerate(indices), key=lambda pair: pair[1] - pair[0])
    ]
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def show(parts: Sequence[str | Table]) -> None:
    """Print to a terminal in its width; elsewhere in a fixed width, without trailing spaces."""
    watched = sys.stdout.isatty()
    # Names are printed as they are: "[red]" and ":cat:" mean nothing to us.
    console = Console(width=None if watched else PLAIN_WIDTH, markup=False, emoji=False, highlight=False)
    with nullcontext() if watched else console.capture() as captured:
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, str))
    if captured is not None:
        sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())
