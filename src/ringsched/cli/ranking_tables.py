"""Whether a ranking of policies holds, for people: over models of contention, and over draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ringsched.analysis.ranking import CHANGES, SURVIVES, UNDECIDED, RankedPair, Ranking
from ringsched.analysis.stability import DrawnPair, Stability
from ringsched.analysis.summary import SHARES, Paired
from ringsched.words.figures import counted, listed

if TYPE_CHECKING:
    from rich.table import Column, Table

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
OF_A_PAIR = {SURVIVES: "survives", CHANGES: "change places", UNDECIDED: "undecided"}


def ranking_parts(ranking: Ranking) -> list[str | Table]:
    """Return a table of all pairs under every model, and a sentence on whether the ranking survives."""
    from ringsched.cli.columns import figures_table

    models = list(ranking.orders)
    title = f"{_measured(ranking.metric)}, all pairs, under {listed(models)}"
    measure = "difference" if ranking.metric in SHARES else "ratio"
    table = figures_table("policy", "against", "model", measure, "95 % interval", last="ranking")
    _fold(table.columns[1])
    table.columns[2].justify = "left"
    for pair in ranking.pairs:
        for at, (model, found) in enumerate(pair.under.items()):
            names = ["", ""] if at else [pair.policy, pair.against]
            verdict = "" if at else OF_A_PAIR[pair.verdict]
            figures = [estimate(found.measure, found.mean), shown_interval(found)]
            table.add_row(*names, model, *figures, verdict)
    orders = [f"{model}: {', '.join(order)}" for model, order in ranking.orders.items()]
    return ["", title, table, *orders, _sentence(ranking)]


def stability_parts(stability: Stability, model: str | None) -> list[str | Table]:
    """Return a table of all pairs over the draws, and a sentence on how often the ranking is the same."""
    from ringsched.cli.columns import figures_table

    under = "" if model is None else f" under {model}"
    title = f"{_measured(stability.metric)}, all pairs, over {counted(stability.num_draws, 'draw')}{under}"
    spread = ("fitted", "smallest", "median", "largest")
    table = figures_table("policy", "against", *spread, "better", "equal", "worse")
    _fold(table.columns[1])
    for pair in stability.pairs:
        values = (pair.fitted, pair.smallest, pair.median, pair.largest)
        counts = map(str, (pair.num_better, pair.num_equal, pair.num_worse))
        table.add_row(pair.policy, pair.against, *(estimate(pair.measure, each) for each in values), *counts)
    how_often = f"{stability.num_same} of {counted(stability.num_draws, 'draw')}"
    sentence = f"the ranking by {IN_WORDS[stability.metric]} is that of the fitted values in {how_often}"
    return ["", title, table, f"{sentence}{_not_the_same(stability.pairs, stability.num_draws)}"]


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


def _fold(column: Column) -> None:
    """Make it a column of names, like the first."""
    column.justify, column.no_wrap, column.overflow = "left", False, "fold"


def _measured(metric: str) -> str:
    if metric in SHARES:
        return f"difference in {IN_WORDS[metric]}, percentage points"
    return f"ratio of {IN_WORDS[metric]}"


def _sentence(ranking: Ranking) -> str:
    by = f"the ranking by {IN_WORDS[ranking.metric]}"
    judged = any(pair.low is not None for each in ranking.pairs for pair in each.under.values())
    alone = "" if judged else " (one run each: this is about no other scenario)"
    if ranking.verdict == SURVIVES:
        return f"{by} survives: no pair changes places{alone}"
    if ranking.verdict == CHANGES:
        return f"{by} does not survive: {_pairs(ranking.pairs, CHANGES)} change places{alone}"
    return f"whether {by} survives is undecided: {_pairs(ranking.pairs, UNDECIDED)} are too close to tell"


def _pairs(pairs: Sequence[RankedPair], verdict: str) -> str:
    named = [f"{pair.policy} and {pair.against}" for pair in pairs if pair.verdict == verdict]
    return "; ".join(named)


def _not_the_same(pairs: Sequence[DrawnPair], num_draws: int) -> str:
    others = [
        f"{pair.policy} and {pair.against} are otherwise in {num_draws - pair.num_same}"
        for pair in pairs
        if pair.num_same < num_draws
    ]
    return f"; {'; '.join(others)}" if others else ""
