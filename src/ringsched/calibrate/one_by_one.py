"""Jobs iteration by iteration: exchange and computation in turn, links shared fairly at every moment.

Slower than a formula and told the starts of the jobs, so no scheduler could use it; it says what fair links
do to jobs that come and go, and so how much of a formula's error is the formula's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ringsched.calibrate.predict import Placed, fair_rates, free_gbps, rest_s
from ringsched.errors import InputError
from ringsched.model.calibration import Calibration

SETTLING = 0.25  # of the time, which is not counted


def simulate_exchanges(
    jobs: Sequence[Placed], starts_s: Sequence[float], calibration: Calibration, *, seconds: float
) -> list[float]:
    """Return the mean seconds per iteration of jobs whose exchanges share links fairly at every moment.

    Examples
    --------
    >>> pair = [Placed(placement=(0, 1), message_mb=2.0, compute_s=0.1)] * 2
    >>> measured = Calibration(inter_server_gbps=0.16)  # an exchange alone takes a tenth of a second
    >>> [round(each, 3) for each in simulate_exchanges(pair, [0.0, 0.1], measured, seconds=10)]
    [0.2, 0.2]
    >>> [round(each, 3) for each in simulate_exchanges(pair, [0.0, 0.0], measured, seconds=10)]
    [0.3, 0.3]
    """
    if any(len(job.placement) < 2 for job in jobs):
        raise InputError("must have two workers or more: one alone exchanges nothing", field="placement")
    link_gbps = calibration.inter_server_gbps or math.inf
    crossed = {at: job.servers if len(job.servers) > 1 else frozenset() for at, job in enumerate(jobs)}
    links = {server: link_gbps for servers in crossed.values() for server in servers}
    limits = {at: free_gbps(job, calibration) for at, job in enumerate(jobs)}
    rests_s = [rest_s(job, calibration) for job in jobs]
    wakes_s = list(starts_s)  # when the computation of a job ends
    left_gbit = [0.0] * len(jobs)  # above 0: it exchanges
    ends_s: list[list[float]] = [[] for _ in jobs]  # of exchanges
    now_s = min(wakes_s)
    while now_s < seconds:
        for at, job in enumerate(jobs):
            if left_gbit[at] <= 0 and wakes_s[at] <= now_s:
                left_gbit[at] = job.exchange_gbit
        active = {at: limits[at] for at in range(len(jobs)) if left_gbit[at] > 0}
        rates = fair_rates(active, crossed, links)
        ends = [now_s + left_gbit[at] / rate for at, rate in rates.items()]
        wakes = [wakes_s[at] for at in range(len(jobs)) if at not in active]
        step_s = max(0.0, min(ends + wakes) - now_s)
        now_s += step_s
        for at, rate in rates.items():
            left_gbit[at] -= rate * step_s
            if left_gbit[at] <= 1e-9 * jobs[at].exchange_gbit:
                left_gbit[at] = 0.0
                ends_s[at].append(now_s)
                wakes_s[at] = now_s + rests_s[at]
    return [_mean_s(each) for each in ends_s]


def _mean_s(ends_s: Sequence[float]) -> float:
    counted = ends_s[int(SETTLING * len(ends_s)) :]
    return (counted[-1] - counted[0]) / (len(counted) - 1) if len(counted) > 1 else math.nan
