"""Whether policies keep their places when a calibration is off by as much as it may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from ringsched.analysis.ranking import RANKED, neutral, sign
from ringsched.analysis.runs import ComparisonRow
from ringsched.analysis.summary import Paired, PolicyAndOrder, Runs, labels_of, paired, runs_of


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnPair:
    """One policy against another over the draws; a draw counts by its mean over scenarios and seeds."""

    policy: str
    against: str
    measure: str  # "ratio" or "difference", as in `Paired`
    fitted: float | None  # with the fitted values
    smallest: float | None
    median: float | None
    largest: float | None
    num_better: int  # draws in which `policy` is below `against`
    num_equal: int
    num_worse: int
    num_infeasible: int  # draws in which no pair of runs is feasible: of these nothing is known
    num_same: int  # draws in which it is on the side where it is with the fitted values
    num_pairs: int  # of feasible runs, in all draws together
    num_left_out: int  # pairs in which at least one of the two is infeasible


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """The policies by one metric: in how many draws their order is that of the fitted values."""

    metric: str
    num_draws: int
    num_same: int
    reached: bool  # by what was drawn; if not, every draw is the fitted values again
    pairs: tuple[DrawnPair, ...]


def stabilities(
    fitted: Sequence[ComparisonRow], draws: Sequence[Sequence[ComparisonRow]]
) -> tuple[Stability, ...]:
    """Return the stability by every metric of which less is better; nothing without draws."""
    if not draws:
        return ()
    middle, others = runs_of(fitted), [runs_of(rows) for rows in draws]
    digests = [{row.scenario_sha256 for row in rows} for rows in (fitted, *draws)]
    reached = any(each != digests[0] for each in digests)
    return tuple(_stability(metric, middle, others, reached=reached) for metric in RANKED)


def _stability(
    metric: str,
    fitted: Mapping[PolicyAndOrder, Runs],
    draws: Sequence[Mapping[PolicyAndOrder, Runs]],
    *,
    reached: bool,
) -> Stability:
    labels, pairs, same = labels_of(tuple(fitted)), [], [True] * len(draws)
    for other, own in combinations(fitted, 2):
        middle, *found = (paired(metric, of[own], of[other]) for of in (fitted, *draws))
        kept = [_same_place(pair, middle) for pair in found]
        pairs.append(_pair(labels[own], labels[other], middle, found, sum(kept)))
        same = [both and here for both, here in zip(same, kept, strict=True)]
    return Stability(
        metric=metric, num_draws=len(draws), num_same=sum(same), reached=reached, pairs=tuple(pairs)
    )


def _pair(policy: str, against: str, fitted: Paired, draws: Sequence[Paired], num_same: int) -> DrawnPair:
    means = [pair.mean for pair in draws if pair.mean is not None]
    places = [_place(pair) for pair in draws]
    return DrawnPair(
        policy=policy,
        against=against,
        measure=fitted.measure,
        fitted=fitted.mean,
        smallest=min(means, default=None),
        median=median(means) if means else None,
        largest=max(means, default=None),
        num_better=places.count(-1),
        num_equal=places.count(0),
        num_worse=places.count(1),
        num_infeasible=places.count(None),
        num_same=num_same,
        num_pairs=sum(pair.num_pairs for pair in draws),
        num_left_out=sum(pair.num_left_out for pair in draws),
    )


def _place(pair: Paired) -> int | None:
    """Return on which side of equal the mean is; None where no pair of runs is feasible."""
    return None if pair.mean is None else sign(pair.mean, neutral(pair))


def _same_place(pair: Paired, fitted: Paired) -> bool:
    """Return whether both are on the same side; where no pair is feasible there is none to be on."""
    return _place(pair) is not None and _place(pair) == _place(fitted)
