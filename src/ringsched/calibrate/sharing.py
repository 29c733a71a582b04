"""The second stage: by how much jobs on one link slow each other, and whether a line describes it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from ringsched.calibrate.estimate import End, Estimate, at_end, line_of, mean_of
from ringsched.calibrate.links import SMALL, Links
from ringsched.calibrate.measurement import Measurement

TOLERANCE = 0.15  # of a factor: what a form may be off anywhere before it is called poor


class Block(NamedTuple):
    """Like jobs that ran at the same time, once."""

    row: Measurement  # one of them
    factor: float  # f: the exchange over that of a job alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """f at every number of jobs that was measured, and what describes it."""

    blocks: tuple[Block, ...]
    factors: dict[int, Estimate]  # by jobs on the link, from 2
    degradation: Estimate | None  # of the line through all; not below 0
    linear_up_to: int  # the line is within the tolerance up to so many jobs
    worst_residual: float  # of the line, relative, over all that was measured
    form: str  # "linear" or "table"
    table: tuple[float, ...] | None  # f at 1, 2, ..., straight between what was measured


def blocks_of(rows: Sequence[Measurement], links: Links) -> list[Block]:
    """Return the blocks of two or more jobs; times of one block are averaged by rates.

    Rates and not times: what one job gets more of a link, another gets less.
    """
    alone = defaultdict(list)
    for row in rows:
        if row.concurrent == 1:
            alone[_like(row)].append(_exchange_s(row, links))
    together: dict[tuple[object, ...], list[Measurement]] = defaultdict(list)
    seen: Counter[tuple[object, ...]] = Counter()
    for at, row in enumerate(rows):
        if row.concurrent > 1 and row.servers > 1 and links.exchange_s(row) > SMALL * _alone_s(row, links):
            key = (*_like(row), row.concurrent, row.job or at)
            seen[key] += 1
            together[(*key[:-1], seen[key] if row.job else f"row {at}")].append(row)
    blocks = []
    for jobs in together.values():
        solo_s = alone.get(_like(jobs[0]))
        base_s = median(solo_s) if solo_s else links.exchange_s(jobs[0])
        times = [max(1e-9, _exchange_s(row, links)) for row in jobs]
        if jobs[0].computes:  # rates of whole iterations: those are what the jobs share by
            whole_s = 1 / fmean(1 / row.seconds for row in jobs)
            rest_s = fmean(row.seconds - each for row, each in zip(jobs, times, strict=True))
            blocks.append(Block(jobs[0], (whole_s - rest_s) / base_s))
        else:
            blocks.append(Block(jobs[0], 1 / fmean(1 / each for each in times) / base_s))
    return blocks


def fit_sharing(blocks: Sequence[Block], missing: list[str]) -> Sharing | None:
    """Return the factors of jobs that always communicate and the form that describes them."""
    quiet = [block for block in blocks if not block.row.computes]
    if not quiet:
        missing.append(
            "degradation: two or more like jobs at a time over the same servers, without computation"
        )
        return None
    factors = _factors(quiet)
    counts = sorted(factors)
    if len(counts) < 2:
        missing.append(
            f"the form of the slow-down: {counts[0] + 1} or more jobs at a time; one number fits any form"
        )
    excess = _slope(quiet, lowest=1.0).mapped(lambda slope: slope - 1)
    line = {count: 1 + (1 + excess.value) * (count - 1) for count in counts}
    worst = max(abs(line[count] / factors[count].value - 1) for count in counts)
    linear_up_to = _linear_up_to(quiet, counts)
    linear = linear_up_to == counts[-1] and worst <= TOLERANCE
    return Sharing(
        blocks=tuple(quiet),
        factors=factors,
        degradation=excess,
        linear_up_to=linear_up_to,
        worst_residual=worst,
        form="linear" if linear else "table",
        table=table_of(factors),
    )


def _factors(blocks: Sequence[Block]) -> dict[int, Estimate]:
    found = {}
    for count in sorted({block.row.concurrent for block in blocks}):
        values = [block.factor for block in blocks if block.row.concurrent == count]
        spread = mean_of(values, lowest=1.0)
        shift = median(values) - spread.value  # the median, since one disturbed block must not move it
        ends = [None if end is None else end + shift for end in (spread.low, spread.high)]
        found[count] = Estimate(value=median(values), low=ends[0], high=ends[1], num_points=len(values))
    return found


def _slope(blocks: Sequence[Block], *, lowest: float) -> Estimate:
    """Fit f = 1 + slope (k - 1), with equal weight to equal relative errors."""
    more = np.array([block.row.concurrent - 1.0 for block in blocks])
    factors = np.array([block.factor for block in blocks])
    return line_of([more / factors], 1 - 1 / factors, lowest=lowest)[0]


def _linear_up_to(blocks: Sequence[Block], counts: Sequence[int]) -> int:
    """Return up to how many jobs every series, jobs alike but for their number, is a line of its own."""
    series: dict[tuple[object, ...], list[Block]] = defaultdict(list)
    for block in blocks:
        series[_like(block.row)].append(block)
    good = 1
    for most in counts:
        for members in series.values():
            within = [block for block in members if block.row.concurrent <= most]
            if not within:
                continue
            slope = _slope(within, lowest=0.0).value
            medians = {count: estimate.value for count, estimate in _factors(within).items()}
            if any(abs((1 + slope * (k - 1)) / f - 1) > TOLERANCE for k, f in medians.items()):
                return good
        good = most
    return good


def table_of(factors: dict[int, Estimate], end: End = "value") -> tuple[float, ...]:
    """Return f at 1, 2, ... up to the most jobs measured: never falling, straight across gaps.

    At an end of the intervals no entry is beyond that of the values: all of this keeps what is below below.
    """
    from scipy.optimize import isotonic_regression

    counts = [1, *factors]
    measured = [1.0, *(max(1.0, at_end(estimate, end)) for estimate in factors.values())]
    rising = np.maximum(1.0, isotonic_regression(measured).x)
    rising[0] = 1.0
    return tuple(float(f) for f in np.interp(range(1, counts[-1] + 1), counts, rising))


def _exchange_s(row: Measurement, links: Links) -> float:
    return row.ring_s - links.latency_s(row)


def _alone_s(row: Measurement, links: Links) -> float:
    return links.exchange_s(row) + links.latency_s(row)


def _like(row: Measurement) -> tuple[object, ...]:
    return (row.servers, row.workers, row.message_mb, row.compute_s)
