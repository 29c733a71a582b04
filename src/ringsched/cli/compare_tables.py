"""What a person sees of a comparison: means, pairs, and whether the ranking holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ringsched.analysis.as_json import comparison_data
from ringsched.analysis.compare.compare import Comparison, UnderModel
from ringsched.analysis.compare.ranking import (
    CHANGES,
    CLOSE,
    EQUAL,
    INFEASIBLE,
    LEFT_ALONE,
    RANKED,
    SURVIVES,
    UNDECIDED,
    DrawnPair,
    RankedPair,
    Ranking,
    Stability,
    doubts,
)
from ringsched.analysis.compare.summary import IN_WORDS, SHARES, Paired, PolicySummary, labels_of
from ringsched.formatting import counted, duration, figure, listed, percent_above
from ringsched.model.objective import Objective

if TYPE_CHECKING:
    from rich.table import Column, Table


OF_A_PAIR = {SURVIVES: "survives", CHANGES: "change places", UNDECIDED: "undecided"}
OF_A_DOUBT = {  # the plainest first
    INFEASIBLE: "have no feasible pair of runs",
    LEFT_ALONE: "have too few feasible pairs of runs to tell",
    CLOSE: "are too close to tell",
    EQUAL: "are equal",
}


def ranking_parts(ranking: Ranking) -> list[str | Table]:
    """Return a table of all pairs under every model, and a sentence on whether the ranking survives."""
    from ringsched.cli.tables import figures_table

    models = list(ranking.orders)
    title = f"{measured(ranking.metric)}, all pairs, under {listed(models)}"
    measure = "difference" if ranking.metric in SHARES else "ratio"
    counts = ["left out"] if any(_left_out(pair) for pair in ranking.pairs) else []
    figures = ("model", *counts, measure, "95 % interval")
    table = figures_table("policy", "against", *figures, last="ranking")
    name_columns(*table.columns[:2])
    table.columns[2].justify = "left"
    for pair in ranking.pairs:
        for at, (model, found) in enumerate(pair.under.items()):
            names = ["", ""] if at else [pair.policy, pair.against]
            verdict = "" if at else OF_A_PAIR[pair.verdict]
            num_left_out = [str(found.num_left_out)] if counts else []
            shown = [*num_left_out, estimate(found.measure, found.mean), shown_interval(found)]
            table.add_row(*names, model, *shown, verdict)
    orders = [f"{model}: {', '.join(order)}" for model, order in ranking.orders.items()]
    return ["", title, table, *orders, _sentence(ranking)]


def estimate(measure: str, value: float | None) -> str:
    """Return a ratio, or a difference of shares in percentage points."""
    if value is None:
        return "-"
    return f"{100 * value:+.1f}" if measure == "difference" else f"{value:.3f}"


def shown_interval(pairs: Paired) -> str:
    """Return both ends, or a dash."""
    if pairs.low is None or pairs.high is None:
        return "-"
    return f"{estimate(pairs.measure, pairs.low)} to {estimate(pairs.measure, pairs.high)}"


def name_columns(*columns: Column) -> None:
    """Make them columns of names, which are never folded."""
    for column in columns:
        column.justify, column.no_wrap = "left", True


def measured(metric: str) -> str:
    """Return what a table of pairs has."""
    if metric in SHARES:
        return f"difference in {IN_WORDS[metric]}, percentage points"
    return f"ratio of {IN_WORDS[metric]}"


def _sentence(ranking: Ranking) -> str:
    by = f"the ranking by {IN_WORDS[ranking.metric]}"
    judged = any(pair.low is not None for each in ranking.pairs for pair in each.under.values())
    alone = "" if judged else " (one run each: the result holds for this scenario only)"
    if ranking.verdict == SURVIVES:
        return f"{by} survives: no pair changes places{alone}"
    if ranking.verdict == CHANGES:
        return f"{by} does not survive: {_pairs(ranking.pairs, CHANGES)} change places{alone}"
    return f"whether {by} survives is undecided: {_doubtful(ranking.pairs)}"


def _left_out(pair: RankedPair) -> int:
    return sum(found.num_left_out for found in pair.under.values())


def _doubtful(pairs: Sequence[RankedPair]) -> str:
    """Return the undecided pairs, those of the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for pair in pairs:
        if pair.verdict == UNDECIDED:
            by_reason.setdefault(_reason(pair), []).append(f"{pair.policy} and {pair.against}")
    return "; ".join(f"{', '.join(names)} {reason}" for reason, names in by_reason.items())


