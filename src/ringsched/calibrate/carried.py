"""What links carried for jobs alone on them, with and without headers."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from ringsched.calibrate.blocks import MeasuredBlock
from ringsched.calibrate.measurement import GIGABITS_PER_MEGABYTE


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
