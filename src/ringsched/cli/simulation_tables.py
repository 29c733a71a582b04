"""What a person sees of a simulation over time, and what a program gets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from ringsched.analysis.over_time import OverTime, SizeClass
from ringsched.cli.tables import show
from ringsched.io.plan_file import plan_to_json
from ringsched.model import Plan
from ringsched.online.registry import EASY
from ringsched.online.simulation import Simulation
from ringsched.words.figures import counted, figure, seconds


def print_simulation(simulation: Simulation, result: OverTime, files: Mapping[str, Path | None]) -> None:
    """Print waiting, completion and slowdown by size, and how the cluster was used."""
    cluster = simulation.scenario.cluster
    parts: list[str | Table] = [
        f"{counted(result.num_jobs, 'job')} on {counted(len(cluster.servers), 'server')} with "
        f"{counted(cluster.capacity, 'GPU')}, policy {simulation.policy} ({', '.join(_choices(simulation))})"
    ]
    if result.num_jobs:
        parts.append(_by_size(result))
    parts.append(_summary(simulation, result))
    parts += [f"{what} written to {path}" for what, path in files.items() if path is not None]
    show(parts)


def simulation_to_json(plan: Plan, result: OverTime) -> str:
    """Return the text of the plan, with the figures over time as `simulation`."""
    head, _, rest = plan_to_json(plan).partition("\n")
    return "\n".join([head, f' "simulation": {json.dumps(asdict(result))},', rest])


def _choices(simulation: Simulation) -> list[str]:
    chosen = [f"order {simulation.order}", f"backfill {simulation.backfill}"]
    if simulation.estimate_error:
        chosen.append(f"estimate error {simulation.estimate_error:g}")
    return [*chosen, f"seed {simulation.seed}"] if simulation.seed else chosen


def _by_size(result: OverTime) -> Table:
    table = Table(box=None, pad_edge=False)
    headings = ("GPUs", "jobs", "waiting s", "95 %", "completion s", "95 %", "slowdown", "95 %")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for size in result.by_size:
        table.add_row(*_row(size))
    return table


def _row(size: SizeClass) -> tuple[str, ...]:
    return (
        size.size,
        str(size.num_jobs),
        *(figure(size.mean_waiting_s), figure(size.p95_waiting_s)),
        *(figure(size.mean_completion_s), figure(size.p95_completion_s)),
        *(f"{size.mean_slowdown:.2f}", f"{size.p95_slowdown:.2f}"),
    )


def _summary(simulation: Simulation, result: OverTime) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("makespan", seconds(result.makespan_s), "")
    table.add_row("mean completion", seconds(result.mean_completion_s), _rest(result))
    table.add_row("queue", str(result.max_queue), f"at most; {figure(result.mean_queue)} on average")
    table.add_row("GPUs busy", f"{100 * result.gpu_utilisation:.1f} %", "on average, to the last finish")
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


def _rest(result: OverTime) -> str:
    return f"{seconds(result.mean_waiting_s)} of it waiting; slowdown {result.mean_slowdown:.2f}"
