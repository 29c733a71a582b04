"""Jobs iteration by iteration: exchange and computation in turn, links shared fairly at every moment.

Slower than a formula and told the starts of the jobs, so no scheduler could use it; it says what fair links
do to jobs that come and go, and so how much of a formula's error is the formula's.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from ringsched.calibrate.predict import Placed, fabric_of_servers, rest_s
from ringsched.contention.iteration_time import Work
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
    if calibration.intra_server_gbps is None and any(len(job.servers) == 1 for job in jobs):
        raise InputError("is needed for a job inside one server", field="intra_server_gbps")
    rates_of = _fair_rates(jobs, calibration)
    rests_s = [rest_s(job, calibration) for job in jobs]
    wakes_s = list(starts_s)  # when the computation of a job ends
    left_gbit = [0.0] * len(jobs)  # above 0: it exchanges
    ends_s: list[list[float]] = [[] for _ in jobs]  # of exchanges
    now_s = min(wakes_s)
    while now_s < seconds:
        for at, job in enumerate(jobs):
            if left_gbit[at] <= 0 and wakes_s[at] <= now_s:
                left_gbit[at] = job.exchange_gbit
        rates = rates_of(frozenset(at for at in range(len(jobs)) if left_gbit[at] > 0))
        ends = [now_s + left_gbit[at] / rate for at, rate in rates.items()]
        wakes = [wakes_s[at] for at in range(len(jobs)) if at not in rates]
        step_s = max(0.0, min(ends + wakes) - now_s)
        now_s += step_s
        for at, rate in rates.items():
            left_gbit[at] -= rate * step_s
            if left_gbit[at] <= 1e-9 * jobs[at].exchange_gbit:
                left_gbit[at] = 0.0
                ends_s[at].append(now_s)
                wakes_s[at] = now_s + rests_s[at]
    return [_mean_s(each) for each in ends_s]


def _fair_rates(
    jobs: Sequence[Placed], calibration: Calibration
) -> Callable[[frozenset[int]], Mapping[int, float]]:
    """Return a function from the jobs that exchange at a moment to their rates in Gbit/s, max-min fair."""
    fabric = replace(fabric_of_servers(jobs, calibration, "max-min"), latency_s=0.0)
    # A job that does nothing but exchange: its average rate is its rate.
    only_exchange = Work(exchange_gbit=1.0, reduce_s=0.0, compute_s=0.0)
    rings = [fabric.ring(only_exchange, fabric.shape(Counter(job.placement))) for job in jobs]

    @cache
    def rates(exchanging: frozenset[int]) -> dict[int, float]:
        paces = fabric.iteration_times({at: rings[at] for at in sorted(exchanging)})
        return {at: 1 / pace.tau for at, pace in paces.items()}

    return rates


def _mean_s(ends_s: Sequence[float]) -> float:
    counted = ends_s[int(SETTLING * len(ends_s)) :]
    return (counted[-1] - counted[0]) / (len(counted) - 1) if len(counted) > 1 else math.nan
