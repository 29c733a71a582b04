"""The first stage: speeds of links, latency and the speed of summing up, from jobs that ran alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import numpy as np

from ringsched.calibrate.blocks import MeasuredBlock
from ringsched.calibrate.estimate import Estimate, line_of, mean_of
from ringsched.calibrate.measurements import GIGABITS_PER_MEGABYTE, Measurement


class Carried(NamedTuple):
    """The median over blocks of one job that never computes."""

    payload_mbps: float  # what a job sees, and what a scenario's bandwidth means
    wire_mbps: float  # with headers and acknowledgements, which is what is shaped
    sent_again: float  # share of it that was sent again


def carried(blocks: Sequence[MeasuredBlock]) -> Carried | None:
    """Return what links carried in the blocks that can be trusted; None if no job was alone."""
    found = []
    for block in blocks:
        job = block.jobs[0]
        alone = len(block.jobs) == 1 and job.compute_s == 0 and not block.by_processor
        if alone and not block.suspect and block.overhead is not None:
            workers = len(job.placement)
            gbit = 2 * job.message_mb * GIGABITS_PER_MEGABYTE * (workers - 1) / workers
            payload_mbps = 1e3 * gbit / block.medians[0].exchange_s
            found.append((payload_mbps, payload_mbps * block.overhead, block.sent_again))
    return Carried(*(median(each) for each in zip(*found, strict=True))) if found else None


LARGE = 0.8  # of the time is exchange: such rows tell the bandwidth
SMALL = 0.5  # at most: such rows tell the latency
SPAN = 4.0  # between the smallest and the largest message, so that a line has a slope and an offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The parameters from jobs alone; None for unknown ones."""

    inter_server_gbps: Estimate
    server_latency_ms: Estimate | None
    intra_server_gbps: Estimate | None
    reduce_gbps: Estimate | None

    def exchange_s(self, row: Measurement) -> float:
        """Return the exchange of a job like this, alone."""
        return row.exchange_gbit / self.inter_server_gbps.value

    def latency_s(self, row: Measurement) -> float:
        """Return the latency of a job like this."""
        return 0.0 if self.server_latency_ms is None else self.server_latency_ms.value * 1e-3 * row.servers


def fit_links(rows: Sequence[Measurement], missing: list[str]) -> Links:
    """Return the parameters; unknown ones are added to `missing`. One spread row must be alone."""
    alone = [row for row in rows if row.servers > 1 and row.concurrent == 1]
    quiet = [row for row in alone if not row.computes] or alone
    speed, latency = _speed_and_latency(quiet)
    if latency is None:
        missing.append(
            "server_latency_ms: a job alone with messages of few bytes, such as 0.0001 MB "
            f"(or of sizes that differ by a factor of {SPAN:g})"
        )
    latency_s = 0.0 if latency is None else latency.value * 1e-3
    inside = [
        row.exchange_gbit / left
        for row in rows
        if row.servers == 1 and row.concurrent == 1 and (left := row.ring_s - latency_s) > SMALL * row.ring_s
    ]
    if not inside:
        missing.append("intra_server_gbps: a job alone within one server (servers = 1)")
    sums = [
        row.exchange_gbit / 2 / row.reduce_s
        for row in rows
        if row.reduce_s and row.exchange_gbit > 0.1 * max(other.exchange_gbit for other in rows)
    ]
    if not sums:
        missing.append("reduce_gbps: the column reduce_s; until then summing up counts as exchange")
    return Links(
        inter_server_gbps=speed,
        server_latency_ms=latency,
        intra_server_gbps=mean_of(inside, lowest=0.0) if inside else None,
        reduce_gbps=mean_of(sums, lowest=0.0) if sums else None,
    )


def _speed_and_latency(rows: Sequence[Measurement]) -> tuple[Estimate, Estimate | None]:
    """Fit a line first, then each of its two parameters by the rows that determine it best."""
    speed, latency = _line(rows)
    parts = [row.exchange_gbit / speed.value / row.ring_s for row in rows]
    large = [row for row, part in zip(rows, parts, strict=True) if part >= LARGE]
    small = [row for row, part in zip(rows, parts, strict=True) if part <= SMALL]
    if large and small:
        for _ in range(3):  # the one changes the other by a thousandth: this settles at once
            latency_s = 0.0 if latency is None else latency.value * 1e-3
            speed = mean_of([row.exchange_gbit / (row.ring_s - latency_s * row.servers) for row in large])
            left = [(row.ring_s - row.exchange_gbit / speed.value) / row.servers * 1e3 for row in small]
            latency = mean_of([max(0.0, each) for each in left], lowest=0.0)
        return speed, latency
    sizes = [row.message_mb for row in rows]
    return speed, latency if len(rows) > 2 and max(sizes) >= SPAN * min(sizes) else None


def _line(rows: Sequence[Measurement]) -> tuple[Estimate, Estimate | None]:
    """Fit seconds = exchange / speed + latency * servers, with equal weight to equal relative errors."""
    gigabits = np.array([row.exchange_gbit for row in rows])
    servers = np.array([row.servers for row in rows], dtype=float)
    times = np.array([row.ring_s for row in rows])
    if max(gigabits) < SPAN * min(gigabits):  # one size: the offset cannot be fitted
        return line_of([gigabits / times], np.ones(len(rows)), lowest=0.0)[0].mapped(_inverse), None
    slope, offset = line_of([gigabits / times, servers / times], np.ones(len(rows)), lowest=0.0)
    return slope.mapped(_inverse), offset.mapped(lambda seconds: seconds * 1e3)


def _inverse(value: float) -> float:
    return 1 / value if value > 0 else float("inf")
