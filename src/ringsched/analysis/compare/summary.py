"""Summaries of the rows of a comparison: means, and ratios to a baseline in pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringsched.analysis.compare.runs import OK, TOO_LARGE, ComparisonRow

METRICS = (
    "makespan_s",
    "mean_completion_s",
    "p95_completion_s",
    "gpu_utilisation",
    "contention_loss",
    "spreading_loss",
    "lower_bound_s",
    "gap",
    "max_slowdown",
    "planning_s",
)

# Shares may be 0: their differences are compared. The bound is the same for all policies.
SHARES = ("gpu_utilisation", "contention_loss", "spreading_loss")
PAIRED = tuple(name for name in METRICS if name != "lower_bound_s")
USUAL = tuple(name for name in PAIRED if name != "max_slowdown")

IN_WORDS = {
    "makespan_s": "makespan",
    "mean_completion_s": "mean completion",
    "p95_completion_s": "95th percentile of completion",
    "gpu_utilisation": "GPU utilisation",
    "contention_loss": "share lost to contention",
    "spreading_loss": "share lost to spreading",
    "gap": "gap",
    "max_slowdown": "largest slowdown",
    "planning_s": "planning time",
}

PolicyAndOrder = tuple[str, str]  # policy and order

# The rows of one policy: scenario -> seed (None if it takes none) -> row.
Runs = Mapping[str, Mapping[int | None, ComparisonRow]]
Pair = tuple[ComparisonRow, ComparisonRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """A metric against the baseline's: mean over the pairs, and its 95 % confidence interval.

    There is no mean without a pair, and no interval with fewer than two independent pairs.
    """

    measure: str  # "ratio", with a geometric mean; "difference" for shares
    mean: float | None
    low: float | None
    high: float | None
    num_pairs: int
    num_left_out: int  # pairs in which at least one of the two is infeasible


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySummary:
    """All runs of one policy under one order; means are over the feasible ones."""

    policy: str
    order: str
    num_runs: int
    num_infeasible: int  # runs without a plan
    num_too_large: int  # of these, runs for which the scenario is too large for the policy
    means: Mapping[str, float]  # empty if all are infeasible
    pairs: Mapping[str, Paired]  # by metric; empty for the baseline itself

    @property
    def key(self) -> PolicyAndOrder:
        """Policy and order."""
        return self.policy, self.order

    @property
    def makespan_ratio(self) -> Paired | None:
        """Makespan over the baseline's; None for the baseline itself."""
        return self.pairs.get("makespan_s")


def summaries(rows: Sequence[ComparisonRow]) -> tuple[PolicySummary, ...]:
    """Return a summary of every policy, in order of appearance; the first is the baseline."""
    runs = runs_of(rows)
    baseline = next(iter(runs.values()), {})
    return tuple(_summary(*name, own, baseline) for name, own in runs.items())


def runs_of(rows: Sequence[ComparisonRow]) -> dict[PolicyAndOrder, Runs]:
    """Return the rows by policy and order, scenario and seed."""
    runs: dict[PolicyAndOrder, dict[str, dict[int | None, ComparisonRow]]] = {}
    for row in rows:
        runs.setdefault((row.policy, row.order), {}).setdefault(row.scenario_sha256, {})[row.seed] = row
    return {**runs}


def labels_of(contenders: Sequence[PolicyAndOrder]) -> dict[PolicyAndOrder, str]:
    """Return the labels: the policy's name, with the order if the policy appears with several.

    Examples
    --------
    >>> list(labels_of([("lwf", "fifo"), ("random", "fifo"), ("random", "longest-first")]).values())
    ['lwf', 'random (fifo)', 'random (longest-first)']
    """
    policies = [policy for policy, _ in contenders]
    return {
        (policy, order): policy if policies.count(policy) == 1 else f"{policy} ({order})"
        for policy, order in contenders
    }


def paired(metric: str, own: Runs, baseline: Runs) -> Paired:
    """Compare two policies in one metric, scenario by scenario and seed by seed.

    With several scenarios, the seeds of each are averaged first and the interval is over scenarios,
    because several seeds of one scenario say little about others.
    """
    pairs = [_pairs(own[scenario], baseline[scenario]) for scenario in own if scenario in baseline]
    compare, restore = (_difference, _same) if metric in SHARES else (_log_ratio, math.exp)
    values = [
        [compare(*(getattr(row, metric) for row in pair)) for pair in each if _both_feasible(pair)]
        for each in pairs
    ]
    num_pairs = sum(map(len, values))
    independent = values[0] if len(values) == 1 else [math.fsum(each) / len(each) for each in values if each]
    mean, low, high = (None if end is None else restore(end) for end in interval(independent))
    return Paired(
        measure="difference" if metric in SHARES else "ratio",
        mean=mean,
        low=low,
        high=high,
        num_pairs=num_pairs,
        num_left_out=sum(map(len, pairs)) - num_pairs,
    )


def interval(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Return mean, low and high end of Student's 95 % interval; None if undefined.

    Examples
    --------
    >>> interval([1.0]), interval([])
    ((1.0, None, None), (None, None, None))
    """
    number = len(values)
    if number == 0:
        return None, None, None
    mean = math.fsum(values) / number
    if number == 1:
        return mean, None, None
    variance = math.fsum((value - mean) ** 2 for value in values) / (number - 1)
    half = student_quantile(number - 1) * math.sqrt(variance / number)
    return mean, mean - half, mean + half


def student_quantile(degrees: int) -> float:
    """Return the t that 95 % of Student's distribution lie within, on both sides.

    Examples
    --------
    >>> [round(student_quantile(degrees), 3) for degrees in (1, 2, 9, 30)]
    [12.706, 4.303, 2.262, 2.042]
    """
    # scipy.stats has the same numbers and takes a second longer to import.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.975))


def _summary(policy: str, order: str, own: Runs, baseline: Runs) -> PolicySummary:
    rows = [row for runs in own.values() for row in runs.values()]
    feasible = [row for row in rows if row.status == OK]
    return PolicySummary(
        policy=policy,
        order=order,
        num_runs=len(rows),
        num_infeasible=len(rows) - len(feasible),
        num_too_large=sum(row.status == TOO_LARGE for row in rows),
        means=_means(feasible),
        pairs={} if own is baseline else {name: paired(name, own, baseline) for name in PAIRED},
    )


def _pairs(
    own: Mapping[int | None, ComparisonRow], baseline: Mapping[int | None, ComparisonRow]
) -> list[Pair]:
    """Pair rows by seed; a policy without seeds is paired with every seed of the other."""
    drawn = sorted({seed for seed in (*own, *baseline) if seed is not None})
    seeds: list[int | None] = [*drawn] or [None]
    found = [(own.get(seed, own.get(None)), baseline.get(seed, baseline.get(None))) for seed in seeds]
    return [(mine, theirs) for mine, theirs in found if mine is not None and theirs is not None]


def _both_feasible(pair: Pair) -> bool:
    return all(row.status == OK for row in pair)


def _difference(own: float, baseline: float) -> float:
    return own - baseline


def _same(value: float) -> float:
    return value


def _log_ratio(own: float, baseline: float) -> float:
    # Without jobs every time is 0, and all policies are equal.
    return math.log(own / baseline) if own and baseline else 0.0


def _means(rows: Sequence[ComparisonRow]) -> dict[str, float]:
    """Return the mean of every metric that all rows have; older rows do not have all."""
    columns = {name: [getattr(row, name) for row in rows] for name in METRICS}
    return {
        name: math.fsum(values) / len(values)
        for name, values in columns.items()
        if values and None not in values
    }
