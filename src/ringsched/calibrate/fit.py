"""`fit_measurements()`: from measured iterations to the numbers of a scenario."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ringsched.calibrate.estimate import End, Estimate, at_end
from ringsched.calibrate.links import Links, fit_links
from ringsched.calibrate.measurements import Measurement
from ringsched.calibrate.sharing import (
    TOLERANCE,
    Block,
    DutyShare,
    Sharing,
    blocks_of,
    factor_at,
    fit_duty_shares,
    fit_sharing,
    share_at,
    table_of,
)
from ringsched.contention.iteration_time import iteration_time_s
from ringsched.errors import InputError
from ringsched.formats.calibration import write_calibration
from ringsched.formatting import counted, one_line
from ringsched.model.calibration import Calibration, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """A measurement and its fitted value."""

    row: Measurement
    fitted_s: float

    @property
    def relative(self) -> float:
        """Relative error of the fit."""
        return self.fitted_s / self.row.seconds - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The fitted parameters, and those that could not be fitted."""

    measurements: tuple[Measurement, ...]
    links: Links
    sharing: Sharing | None
    duty_shares: tuple[DutyShare, ...]
    missing: tuple[str, ...]  # parameters that cannot be fitted, and the measurement that would allow it
    residuals: tuple[Residual, ...]  # of all spread jobs, in the order of the measurements

    def __repr__(self) -> str:
        return one_line("Fit", counted(len(self.measurements), "measurement"), self.verdict)

    @property
    def verdict(self) -> str:
        """One sentence on the quality of the linear form."""
        sharing = self.sharing
        if sharing is None:
            return "no jobs ran at the same time, so the linear form cannot be checked; measure two or more"
        most = max(sharing.factors)
        if len(sharing.factors) == 1:
            return f"only {most} jobs at a time were measured; check the linear form with more jobs"
        if sharing.form == "linear":
            return f"linear is good up to {most} jobs: within {sharing.worst_residual:.1%} of every factor"
        if sharing.linear_up_to < most:
            return f"linear is poor beyond {sharing.linear_up_to}, table chosen"
        return f"linear is poor: off by {sharing.worst_residual:.0%}, over {TOLERANCE:.0%}, table chosen"


def fit_measurements(measurements: Sequence[Measurement]) -> Fit:
    """Fit bandwidth, latency, slow-down by sharing, and the share by duty cycle, in this order.

    Parameters
    ----------
    measurements
        At least one job alone over two or more servers. Parameters that cannot be fitted are listed in
        `missing`.

    Examples
    --------
    >>> from ringsched.calibrate.measurements import load_measurements
    >>> fit = fit_measurements(load_measurements("examples/measurements.csv"))
    >>> round(fit.links.inter_server_gbps.value, 2), fit.sharing.form
    (0.19, 'linear')
    """
    if not any(row.servers > 1 and row.concurrent == 1 for row in measurements):
        raise InputError(
            "the bandwidth cannot be fitted; measure a job alone (concurrent = 1) over two or more servers"
        )
    missing: list[str] = []
    links = fit_links(measurements, missing)
    blocks = blocks_of(measurements, links)
    sharing = fit_sharing(blocks, missing)
    duty_shares = fit_duty_shares(blocks, links, sharing)
    if not duty_shares:
        missing.append("share: like jobs at a time that compute between exchanges (compute_s > 0)")
    return Fit(
        measurements=tuple(measurements),
        links=links,
        sharing=sharing,
        duty_shares=duty_shares,
        missing=tuple(missing),
        residuals=_residuals(measurements, blocks, links, sharing, duty_shares),
    )


def summary_of(fit: Fit) -> str:
    """Return a short description of the measurements."""
    alone = sum(row.concurrent == 1 for row in fit.measurements)
    most = max(row.concurrent for row in fit.measurements)
    rows = counted(len(fit.measurements), "measurement")
    return f"{rows}, {alone} of them alone, up to {counted(most, 'job')} at a time"


