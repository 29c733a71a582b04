"""Jobs for the testbed, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass

from ringsched.calibrate.noise import Noise
from ringsched.calibrate.worker import Iteration


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


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRun:
    """What came of jobs that ran at the same time."""

    jobs: tuple[JobRun, ...]
    noise: Noise
