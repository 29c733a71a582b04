"""From a fit to a calibration, the numbers that drop into a scenario."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

from ringsched.calibrate.duty import factor_at, share_at
from ringsched.calibrate.estimate import End, Estimate, at_end
from ringsched.calibrate.fit import Fit
from ringsched.calibrate.sharing import table_of
from ringsched.io.calibration_file import write_calibration
from ringsched.model.calibration import Calibration, Interval

LOW_AND_HIGH: tuple[End, End] = ("low", "high")


def calibration_of(fit: Fit, *, duty_cycle: float = 1.0) -> Calibration:
    """Return what goes into a scenario whose jobs communicate for `duty_cycle` of an iteration alone.

    Examples
    --------
    >>> from ringsched import fit_measurements, load_measurements
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
    """Return what is a number of its own; a table has share and degradation in it."""
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
