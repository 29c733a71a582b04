"""`fit_measurements()`: from measured iterations to the numbers of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ringsched.calibrate.duty import DutyShare, factor_at, fit_duty_shares
from ringsched.calibrate.links import Links, fit_links
from ringsched.calibrate.measurement import Measurement
from ringsched.calibrate.sharing import TOLERANCE, Block, Sharing, blocks_of, fit_sharing
from ringsched.errors import InputError
from ringsched.words.figures import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """A measurement beside what was fitted."""

    row: Measurement
    fitted_s: float

    @property
    def relative(self) -> float:
        """How far the fit is above what was measured, as a part of it."""
        return self.fitted_s / self.row.seconds - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What measurements tell, and what they do not."""

    measurements: tuple[Measurement, ...]
    links: Links
    sharing: Sharing | None
    duty_shares: tuple[DutyShare, ...]
    missing: tuple[str, ...]  # what cannot be told, and the measurement that would tell it
    residuals: tuple[Residual, ...]  # of all spread jobs, in the order of the measurements

    @property
    def verdict(self) -> str:
        """One sentence on whether the linear form is good enough."""
        sharing = self.sharing
        if sharing is None:
            return "nothing ran beside anything: whether the linear form is good cannot be told"
        most = max(sharing.factors)
        if len(sharing.factors) == 1:
            return f"only {most} jobs at a time were measured: whether the linear form is good cannot be told"
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
        At least one job alone over two or more servers. What they do not tell is left out of the fit
        and named in `missing`.

    Examples
    --------
    >>> from ringsched.calibrate.measurement_file import load_measurements
    >>> fit = fit_measurements(load_measurements("examples/measurements.csv"))
    >>> round(fit.links.inter_server_gbps.value, 2), fit.sharing.form
    (0.19, 'linear')
    """
    check_scipy()
    if not any(row.servers > 1 and row.concurrent == 1 for row in measurements):
        raise InputError(
            "no bandwidth can be told: measure a job alone (concurrent = 1) over two or more servers"
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


def check_scipy() -> None:
    """Raise if scipy is not there."""
    try:
        import scipy.optimize  # noqa: F401
    except ImportError:
        raise InputError("fitting needs scipy: pip install 'ringsched[calibrate]'") from None


def summary_of(fit: Fit) -> str:
    """Return in a few words what was read."""
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
        fixed_s = row.seconds - row.ring_s + links.latency_s(row)
        found.append(Residual(row=row, fitted_s=links.exchange_s(row) * factor(contending) + fixed_s))
    return tuple(found)
