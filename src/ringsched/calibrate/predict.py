"""Predictions of the models for jobs that run at the same time, and a simulation by iterations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from ringsched.contention.fabric import Fabric
from ringsched.contention.iteration_time import GIGABITS_PER_MEGABYTE, Ring, Work, overlap_of
from ringsched.contention.network import CORE, Network
from ringsched.contention.sharing import model_of
from ringsched.errors import InputError
from ringsched.model import Contention
from ringsched.model.calibration import Calibration
from ringsched.model.checks import choice, integer, number, sequence, settle

SETTLING = 0.25  # of the time, which is not counted


def simulate_exchanges(
    jobs: Sequence[Placed], starts_s: Sequence[float], calibration: Calibration, *, seconds: float
) -> list[float]:
    """Return the mean seconds per iteration of jobs whose exchanges share links fairly at every moment.

    A job starts with its forward pass.

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
    rings = [_Buckets(job, calibration, start_s) for job, start_s in zip(jobs, starts_s, strict=True)]
    now_s = min(ring.wakes_s for ring in rings)
    while now_s < seconds:
        for ring in rings:
            if ring.left_gbit <= 0 and ring.wakes_s <= now_s:
                ring.send()
        rates = rates_of(frozenset(at for at, ring in enumerate(rings) if ring.left_gbit > 0))
        ends = [now_s + rings[at].left_gbit / rate for at, rate in rates.items()]
        wakes = [ring.wakes_s for at, ring in enumerate(rings) if at not in rates]
        step_s = max(0.0, min(ends + wakes) - now_s)
        now_s += step_s
        for at, rate in rates.items():
            rings[at].advance(rate * step_s, now_s)
    return [_mean_s(ring.ends_s) for ring in rings]


class _Buckets:
    """A job that computes, and sends each bucket when it is ready and the one before it has been sent."""

    def __init__(self, job: Placed, calibration: Calibration, start_s: float) -> None:
        self._each_gbit = job.exchange_gbit / job.buckets
        # Reduction and latency follow the exchange of every bucket.
        self._after_s = other_s(job, calibration) / job.buckets
        self._forward_s = job.compute_s - job.backward_s
        self._each_backward_s = job.backward_s / job.buckets
        self._num_buckets = job.buckets
        self.left_gbit = 0.0  # above 0: it exchanges
        self.ends_s: list[float] = []  # of iterations
        self._begin(start_s)

    def _begin(self, now_s: float) -> None:
        self._backward_from_s, self._num_sent = now_s + self._forward_s, 0
        self.wakes_s = self._ready_s()

    def _ready_s(self) -> float:
        """Return when the next bucket is ready."""
        return self._backward_from_s + (self._num_sent + 1) * self._each_backward_s

    def send(self) -> None:
        """Begin to send the next bucket."""
        self.left_gbit = self._each_gbit

    def advance(self, gbit: float, now_s: float) -> None:
        """Count what has been sent; after the last bucket the next iteration begins."""
        self.left_gbit -= gbit
        if self.left_gbit > 1e-9 * self._each_gbit:
            return
        self.left_gbit = 0.0
        self._num_sent += 1
        free_s = now_s + self._after_s
        if self._num_sent < self._num_buckets:
            self.wakes_s = max(free_s, self._ready_s())
            return
        self.ends_s.append(free_s)
        self._begin(free_s)


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


