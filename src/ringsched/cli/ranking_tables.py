"""Whether a ranking of policies holds over models of contention, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ringsched.analysis.ranking import (
    CHANGES,
    CLOSE,
    EQUAL,
    INFEASIBLE,
    LEFT_ALONE,
    SURVIVES,
    UNDECIDED,
    RankedPair,
    Ranking,
    doubts,
)
from ringsched.analysis.summary import SHARES, Paired
from ringsched.words.figures import listed

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
OF_A_DOUBT = {  # the plainest first
    INFEASIBLE: "have no feasible pair of runs",
    LEFT_ALONE: "have too few feasible pairs of runs to tell",
    CLOSE: "are too close to tell",
    EQUAL: "are equal",
}


def ranking_parts(ranking: Ranking) -> list[str | Table]:
    """Return a table of all pairs under every model, and a sentence on whether the ranking survives."""
    from ringsched.cli.columns import figures_table

    models = list(ranking.orders)
    title = f"{measured(ranking.metric)}, all pairs, under {listed(models)}"
    measure = "difference" if ranking.metric in SHARES else "ratio"
    counts = ["left out"] if any(_left_out(pair) for pair in ranking.pairs) else []
    figures = ("model", *counts, measure, "95 % interval")
    table = figures_table("policy", "against", *figures, last="ranking")
    name_column(table.columns[1])
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


def name_column(column: Column) -> None:
    """Make it a column of names, like the first."""
    column.justify, column.no_wrap, column.overflow = "left", False, "fold"


def measured(metric: str) -> str:
    """Return what a table of pairs has."""
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
