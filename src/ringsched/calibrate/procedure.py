"""The blocks that tell everything a fit asks for, in an order that it can check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ringsched.calibrate.bed_jobs import TestJob
from ringsched.calibrate.blocks import MeasuredBlock, measure, measurements_of
from ringsched.calibrate.measurement import Measurement
from ringsched.calibrate.testbed import Testbed
from ringsched.errors import InputError

TINY_MB = 0.0001  # so little that only latency is left
EXCHANGES = 0.08  # seconds of a job alone with a small message: many iterations in few seconds


class Planned(NamedTuple):
    """A block to be measured."""

    name: str
    jobs: tuple[TestJob, ...]
    by_processor: bool = False


def planned_blocks(servers: int, payload_gbps: float, *, quick: bool = False) -> list[Planned]:
    """Return the blocks for a testbed of so many servers.

    Examples
    --------
    >>> [block.name for block in planned_blocks(2, 0.19, quick=True)][:3]
    ['latency, 2 servers', '2 MB alone', '4 MB alone']
    """
    if servers < 2:
        raise InputError("must be at least 2 to measure a link", field="--servers")
    # A message that takes as long on any link, in round megabytes where that is 2 or more.
    size_mb = payload_gbps / 8e-3 * EXCHANGES
    size_mb = float(round(size_mb)) if size_mb >= 1.5 else float(f"{size_mb:.1g}")
    return list(_blocks(servers, size_mb, payload_gbps, quick))


def _blocks(servers: int, size_mb: float, payload_gbps: float, quick: bool) -> Iterator[Planned]:
    pair, every = (0, 1), tuple(range(min(servers, 4)))
    for count in (2,) if quick else range(2, len(every) + 1):
        job = TestJob(placement=every[:count], message_mb=TINY_MB, seconds=0.5)
        yield Planned(f"latency, {count} servers", (job,), by_processor=True)
    for factor in (1, 2) if quick else (1, 2, 4):
        job = TestJob(placement=pair, message_mb=size_mb * factor, seconds=1.5 + 0.5 * factor)
        yield Planned(f"{size_mb * factor:g} MB alone", (job,))
    if len(every) > 2 and not quick:
        job = TestJob(placement=every, message_mb=size_mb, seconds=2.0)
        yield Planned(f"{size_mb:g} MB on {len(every)} servers", (job,))
    for count in (2, 3, 4):
        job = TestJob(placement=pair, message_mb=size_mb, seconds=1.0 + (0.75 if quick else 1.0) * count)
        yield Planned(f"{count} jobs at a time", (job,) * count)
    inside = TestJob(placement=(0, 0), message_mb=size_mb, seconds=0.5)
    yield Planned("within a server", (inside,), by_processor=True)
    exchange_s = 2 * size_mb * 8e-3 * 2 / 2 / payload_gbps  # of twice the message, on two servers
    for duty, count in ((0.5, 3),) if quick else ((0.5, 2), (0.5, 3), (1 / 3, 3), (1 / 3, 4)):
        compute_s = float(f"{exchange_s * (1 / duty - 1):.3g}")
        period_s = compute_s + exchange_s
        yield Planned(
            f"{count} jobs, duty cycle {duty:.2f}",
            tuple(
                TestJob(
                    placement=pair,
                    message_mb=2 * size_mb,
                    compute_s=compute_s,
                    start_s=period_s * at / count,  # jobs that start together stay together, and slower
                    seconds=3.0 if quick else 5.0,
                )
                for at in range(count)
            ),
        )


class Calibrated(NamedTuple):
    """What was measured; rows of suspect blocks are left out, so that no fit rests on them."""

    measurements: tuple[Measurement, ...]
    blocks: tuple[MeasuredBlock, ...]

    @property
    def suspect(self) -> tuple[MeasuredBlock, ...]:
        """The blocks that were disturbed each time."""
        return tuple(block for block in self.blocks if block.suspect)


def run_procedure(
    testbed: Testbed,
    *,
    repeats: int = 1,
    quick: bool = False,
    on_try: Callable[[str, int], None] | None = None,
) -> Calibrated:
    """Measure all blocks, several times over if asked."""
    planned = planned_blocks(testbed.servers, testbed.payload_gbps, quick=quick)
    blocks = [
        measure(testbed, block.name, block.jobs, by_processor=block.by_processor, on_try=on_try)
        for _ in range(repeats)
        for block in planned
    ]
    rows = [row for block in blocks if not block.suspect for row in measurements_of(block)]
    return Calibrated(tuple(rows), tuple(blocks))