MODELS = ("phases", "max-min", "paper")


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A job as the models see it: the server of each worker, what is exchanged, how long it computes.

    `backward_s` is the part of `compute_s` in which the gradients become ready, in `buckets` parts.
    """

    placement: tuple[int, ...]
    message_mb: float
    compute_s: float = 0.0
    backward_s: float = 0.0
    buckets: int = 1

    def __post_init__(self) -> None:
        servers = sequence(self.placement, "placement", "servers")
        if not servers:
            raise InputError("must name the server of at least one worker", field="placement")
        settle(
            self,
            placement=tuple(integer(server, "placement", minimum=0) for server in servers),
            message_mb=number(self.message_mb, "message_mb", above=0),
            compute_s=number(self.compute_s, "compute_s", minimum=0),
            backward_s=number(self.backward_s, "backward_s", minimum=0),
            buckets=integer(self.buckets, "buckets", minimum=1),
        )
        if self.backward_s > self.compute_s:
            raise InputError("must not be above compute_s, of which it is a part", field="backward_s")

    @property
    def servers(self) -> frozenset[int]:
        """The servers it uses; it crosses the link of each if there are two or more."""
        return frozenset(self.placement)

    @property
    def exchange_gbit(self) -> float:
        """2m(w-1)/w."""
        workers = len(self.placement)
        return 2 * self.message_mb * GIGABITS_PER_MEGABYTE * (workers - 1) / workers


def predict(jobs: Sequence[Placed], calibration: Calibration, model: str = "phases") -> list[float]:
    """Return the seconds per iteration of jobs that run at the same time, by one of the `MODELS`.

    Examples
    --------
    >>> chain = [Placed(placement=pair, message_mb=2.0) for pair in ((0, 1), (1, 2), (2, 3), (2, 3))]
    >>> measured = Calibration(inter_server_gbps=0.16)
    >>> [round(seconds, 3) for seconds in predict(chain, measured)]
    [0.15, 0.3, 0.3, 0.3]
    >>> [round(seconds, 3) for seconds in predict(chain, measured, "paper")]
    [0.2, 0.3, 0.3, 0.3]
    >>> pair = [Placed(placement=(0, 1), message_mb=2.0, compute_s=0.1)] * 2
    >>> [round(predict(pair, measured, model)[0], 3) for model in MODELS]
    [0.243, 0.2, 0.3]
    """
    choice(model, "model", MODELS)
    if calibration.inter_server_gbps is None:
        raise InputError("is needed for a prediction", field="inter_server_gbps")
    if not jobs:
        return []
    fabric = fabric_of_servers(jobs, calibration, model)
    paces = fabric.iteration_times({at: _ring(job, fabric, calibration) for at, job in enumerate(jobs)})
    return [paces[at].tau for at in range(len(jobs))]


def other_s(job: Placed, calibration: Calibration) -> float:
    """Return what an iteration communicates beside the exchange: reduction and latency."""
    latency_s = (calibration.server_latency_ms or 0.0) * 1e-3 * len(job.servers)
    return _reduce_s(job, calibration) + latency_s


def _reduce_s(job: Placed, calibration: Calibration) -> float:
    return 0.0 if calibration.reduce_gbps is None else job.exchange_gbit / 2 / calibration.reduce_gbps


def fabric_of_servers(jobs: Sequence[Placed], calibration: Calibration, model: str) -> Fabric:
    """Return servers side by side, all with the measured speed, as many as the jobs name."""
    gpus_on = [0] * (1 + max(server for job in jobs for server in job.servers))
    for job in jobs:
        for server in job.placement:
            gpus_on[server] += 1
    settings = Contention(model=model)
    return Fabric(
        Network(
            uplink_gbps=(calibration.inter_server_gbps or math.inf,) * len(gpus_on),
            parent_of=(CORE,) * len(gpus_on),
            capacity=tuple(gpus_on),
            num_servers=len(gpus_on),
            num_levels=1,
            inside_gbps=(calibration.intra_server_gbps or math.inf,) * 3,
        ),
        model_of(settings.replace(**calibration.contention_fields(settings))),
        (calibration.server_latency_ms or 0.0) * 1e-3,
    )


def _ring(job: Placed, fabric: Fabric, calibration: Calibration) -> Ring:
    work = Work(
        job.exchange_gbit,
        _reduce_s(job, calibration),
        job.compute_s,
        job.backward_s,
        overlap_of(job.buckets),
    )
    return fabric.ring(work, fabric.shape(Counter(job.placement)))
