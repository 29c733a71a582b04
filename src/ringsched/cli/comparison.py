"""What a person sees of a comparison: means, pairs, and whether the ranking holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ringsched.analysis.as_json import comparison_data
from ringsched.analysis.comparison import Comparison, UnderModel
from ringsched.analysis.ranking import RANKED
from ringsched.analysis.summary import SHARES, Paired, PolicySummary, labels_of
from ringsched.cli.ranking_tables import IN_WORDS, estimate, ranking_parts, shown_interval
from ringsched.cli.stability_tables import stability_parts

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


def comparison_to_json(result: Comparison) -> str:
    """Return all that a comparison says, and its rows, as JSON."""
    import json

    return json.dumps(comparison_data(result), indent=1)


def print_comparison(
    result: Comparison, metrics: list[str], paired: list[str], num_scenarios: int, output: Path | None
) -> None:
    """Print the means of `metrics` and the pairs of each of `paired`, then rankings over models and draws."""
    from ringsched.cli.tables import show
    from ringsched.words.figures import counted

    runs = f"{counted(len(result.rows), 'run')}, {counted(num_scenarios, 'scenario')}"
    fitted = ", with the fitted values" if result.drawn else ""
    parts: list[str | Table] = [f"{runs}; means over the feasible runs{fitted}"]
    for model in result.models:
        parts += _model_parts(result, model, metrics, paired)
    for ranking in result.rankings:
        parts += ranking_parts(ranking) if ranking.metric in paired and ranking.pairs else []
    for model in result.models:
        for stability in model.stability:
            if stability.metric in paired and stability.pairs:
                parts += stability_parts(stability, model.contention)
    parts += ["", *result.notes] if result.notes else []
    if output is not None:
        resumed = f", {result.num_resumed} of them from before" if result.num_resumed else ""
        parts += ["", f"{counted(len(result.rows), 'row')} in {output}{resumed}"]
    show(parts)


def _model_parts(
    result: Comparison, model: UnderModel, metrics: list[str], paired: list[str]
) -> list[str | Table]:
    """Return the means, and the pairs that no ranking has."""
    heading = [] if model.contention is None else ["", f"contention model {model.contention}"]
    parts: list[str | Table] = [*heading, _means_table(model.summary, metrics), *_infeasible(model.summary)]
    if len(model.summary) > 1:
        for metric in paired:
            if not result.rankings or metric not in RANKED:
                parts += ["", _pairs_title(model.summary, metric), _pairs_table(model.summary, metric)]
    return parts


def _means_table(summaries: tuple[PolicySummary, ...], metrics: list[str]) -> Table:
    from ringsched.cli.columns import figures_table

    table, labels = figures_table("policy", "n", *(HEADINGS[name] for name in metrics)), _labels(summaries)
    for summary in summaries:
        means = [_shown(name, summary.means[name]) if summary.means else "-" for name in metrics]
        table.add_row(labels[summary.key], str(summary.num_runs - summary.num_infeasible), *means)
    return table


def _infeasible(summaries: tuple[PolicySummary, ...]) -> list[str]:
    labels = _labels(summaries)
    counts = [
        f"{labels[summary.key]} {summary.num_infeasible} of {summary.num_runs}"
        for summary in summaries
        if summary.num_infeasible
    ]
    return [f"infeasible, in no mean and no pair: {', '.join(counts)}"] if counts else []


def _pairs_title(summaries: tuple[PolicySummary, ...], metric: str) -> str:
    """Return what is compared, and what is good; to hold more GPUs is neither good nor bad in itself."""
    baseline = _labels(summaries)[summaries[0].key]
    if metric not in SHARES:
        return f"{IN_WORDS[metric]} against {baseline}, in pairs; below 1 is better"
    verdict = "" if metric == "gpu_utilisation" else "; below 0 is better"
    return f"{IN_WORDS[metric]} less that of {baseline}, in pairs, percentage points{verdict}"


def _pairs_table(summaries: tuple[PolicySummary, ...], metric: str) -> Table:
    from ringsched.cli.columns import figures_table

    measure = "difference" if metric in SHARES else "ratio"
    table, labels = figures_table("policy", "pairs", "left out", measure, "95 % interval"), _labels(summaries)
    for summary in summaries:
        if (pairs := summary.pairs.get(metric)) is not None:
            table.add_row(labels[summary.key], *_pair_cells(pairs))
    return table


def _pair_cells(pairs: Paired) -> list[str]:
    counts = [str(pairs.num_pairs), str(pairs.num_left_out)]
    return [*counts, estimate(pairs.measure, pairs.mean), shown_interval(pairs)]


def _labels(summaries: tuple[PolicySummary, ...]) -> dict[tuple[str, str], str]:
    return labels_of([summary.key for summary in summaries])


def _shown(metric: str, value: float) -> str:
    from ringsched.words.figures import figure

    if metric in SHARES:
        return f"{100 * value:.1f} %"
    return f"{value:.3f}" if metric == "gap" else figure(value)
