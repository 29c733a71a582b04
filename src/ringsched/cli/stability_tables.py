"""Whether a ranking of policies holds over draws from a calibration, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ringsched.analysis.stability import DrawnPair, Stability
from ringsched.cli.ranking_tables import IN_WORDS, estimate, measured, name_column
from ringsched.words.figures import counted

if TYPE_CHECKING:
    from rich.table import Table


def stability_parts(stability: Stability, model: str | None) -> list[str | Table]:
    """Return a table of all pairs over the draws, and a sentence on how often the ranking is the same."""
    from ringsched.cli.columns import figures_table

    under = "" if model is None else f" under {model}"
    title = f"{measured(stability.metric)}, all pairs, over {counted(stability.num_draws, 'draw')}{under}"
    if not stability.reached:
        to = " to these scenarios" if model is None else under
        return ["", title, f"nothing that was drawn matters{to}: every draw is the fitted values again"]
    infeasible = any(pair.num_infeasible for pair in stability.pairs)
    spread = ("fitted", "smallest", "median", "largest")
    counts = ("better", "equal", "worse", *(["infeasible"] if infeasible else []))
    table = figures_table("policy", "against", *spread, *counts)
    name_column(table.columns[1])
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