def _reason(pair: RankedPair) -> str:
    """Return why it is undecided: the plainest of its doubts, and where."""
    found = doubts(pair.under)
    doubt = next(each for each in OF_A_DOUBT if each in found.values())
    where = [model for model, each in found.items() if each == doubt]
    return f"{OF_A_DOUBT[doubt]} under {listed(where)}{', but not elsewhere' if doubt == EQUAL else ''}"


def _pairs(pairs: Sequence[RankedPair], verdict: str) -> str:
    named = [f"{pair.policy} and {pair.against}" for pair in pairs if pair.verdict == verdict]
    return "; ".join(named)


def stability_parts(stability: Stability, model: str | None) -> list[str | Table]:
    """Return a table of all pairs over the draws, and a sentence on how often the ranking is the same."""
    from ringsched.cli.tables import figures_table

    under = "" if model is None else f" under {model}"
    title = f"{measured(stability.metric)}, all pairs, over {counted(stability.num_draws, 'draw')}{under}"
    if not stability.reached:
        to = " to these scenarios" if model is None else under
        return ["", title, f"nothing that was drawn matters{to}: every draw is the fitted values again"]
    infeasible = any(pair.num_infeasible for pair in stability.pairs)
    spread = ("fitted", "smallest", "median", "largest")
    counts = ("better", "equal", "worse", *(["infeasible"] if infeasible else []))
    table = figures_table("policy", "against", *spread, *counts)
    name_columns(*table.columns[:2])
    for pair in stability.pairs:
        values = (pair.fitted, pair.smallest, pair.median, pair.largest)
        shown = [*(estimate(pair.measure, each) for each in values), *_counts(pair)]
        table.add_row(pair.policy, pair.against, *shown[: len(spread) + len(counts)])
    return ["", title, table, *_left_out_of_draws(stability.pairs), _how_often(stability)]


def _counts(pair: DrawnPair) -> list[str]:
    return [str(each) for each in (pair.num_better, pair.num_equal, pair.num_worse, pair.num_infeasible)]


def _left_out_of_draws(pairs: Sequence[DrawnPair]) -> list[str]:
    named = [
        f"{pair.policy} and {pair.against} {pair.num_left_out} of {pair.num_left_out + pair.num_pairs}"
        for pair in pairs
        if pair.num_left_out
    ]
    return [f"pairs of runs left out, one of the two being infeasible: {', '.join(named)}"] if named else []


def _how_often(stability: Stability) -> str:
    """Return in how many draws the ranking is the same, and what the other draws say of which pair."""
    how_often = f"{stability.num_same} of {counted(stability.num_draws, 'draw')}"
    sentence = f"the ranking by {IN_WORDS[stability.metric]} is that of the fitted values in {how_often}"
    others = [each for pair in stability.pairs for each in _not_the_same(pair, stability.num_draws)]
    return "; ".join([sentence, *others])


def _not_the_same(pair: DrawnPair, num_draws: int) -> list[str]:
    both = f"{pair.policy} and {pair.against}"
    if pair.fitted is None:
        return [f"{both} have no feasible pair of runs with the fitted values"]
    num_other = num_draws - pair.num_same - pair.num_infeasible
    otherwise = [f"{both} are otherwise in {num_other}"] if num_other else []
    return otherwise + (
        [f"{both} have no feasible pair of runs in {pair.num_infeasible}"] if pair.num_infeasible else []
    )