def _residuals(
    rows: Sequence[Measurement],
    blocks: Sequence[Block],
    links: Links,
    sharing: Sharing | None,
    duty_shares: Sequence[DutyShare],
) -> tuple[Residual, ...]:
    factor = factor_at(sharing)
    shares = {round(each.duty_cycle, 9): each.share.value for each in duty_shares}
    told = {block.row.concurrent for block in blocks}
    found = []
    for row in rows:
        if row.servers < 2 or (row.concurrent > 1 and row.concurrent not in told):
            continue
        ring_s = links.exchange_s(row) + links.latency_s(row)
        duty = round(ring_s / (ring_s + row.compute_s), 9)
        contending = max(1.0, shares.get(duty, 1.0) * row.concurrent)
        ring_s = links.exchange_s(row) * factor(contending) + links.latency_s(row) + (row.reduce_s or 0.0)
        fitted_s = iteration_time_s(0.0, ring_s, *row.computation, 0.0, math.inf)
        found.append(Residual(row=row, fitted_s=fitted_s))
    return tuple(found)


LOW_AND_HIGH: tuple[End, End] = ("low", "high")


def calibration_of(fit: Fit, *, duty_cycle: float = 1.0) -> Calibration:
    """Return what goes into a scenario whose jobs communicate for `duty_cycle` of an iteration alone.

    Examples
    --------
    >>> from ringsched.calibrate.measurements import load_measurements
    >>> calibration = calibration_of(fit_measurements(load_measurements("examples/measurements.csv")))
    >>> [round(end, 3) for end in calibration.intervals["inter_server_gbps"]]
    [0.192, 0.192]
    """
    estimates = _estimates(fit, duty_cycle)
    known = {name: estimate.value for name, estimate in estimates.items()}
    intervals = {name: _interval(estimate.low, estimate.high) for name, estimate in estimates.items()}
    return Calibration(
        **known,
        table=_table(fit, duty_cycle, "value"),
        intervals={name: interval for name, interval in intervals.items() if interval is not None},
        table_intervals=_table_intervals(fit, duty_cycle),
    )


def save_calibration(fit: Fit, calibration: Calibration, path: str | os.PathLike[str], source: str) -> None:
    """Write a calibration as TOML, atomically."""
    comments = (f"Fitted by ringsched calibrate fit to {source}; intervals of 95 %.", f"{fit.verdict}.")
    write_calibration(calibration, Path(path), comments)


def _estimates(fit: Fit, duty_cycle: float) -> dict[str, Estimate]:
    """Return the fitted numbers; a table includes share and degradation."""
    links, sharing = fit.links, fit.sharing
    found = {
        "inter_server_gbps": links.inter_server_gbps,
        "intra_server_gbps": links.intra_server_gbps,
        "reduce_gbps": links.reduce_gbps,
        "server_latency_ms": links.server_latency_ms,
    }
    share = share_at(fit.duty_shares, duty_cycle)  # also says if nothing is known of this duty cycle
    if sharing is not None and sharing.form == "linear":
        found |= {"share": share, "degradation": sharing.degradation}
    return {name: estimate for name, estimate in found.items() if estimate is not None}


def _table(fit: Fit, duty_cycle: float, end: End) -> tuple[float, ...] | None:
    """Return f by jobs on the link, as it was fitted or at one end of the intervals."""
    sharing = fit.sharing
    if sharing is None or sharing.form != "table" or sharing.table is None:
        return None
    factor = factor_at(replace(sharing, table=table_of(sharing.factors, end)))
    share = at_end(share_at(fit.duty_shares, duty_cycle), end)
    return tuple(factor(max(1.0, share * count)) for count in range(1, len(sharing.table) + 1))


def _table_intervals(fit: Fit, duty_cycle: float) -> tuple[Interval, ...] | None:
    low, high = (_table(fit, duty_cycle, end) for end in LOW_AND_HIGH)
    if low is None or high is None or low == high:
        return None
    return tuple(zip(low, high, strict=True))


def _interval(low: float | None, high: float | None) -> Interval | None:
    """Return the ends, if they are known and leave anything open."""
    if low is None or high is None or not math.isfinite(high) or low == high:
        return None
    return low, high
