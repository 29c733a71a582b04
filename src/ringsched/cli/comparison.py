"""What a person sees of a comparison: means, then pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ringsched.analysis.as_json import comparison_data, policy_label
from ringsched.analysis.compare import Comparison
from ringsched.analysis.summary import SHARES, Paired

if TYPE_CHECKING:
    from rich.table import Table

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
IN_WORDS = {
    "makespan_s": "makespan",
    "mean_completion_s": "mean completion",
    "p95_completion_s": "95th percentile of completion",
    "gpu_utilisation": "share of GPUs held",
    "contention_loss": "share lost to contention",
    "spreading_loss": "share lost to spreading",
    "gap": "gap",
    "planning_s": "planning time",
}


def comparison_to_json(result: Comparison) -> str:
    """Return summary and rows as JSON."""
    import json

    return json.dumps(comparison_data(result), indent=1)


def print_comparison(
    result: Comparison, metrics: list[str], paired: list[str], num_scenarios: int, output: Path | None
) -> None:
    """Print the means of `metrics`, then the pairs of each of `paired`."""
    from ringsched.cli.tables import show
    from ringsched.words.figures import counted

    runs = f"{counted(len(result.rows), 'run')}, {counted(num_scenarios, 'scenario')}"
    parts: list[str | Table] = [f"{runs}; means over the feasible runs"]
    parts += [_means_table(result, metrics), *_infeasible(result)]
    if len(result.summary) > 1:
        for metric in paired:
            parts += ["", _pairs_title(result, metric), _pairs_table(result, metric)]
    if output is not None:
        resumed = f", {result.num_resumed} of them from before" if result.num_resumed else ""
        parts += ["", f"{counted(len(result.rows), 'row')} in {output}{resumed}"]
    show(parts)


def _means_table(result: Comparison, metrics: list[str]) -> Table:
    from ringsched.cli.columns import figures_table

    table = figures_table("policy", "n", *(HEADINGS[name] for name in metrics))
    for summary in result.summary:
        means = [_shown(name, summary.means[name]) if summary.means else "-" for name in metrics]
        table.add_row(policy_label(result, summary), str(summary.num_runs - summary.num_infeasible), *means)
    return table


def _infeasible(result: Comparison) -> list[str]:
    counts = [
        f"{policy_label(result, summary)} {summary.num_infeasible} of {summary.num_runs}"
        for summary in result.summary
        if summary.num_infeasible
    ]
    return [f"infeasible, in no mean and no pair: {', '.join(counts)}"] if counts else []


def _pairs_title(result: Comparison, metric: str) -> str:
    """Return what is compared, and what is good; to hold more GPUs is neither good nor bad in itself."""
    baseline = policy_label(result, result.summary[0])
    if metric not in SHARES:
        return f"{IN_WORDS[metric]} against {baseline}, in pairs; below 1 is better"
    verdict = "" if metric == "gpu_utilisation" else "; below 0 is better"
    return f"{IN_WORDS[metric]} less that of {baseline}, in pairs, percentage points{verdict}"


def _pairs_table(result: Comparison, metric: str) -> Table:
    measure = "difference" if metric in SHARES else "ratio"
    from ringsched.cli.columns import figures_table

    table = figures_table("policy", "pairs", "left out", measure, "95 % interval")
    for summary in result.summary:
        if (pairs := summary.pairs.get(metric)) is not None:
            counts = (str(pairs.num_pairs), str(pairs.num_left_out))
            table.add_row(
                policy_label(result, summary), *counts, _estimate(pairs, pairs.mean), _interval(pairs)
            )
    return table


def _shown(metric: str, value: float) -> str:
    from ringsched.words.figures import figure

    if metric in SHARES:
        return f"{100 * value:.1f} %"
    return f"{value:.3f}" if metric == "gap" else figure(value)


def _interval(pairs: Paired) -> str:
    if pairs.low is None or pairs.high is None:
        return "-"
    return f"{_estimate(pairs, pairs.low)} to {_estimate(pairs, pairs.high)}"


def _estimate(pairs: Paired, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:+.1f}" if pairs.measure == "difference" else f"{value:.3f}"