HEADINGS = {
    "makespan_s": "makespan",
    "mean_completion_s": "mean com-\npletion",
    "p95_completion_s": "95 % com-\npletion",
    "gpu_utilisation": "GPU uti-\nlisation",
    "contention_loss": "lost to\ncontention",
    "spreading_loss": "lost to\nspreading",
    "lower_bound_s": "bound",
    "gap": "gap",
    "max_slowdown": "max slow-\ndown",
    "planning_s": "planning",
}


def comparison_to_json(result: Comparison) -> str:
    """Return all that a comparison says, and its rows, as JSON."""
    return json.dumps(comparison_data(result), indent=1)


def print_comparison(
    result: Comparison, metrics: list[str], paired: list[str], num_scenarios: int, output: Path | None
) -> None:
    """Print the means of `metrics` and the pairs of each of `paired`, then rankings over models and draws."""
    from ringsched.cli.tables import show

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
    means = _means_table(model.summary, metrics, result.objective)
    parts: list[str | Table] = [*heading, means, *_infeasible(model.summary)]
    if len(model.summary) > 1:
        for metric in paired:
            if not result.rankings or metric not in RANKED:
                parts += ["", _pairs_title(model.summary, metric), _pairs_table(model.summary, metric)]
    return parts


def _means_table(summaries: tuple[PolicySummary, ...], metrics: list[str], objective: Objective) -> Table:
    from ringsched.cli.tables import figures_table

    table, labels = figures_table("policy", "n", *(HEADINGS[name] for name in metrics)), _labels(summaries)
    name_columns(table.columns[0])
    for summary in summaries:
        means = [
            _shown(name, summary.means[name], objective) if name in summary.means else "-" for name in metrics
        ]
        table.add_row(labels[summary.key], str(summary.num_runs - summary.num_infeasible), *means)
    return table


def _infeasible(summaries: tuple[PolicySummary, ...]) -> list[str]:
    labels = _labels(summaries)
    found: dict[str, list[str]] = {"infeasible": [], "too large": []}
    for summary in summaries:
        numbers = (summary.num_infeasible - summary.num_too_large, summary.num_too_large)
        for counts, number in zip(found.values(), numbers, strict=True):
            if number:
                counts.append(f"{labels[summary.key]} {number} of {summary.num_runs}")
    return [
        f"{what}, in no mean and no pair: {', '.join(counts)}" for what, counts in found.items() if counts
    ]


def _pairs_title(summaries: tuple[PolicySummary, ...], metric: str) -> str:
    """Return what is compared, and what is good; to hold more GPUs is neither good nor bad in itself."""
    baseline = _labels(summaries)[summaries[0].key]
    if metric not in SHARES:
        return f"{IN_WORDS[metric]} against {baseline}, in pairs; below 1 is better"
    verdict = "" if metric == "gpu_utilisation" else "; below 0 is better"
    return f"{IN_WORDS[metric]} less that of {baseline}, in pairs, percentage points{verdict}"


def _pairs_table(summaries: tuple[PolicySummary, ...], metric: str) -> Table:
    from ringsched.cli.tables import figures_table

    measure = "difference" if metric in SHARES else "ratio"
    table, labels = figures_table("policy", "pairs", "left out", measure, "95 % interval"), _labels(summaries)
    name_columns(table.columns[0])
    for summary in summaries:
        if (pairs := summary.pairs.get(metric)) is not None:
            table.add_row(labels[summary.key], *_pair_cells(pairs))
    return table


def _pair_cells(pairs: Paired) -> list[str]:
    counts = [str(pairs.num_pairs), str(pairs.num_left_out)]
    return [*counts, estimate(pairs.measure, pairs.mean), shown_interval(pairs)]


def _labels(summaries: tuple[PolicySummary, ...]) -> dict[tuple[str, str], str]:
    return labels_of([summary.key for summary in summaries])


def _shown(metric: str, value: float, objective: Objective) -> str:
    if metric in SHARES:
        return f"{100 * value:.1f} %"
    if metric == "gap":
        return percent_above(value)
    if metric == "lower_bound_s":
        return objective.text(value)
    return figure(value) if metric == "max_slowdown" else duration(value)
