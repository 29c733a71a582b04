"""What a person sees of changed scenarios: a row each, then whom it matters to."""

from __future__ import annotations

import json

from rich.table import Table

from ringsched.analysis.as_json import variants_data
from ringsched.analysis.whatif.variants import FinishChange, Variant, WhatIf
from ringsched.cli.columns import figures_table
from ringsched.cli.tables import show
from ringsched.model import Plan, Scenario
from ringsched.model.objective import objective_named
from ringsched.words.figures import counted, figure, seconds

MOST_CHANGES = 3  # of each variant, sooner and later together


def print_variants(scenario: Scenario, answer: WhatIf) -> None:
    """Print the present plan and every variant."""
    cluster = scenario.cluster
    size = f"{counted(len(cluster.servers), 'server')} with {counted(cluster.capacity, 'GPU')}"
    head = f"{counted(len(scenario.jobs), 'job')} on {size}, variants planned by {answer.policy}"
    objective = objective_named(answer.present.objective)
    if not objective.is_default:
        head += f"; bound and gap are those of the {objective.words}"
    parts: list[str | Table] = [head, _table(answer)]
    for variant in answer.variants:
        parts += ["", *_changes(variant)]
    show(parts)


def variants_to_json(answer: WhatIf) -> str:
    """Return the totals of all plans, and all jobs that end at other times."""
    return json.dumps(variants_data(answer), indent=1, ensure_ascii=False)


def _table(answer: WhatIf) -> Table:
    table = figures_table("what if", "makespan\ns", "", "mean com-\npletion s", "", "bound\ns", "gap")
    table.add_row("as it is", *_row(answer.present, None))
    if answer.anew is not None:
        table.add_row("as it is, planned anew", *_row(answer.anew, answer.present))
    for variant in answer.variants:
        row = ["infeasible"] if variant.plan is None else _row(variant.plan, answer.present)
        table.add_row(variant.label, *row)
    return table


def _row(plan: Plan, present: Plan | None) -> list[str]:
    return [
        figure(plan.makespan_s),
        "" if present is None else _percent(plan.makespan_s, present.makespan_s),
        figure(plan.mean_completion_s),
        "" if present is None else _percent(plan.mean_completion_s, present.mean_completion_s),
        figure(plan.lower_bound_s),
        f"{plan.gap:.3f}",
    ]


def _percent(after: float, before: float) -> str:
    """Return a relative change.

    Examples
    --------
    >>> _percent(90.0, 120.0), _percent(1.0, 1.0), _percent(1.0, 0.0)
    ('-25.0 %', '=', '')
    """
    if after == before:
        return "="
    return f"{100 * (after / before - 1):+.1f} %" if before else ""


def _changes(variant: Variant) -> list[str | Table]:
    if variant.plan is None:
        return [f"{variant.label}: no plan within the horizon"]
    later = sum(change.change_s > 0 for change in variant.changes)
    sooner = len(variant.changes) - later
    if not variant.changes:
        return [f"{variant.label}: every job ends as before"]
    counts = f"{counted(sooner, 'job')} sooner, {later} later"
    table = changes_table(variant.changes[:MOST_CHANGES])
    return [f"{variant.label}: {counts}; the largest changes", table]


def changes_table(changes: tuple[FinishChange, ...]) -> Table:
    """Return jobs with their old and their new end."""
    table = figures_table("job", "ended s", "would end s", "change")
    for change in changes:
        sign = "+" if change.change_s > 0 else ""
        table.add_row(
            change.job, figure(change.before_s), figure(change.after_s), f"{sign}{seconds(change.change_s)}"
        )
    return table
