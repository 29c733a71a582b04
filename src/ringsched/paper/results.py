"""Rows by experiment, as CSV and as lines by seed, and what two lines say when compared in pairs."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringsched.analysis.compare.summary import interval
from ringsched.formats.files import write_text
from ringsched.paper.experiments import OK, OVER_HORIZON, PaperRow, Row, TinyRow, columns, values


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write one line a row under the names of their fields."""
    write_table(path, columns(type(rows[0])), [values(row) for row in rows])


def write_table(path: Path, heading: Sequence[str], lines: Sequence[Sequence[object]]) -> None:
    """Write a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([heading, *lines])
    write_text(path, text.getvalue())


Line = Mapping[int, PaperRow]  # one point of an experiment, by seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Everything that was run."""

    rows: Mapping[str, Sequence[PaperRow]]  # by experiment
    tiny: Sequence[TinyRow] = ()

    def line(self, experiment: str, **wanted: object) -> Line:
        """Return the rows with these values, by seed."""
        return {
            row.seed: row
            for row in self.rows[experiment]
            if all(getattr(row, name) == value for name, value in wanted.items())
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over seeds with its 95 % interval; None for what cannot be said."""

    mean: float | None
    low: float | None
    high: float | None
    count: int


def value_of(row: PaperRow, metric: str) -> float | None:
    """Return what was measured; of a makespan beyond T, T itself, which it is known to reach."""
    if metric == "makespan_s" and row.status == OVER_HORIZON:
        return float(row.horizon_s)
    found: float | None = getattr(row, metric)
    return found


def num_censored(line: Line) -> int:
    """Return how many runs found no plan below T."""
    return sum(row.status == OVER_HORIZON for row in line.values())


def estimate_of(values: Sequence[float]) -> Estimate:
    """Return the mean of values, one a seed."""
    middle, low, high = interval(values)
    return Estimate(mean=middle, low=low, high=high, count=len(values))


def geometric(logs: Sequence[float]) -> Estimate:
    """Return the geometric mean of what these are the logarithms of."""
    middle, low, high = (None if end is None else math.exp(end) for end in interval(logs))
    return Estimate(mean=middle, low=low, high=high, count=len(logs))


def mean(line: Line, metric: str) -> Estimate:
    """Return the mean of a metric over the seeds."""
    return estimate_of([value for row in line.values() if (value := value_of(row, metric)) is not None])


def ratio(own: Line, base: Line, metric: str) -> Estimate:
    """Return the geometric mean of own over base, seed by seed."""
    return geometric(_paired(own, base, metric, lambda mine, theirs: math.log(mine / theirs)))


def difference(own: Line, base: Line, metric: str) -> Estimate:
    """Return the mean of own less base, seed by seed: for shares, which may be 0."""
    return estimate_of(_paired(own, base, metric, lambda mine, theirs: mine - theirs))


def feasible(line: Line) -> Line:
    """Return the runs that have a plan."""
    return {seed: row for seed, row in line.items() if row.status == OK}


def _paired(own: Line, base: Line, metric: str, compare: Callable[[float, float], float]) -> list[float]:
    pairs = [(value_of(own[seed], metric), value_of(base[seed], metric)) for seed in own if seed in base]
    return [compare(mine, theirs) for mine, theirs in pairs if mine is not None and theirs is not None]
