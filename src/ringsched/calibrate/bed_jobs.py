"""Jobs for the testbed, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ringsched.calibrate.noise import Noise
from ringsched.calibrate.worker import Iteration

SEGMENT_BYTES = 1514  # of a full frame


@dataclass(frozen=True, slots=True, kw_only=True)
class TestJob:
    """A job to be run: a worker on each server listed, in the order of the ring."""

    __test__ = False  # to pytest: this is none

    placement: tuple[int, ...]
    message_mb: float
    compute_s: float = 0.0
    start_s: float = 0.0  # after the start of the block
    iterations: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """What a job did: the iterations of its first worker, and the bytes each of its workers sent."""

    job: TestJob
    iterations: tuple[Iteration, ...]  # times since the start of the block
    sent_bytes: tuple[int, ...]


class Traffic(NamedTuple):
    """What all links carried during a block."""

    wire_bytes: int  # headers and acknowledgements included
    segments_again: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRun:
    """What came of jobs that ran at the same time."""

    jobs: tuple[JobRun, ...]
    noise: Noise
    traffic: Traffic

    @property
    def overhead(self) -> float | None:
        """Bytes on the wire over the jobs' own; None if nothing went over a link."""
        crossing = sum(
            sent
            for run in self.jobs
            for sent, server, following in zip(
                run.sent_bytes,
                run.job.placement,
                (*run.job.placement[1:], run.job.placement[0]),
                strict=True,
            )
            if server != following
        )
        return self.traffic.wire_bytes / crossing if crossing else None

    @property
    def sent_again(self) -> float:
        """The share of the bytes on the wire that was sent again."""
        return self.traffic.segments_again * SEGMENT_BYTES / max(1, self.traffic.wire_bytes)
