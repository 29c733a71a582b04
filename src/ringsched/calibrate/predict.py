"""What the models say of jobs that run at the same time: the paper's rule, and two ways of fair sharing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ringsched.calibrate.measurement import GIGABITS_PER_MEGABYTE
from ringsched.contention.fair_shares import fair_shares
from ringsched.contention.iteration_time import sharing_factor
from ringsched.contention.phases import Ring, phase_shares
from ringsched.errors import InputError
from ringsched.model import Contention
from ringsched.model.calibration import Calibration
from ringsched.model.checks import choice, integer, number, sequence, settle
from ringsched.model.contention import MAX_MIN, PHASES

MODELS = (PHASES, MAX_MIN, "paper")


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A job as the models see it: the server of each worker, what is exchanged, how long it computes."""

    placement: tuple[int, ...]
    message_mb: float
    compute_s: float = 0.0

    def __post_init__(self) -> None:
        servers = sequence(self.placement, "placement", "servers")
        if not servers:
            raise InputError("must name the server of at least one worker", field="placement")
        settle(
            self,
            placement=tuple(integer(server, "placement", minimum=0) for server in servers),
            message_mb=number(self.message_mb, "message_mb", above=0),
            compute_s=number(self.compute_s, "compute_s", minimum=0),
        )

    @property
    def servers(self) -> frozenset[int]:
        """The servers it uses; it crosses the link of each if there are two or more."""
        return frozenset(self.placement)

    @property
    def exchange_gbit(self) -> float:
        """2m(w-1)/w."""
        workers = len(self.placement)
        return 2 * self.message_mb * GIGABITS_PER_MEGABYTE * (workers - 1) / workers


def predict(jobs: Sequence[Placed], calibration: Calibration, model: str = PHASES) -> list[float]:
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
    by_model = BY_MODEL[choice(model, "model", MODELS)]
    if calibration.inter_server_gbps is None:
        raise InputError("is needed to predict anything", field="inter_server_gbps")
    return by_model(jobs, calibration, calibration.inter_server_gbps) if jobs else []


def rest_s(job: Placed, calibration: Calibration) -> float:
    """Return everything in an iteration but the exchange."""
    reduce_s = 0.0
    if calibration.reduce_gbps is not None:
        reduce_s = job.exchange_gbit / 2 / calibration.reduce_gbps
    return reduce_s + (calibration.server_latency_ms or 0.0) * 1e-3 * len(job.servers) + job.compute_s


def free_gbps(job: Placed, calibration: Calibration) -> float:
    """Return the speed of the ring's slowest part that knows no contention."""
    within = len(job.placement) > len(job.servers)
    return calibration.intra_server_gbps or math.inf if within else math.inf


def _paper(jobs: Sequence[Placed], calibration: Calibration, link_gbps: float) -> list[float]:
    contention = Contention(**calibration.contention_fields())
    on_link = Counter(server for job in jobs if len(job.servers) > 1 for server in job.servers)
    found = []
    for job in jobs:
        speed = free_gbps(job, calibration)
        if len(job.servers) > 1:
            speed = min(speed, *(link_gbps / sharing_factor(contention, on_link[at]) for at in job.servers))
        found.append(job.exchange_gbit / speed + rest_s(job, calibration))
    return found


def _max_min(jobs: Sequence[Placed], calibration: Calibration, link_gbps: float) -> list[float]:
    found = [job.exchange_gbit / free_gbps(job, calibration) + rest_s(job, calibration) for job in jobs]
    spread = {at: job for at, job in enumerate(jobs) if len(job.servers) > 1}
    demands = {}
    for at, job in spread.items():
        alone_gbps = min(link_gbps, free_gbps(job, calibration))
        demands[at] = job.exchange_gbit / (rest_s(job, calibration) + job.exchange_gbit / alone_gbps)
    links = {server: link_gbps for job in spread.values() for server in job.servers}
    rates = fair_rates(demands, {at: job.servers for at, job in spread.items()}, links)
    return [jobs[at].exchange_gbit / rates[at] if at in rates else found[at] for at in range(len(jobs))]


def _phases(jobs: Sequence[Placed], calibration: Calibration, link_gbps: float) -> list[float]:
    rings = {
        at: Ring(
            exchange_gbit=job.exchange_gbit,
            rest_s=rest_s(job, calibration),
            free_gbps=free_gbps(job, calibration),
            links=sorted(job.servers),
        )
        for at, job in enumerate(jobs)
        if len(job.servers) > 1
    }
    shares = phase_shares(rings, [link_gbps] * (1 + max(chain(*(job.servers for job in jobs)))))
    speeds = [shares[at].gbps if at in shares else free_gbps(job, calibration) for at, job in enumerate(jobs)]
    return [
        job.exchange_gbit / speed + rest_s(job, calibration) for job, speed in zip(jobs, speeds, strict=True)
    ]


BY_MODEL = {PHASES: _phases, MAX_MIN: _max_min, "paper": _paper}


def fair_rates(
    demands: Mapping[int, float], crossed: Mapping[int, frozenset[int]], links: Mapping[int, float]
) -> dict[int, float]:
    """Return the max-min fair rates, as `contention.model = "max-min"` has them.

    Parameters
    ----------
    demands
        What each job would take at most.
    crossed, links
        The links each job crosses, and how much each link carries.

    Examples
    --------
    >>> fair_rates({0: 1.0, 1: 0.2}, {0: frozenset({0}), 1: frozenset({0})}, {0: 1.0})
    {0: 0.8, 1: 0.2}
    """
    speeds = [links.get(link, math.inf) for link in range(1 + max(links, default=-1))]
    linked = {job: demand for job, demand in demands.items() if crossed[job]}
    shares = fair_shares(linked, {job: sorted(crossed[job]) for job in linked}, speeds)
    return dict(demands) | {job: share.gbps for job, share in shares.items()}
