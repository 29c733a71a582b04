"""Whether the ranking of policies changes with the contention model or with the draws of a calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from ringsched.analysis.compare.runs import ComparisonRow
from ringsched.analysis.compare.summary import (
    PAIRED,
    Paired,
    PolicyAndOrder,
    Runs,
    labels_of,
    paired,
    runs_of,
)

# A higher utilisation is neither good nor bad, and planning time does not depend on contention.
RANKED = tuple(name for name in PAIRED if name not in ("gpu_utilisation", "planning_s"))

SAME = 1e-9  # of ratios, and of differences of shares

SURVIVES, CHANGES, UNDECIDED = "survives", "changes", "undecided"

# Why a pair is undecided under a model.
INFEASIBLE, LEFT_ALONE, CLOSE, EQUAL = "infeasible", "left alone", "close", "equal"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPair:
    """One policy against another under every model."""

    policy: str
    against: str
    under: Mapping[str, Paired]  # by model; less is better
    verdict: str  # survives: on the same side beyond the interval; changes: on opposite ones; or undecided


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The policies by one metric: whether their order is the same under all models."""

    metric: str
    verdict: str  # survives if all pairs do, changes if one does
    orders: Mapping[str, tuple[str, ...]]  # by model, best first, by the means against the baseline
    pairs: tuple[RankedPair, ...]


def rankings(rows_by_model: Mapping[str, Sequence[ComparisonRow]]) -> tuple[Ranking, ...]:
    """Return the ranking by every metric of which less is better."""
    runs = {model: runs_of(rows) for model, rows in rows_by_model.items()}
    names = next(iter(runs.values()), {})
    labels = labels_of(tuple(names))
    found = []
    for metric in RANKED:
        pairs = tuple(
            _ranked_pair(
                labels[own],
                labels[other],
                {model: paired(metric, of[own], of[other]) for model, of in runs.items()},
            )
            for other, own in combinations(names, 2)
        )
        verdict = _of_all([pair.verdict for pair in pairs])
        orders = {model: _order(list(labels.values()), pairs, model) for model in runs}
        found.append(Ranking(metric=metric, verdict=verdict, orders=orders, pairs=pairs))
    return tuple(found)


def neutral(pair: Paired) -> float:
    """Return the value of two equal policies."""
    return 0.0 if pair.measure == "difference" else 1.0


def sign(value: float, middle: float) -> int:
    """Return -1, 0 or 1 for below, at and above the middle, with a tolerance for rounding.

    Examples
    --------
    >>> sign(0.9, 1.0), sign(1 + 1e-15, 1.0), sign(1.1, 1.0)
    (-1, 0, 1)
    """
    return 0 if abs(value - middle) <= SAME else 1 if value > middle else -1


def side(pair: Paired) -> int | None:
    """Return the side of equal on which the whole interval of a pair is; None if it is on both.

    A single run has no interval, and its value counts. A single feasible run of several
    decides nothing.
    """
    if pair.mean is None or (pair.low is None and pair.num_left_out):
        return None
    ends = [pair.mean if end is None else end for end in (pair.low, pair.high)]
    low, high = (sign(end, neutral(pair)) for end in ends)
    return low if low == high else None


def doubts(under: Mapping[str, Paired]) -> dict[str, str]:
    """Return the reasons of an undecided pair, for the models that decide nothing."""
    found = {model: _doubt(under[model], shown) for model, shown in _sides(under).items()}
    return {model: doubt for model, doubt in found.items() if doubt is not None}


def _doubt(pair: Paired, shown: int | None) -> str | None:
    if pair.mean is None:
        return INFEASIBLE
    if shown is None:
        return LEFT_ALONE if pair.low is None else CLOSE
    return EQUAL if shown == 0 else None


def _sides(under: Mapping[str, Paired]) -> dict[str, int | None]:
    """Return the sides by model; a value without an interval decides nothing beside values with one."""
    any_interval = any(pair.low is not None for pair in under.values())
    return {model: None if any_interval and pair.low is None else side(pair) for model, pair in under.items()}


def _ranked_pair(policy: str, against: str, under: Mapping[str, Paired]) -> RankedPair:
    sides = set(_sides(under).values())
    verdict = UNDECIDED
    if {-1, 1} <= sides:
        verdict = CHANGES
    elif len(sides) == 1 and None not in sides:
        verdict = SURVIVES
    return RankedPair(policy=policy, against=against, under=under, verdict=verdict)


def _of_all(verdicts: Sequence[str]) -> str:
    if CHANGES in verdicts:
        return CHANGES
    return UNDECIDED if UNDECIDED in verdicts else SURVIVES


def _order(labels: Sequence[str], pairs: Sequence[RankedPair], model: str) -> tuple[str, ...]:
    """Return the policies by their means against the first, which is the baseline; without a mean, last."""
    against = {pair.policy: pair.under[model] for pair in pairs if pair.against == labels[0]}
    means = {
        label: float("inf") if pair.mean is None else pair.mean - neutral(pair)
        for label, pair in against.items()
    }
    return tuple(sorted(labels, key=lambda label: means.get(label, 0.0)))


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
    num_infeasible: int  # draws without a feasible pair of runs
    num_same: int  # draws in which it is on the side where it is with the fitted values
    num_pairs: int  # of feasible runs, in all draws together
    num_left_out: int  # pairs in which at least one of the two is infeasible


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """The policies by one metric: in how many draws their order is that of the fitted values."""

    metric: str
    num_draws: int
    num_same: int
    reached: bool  # whether the draws change anything; if not, every draw equals the fitted values
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
        pairs.append(_drawn_pair(labels[own], labels[other], middle, found, sum(kept)))
        same = [both and here for both, here in zip(same, kept, strict=True)]
    return Stability(
        metric=metric, num_draws=len(draws), num_same=sum(same), reached=reached, pairs=tuple(pairs)
    )


def _drawn_pair(
    policy: str, against: str, fitted: Paired, draws: Sequence[Paired], num_same: int
) -> DrawnPair:
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
    """Return the side of equal on which the mean is; None if no pair of runs is feasible."""
    return None if pair.mean is None else sign(pair.mean, neutral(pair))


def _same_place(pair: Paired, fitted: Paired) -> bool:
    """Return whether both are on the same side; a draw without a feasible pair is on none."""
    return _place(pair) is not None and _place(pair) == _place(fitted)
