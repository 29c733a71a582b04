"""The second and third stage: how much jobs on one link slow each other, and how many contend at a time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ringsched.calibrate.estimate import End, Estimate, at_end, least_squares_of, line_of, mean_of
from ringsched.calibrate.links import SMALL, Links
from ringsched.calibrate.measurements import Measurement
from ringsched.errors import InputError

TOLERANCE = 0.15  # largest relative error of an accepted form


class Block(NamedTuple):
    """One block of identical jobs that ran at the same time."""

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
        if row.buckets > 1:
            continue  # what neighbours cost depends on what is hidden: predicted, but not fitted
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
    """Return the number of jobs up to which every series of identical jobs is linear."""
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
    return (row.servers, row.workers, row.message_mb, row.compute_s, row.buckets)


ENDS: tuple[End, ...] = ("value", "low", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class DutyShare:
    """The share fitted to jobs that communicate for `duty_cycle` of an iteration alone."""

    duty_cycle: float
    share: Estimate
    at_most: bool  # nothing was slowed down: the share is this or less


def factor_at(sharing: Sharing | None) -> Callable[[float], float]:
    """Return f at any number of jobs that contend, whole or not."""
    if sharing is None or sharing.degradation is None:
        return lambda contending: contending
    if sharing.form == "linear" or sharing.table is None:
        excess = sharing.degradation.value
        return lambda contending: contending + excess * (contending - 1)
    table = sharing.table
    slope = table[-1] - table[-2]

    def by_table(contending: float) -> float:
        beyond = max(0.0, contending - len(table)) * slope
        return float(np.interp(contending, range(1, len(table) + 1), table)) + beyond

    return by_table


def fit_duty_shares(blocks: Sequence[Block], links: Links, sharing: Sharing | None) -> tuple[DutyShare, ...]:
    """Return a share for every duty cycle measured; the slow-down of busy links stays as it was fitted."""
    factor = factor_at(sharing)
    alike: dict[tuple[object, ...], list[Block]] = defaultdict(list)
    for block in blocks:
        if block.row.computes:
            row = block.row
            alike[row.servers, row.workers, row.message_mb, row.compute_s].append(block)
    found = [_share(members, links, factor) for members in alike.values()]
    return tuple(sorted(found, key=lambda each: each.duty_cycle))


def _share(blocks: Sequence[Block], links: Links, factor: Callable[[float], float]) -> DutyShare:
    row = blocks[0].row
    ring_s = links.exchange_s(row) + links.latency_s(row)
    most = max(block.row.concurrent for block in blocks)
    rest = np.array([row.compute_s / links.exchange_s(row) for _ in blocks])
    measured = np.array([block.factor for block in blocks])
    counts = [block.row.concurrent for block in blocks]

    def residuals(at: NDArray[Any]) -> NDArray[Any]:
        expected = np.array([factor(max(1.0, at[0] * count)) for count in counts])
        return np.asarray((expected + rest) / (measured + rest) - 1)

    lowest = 1 / most
    start = float(np.clip(np.median(measured / counts), lowest * 1.01, 0.999))
    share = least_squares_of(residuals, [start], lowest=[lowest], highest=[1.0])[0]
    return DutyShare(
        duty_cycle=ring_s / (ring_s + row.compute_s), share=share, at_most=share.value <= lowest * 1.001
    )


def share_at(duty_shares: Sequence[DutyShare], duty_cycle: float) -> Estimate:
    """Return the share at a duty cycle, straight between those measured; 1 at a duty cycle of 1.

    Examples
    --------
    >>> half = Estimate(value=0.7, low=0.6, high=0.8, num_points=1)
    >>> share = share_at([DutyShare(duty_cycle=0.5, share=half, at_most=False)], 0.75)
    >>> round(share.value, 3), round(share.low, 3), round(share.high, 3)
    (0.85, 0.8, 0.9)
    """
    known = [1.0, *(each.duty_cycle for each in duty_shares)]
    if not min(known) * 0.98 <= duty_cycle <= 1:
        measured = f"{min(known):.2f} to 1" if duty_shares else "only 1 (jobs without computation)"
        raise InputError(
            f"is {duty_cycle:g}, but the measurements cover duty cycles {measured}", field="--duty"
        )
    value, low, high = (_share_at(duty_shares, duty_cycle, end) for end in ENDS)
    return Estimate(value=value, low=low, high=high, num_points=len(duty_shares))


def _share_at(duty_shares: Sequence[DutyShare], duty_cycle: float, end: End) -> float:
    known = sorted([*((each.duty_cycle, at_end(each.share, end)) for each in duty_shares), (1.0, 1.0)])
    return float(np.interp(duty_cycle, [duty for duty, _ in known], [share for _, share in known]))
