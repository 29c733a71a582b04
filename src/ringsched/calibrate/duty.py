"""The third stage: the share of the jobs that contend at a time, by how long they compute."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringsched.calibrate.estimate import End, Estimate, at_end, least_squares_of
from ringsched.calibrate.links import Links
from ringsched.calibrate.sharing import Block, Sharing
from ringsched.errors import InputError

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
            f"is {duty_cycle:g}, but what was measured tells of duty cycles {measured}", field="--duty"
        )
    value, low, high = (_share_at(duty_shares, duty_cycle, end) for end in ENDS)
    return Estimate(value=value, low=low, high=high, num_points=len(duty_shares))


def _share_at(duty_shares: Sequence[DutyShare], duty_cycle: float, end: End) -> float:
    known = sorted([*((each.duty_cycle, at_end(each.share, end)) for each in duty_shares), (1.0, 1.0)])
    return float(np.interp(duty_cycle, [duty for duty, _ in known], [share for _, share in known]))
