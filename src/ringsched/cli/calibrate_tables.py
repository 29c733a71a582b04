"""How a fit is printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from rich.table import Table

from ringsched.calibrate.estimate import Estimate
from ringsched.calibrate.fit import Fit, summary_of
from ringsched.cli.tables import show
from ringsched.model.calibration import Calibration


def print_fit(fit: Fit, calibration: Calibration, duty_cycle: float, written: Sequence[Path]) -> None:
    """Print what was fitted, how well, and what cannot be told."""
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("fitted", justify="right", no_wrap=True)
    table.add_column("95 % interval", no_wrap=True)
    table.add_column("from", no_wrap=True)
    links = fit.links
    _row(table, "inter_server_gbps", links.inter_server_gbps, "jobs alone")
    _row(table, "server_latency_ms", links.server_latency_ms, "small messages alone")
    _row(table, "intra_server_gbps", links.intra_server_gbps, "jobs within a server")
    _row(table, "reduce_gbps", links.reduce_gbps, "reduce_s")
    if fit.sharing is not None:
        _row(table, "degradation", fit.sharing.degradation, "jobs at a time that never compute")
        for count, factor in fit.sharing.factors.items():
            _row(table, f"f({count})", factor, f"{count} jobs at a time")
    for each in fit.duty_shares:
        limit = "at most: nothing was slowed" if each.at_most else "degradation as above"
        _row(table, f"share at duty {each.duty_cycle:.2f}", each.share, limit)
    parts: list[str | Table] = [summary_of(fit), "", table, "", f"verdict: {fit.verdict}", _residuals(fit)]
    parts += [f"cannot be told: {what}" for what in fit.missing]
    if fit.duty_shares and calibration.table is None and calibration.share is not None:
        parts.append(f"share {calibration.share:.3g} is that of a duty cycle of {duty_cycle:g} (--duty)")
    show([*parts, *(f"written to {path}" for path in written)])


def _row(table: Table, name: str, estimate: Estimate | None, source: str) -> None:
    if estimate is None:
        return
    interval = "none: too few"
    if estimate.low is not None and estimate.high is not None:
        interval = f"{estimate.low:.4g} to {estimate.high:.4g}"
    table.add_row(name, f"{estimate.value:.4g}", interval, f"{source} ({estimate.num_points})")


def _residuals(fit: Fit) -> str:
    """Say how far iterations are off that exchange more than they wait; those that only wait tell latency."""
    counted = [
        each for each in fit.residuals if fit.links.exchange_s(each.row) > fit.links.latency_s(each.row)
    ] or list(fit.residuals)
    worst = max(counted, key=lambda each: abs(each.relative))
    typical = median(abs(each.relative) for each in counted)
    row = worst.row
    duty = "" if row.compute_s == 0 else f", {row.compute_s:g} s of computation"
    where = f"{row.workers} workers on {row.servers} servers, {row.message_mb:g} MB{duty}"
    many = f"{row.concurrent} at a time"
    return f"residuals: median {typical:.1%}, worst {worst.relative:+.1%} ({where}, {many})"
