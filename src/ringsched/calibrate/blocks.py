"""Blocks of a measurement: jobs at the same time, repeated if disturbed, counted while all of them run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, quantiles
from typing import NamedTuple

from ringsched.calibrate.measurements import Measurement
from ringsched.calibrate.noise import (
    MOST_STEAL,
    Noise,
)
from ringsched.calibrate.testbed import BlockRun, JobRun, Testbed, TestJob
from ringsched.calibrate.worker import Iteration
from ringsched.errors import InputError

MOST_TRIES = 4
FEWEST_ITERATIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBlock:
    """A finished block: the medians of every job, and signs of disturbance."""

    name: str
    jobs: tuple[TestJob, ...]
    medians: tuple[Iteration, ...]  # of each job: its parts, each the median over iterations
    seconds: tuple[float, ...]  # of each job: an iteration, by `typical_s`
    noise: Noise
    overhead: float | None  # bytes on the wire over the jobs' own, if anything went over a link
    sent_again: float  # share of the bytes on the wire
    num_tries: int
    by_processor: bool  # limited by cores, not by links: waiting for a core is a part of it
    settled: tuple[float, ...] = ()  # of each job: how far it is behind the first one, see `settled_of`

    @property
    def suspect(self) -> bool:
        """Whether every attempt was disturbed."""
        return self.noise.steal > MOST_STEAL if self.by_processor else self.noise.disturbed


def measure(
    testbed: Testbed,
    name: str,
    jobs: Sequence[TestJob],
    *,
    by_processor: bool = False,
    on_try: Callable[[str, int], None] | None = None,
    num_tries: int = MOST_TRIES,
) -> MeasuredBlock:
    """Run a block until it is undisturbed, for a limited number of attempts; keep the best one."""
    best: MeasuredBlock | None = None
    for number in range(1, num_tries + 1):
        if on_try is not None:
            on_try(name, number)
        tried = _measured(name, testbed.run(jobs), number, by_processor)
        if best is None or tried.noise.badness < best.noise.badness:
            best = tried
        if not tried.suspect:
            return tried
    assert best is not None
    return best


def measurements_of(block: MeasuredBlock) -> list[Measurement]:
    """Return the rows of a block whose jobs all cross the same links."""
    return [
        Measurement(
            servers=len(set(job.placement)),
            workers=len(job.placement),
            concurrent=len(block.jobs),
            message_mb=job.message_mb,
            seconds=float(f"{seconds:.6g}"),
            compute_s=job.compute_s,
            reduce_s=None if job.python is not None else float(f"{medians.reduce_s:.4g}"),
            job=chr(ord("a") + at),
            backward_s=job.backward_s,
            buckets=job.buckets,
        )
        for at, (job, medians, seconds) in enumerate(
            zip(block.jobs, block.medians, block.seconds, strict=True)
        )
    ]


def while_all_run(runs: Sequence[JobRun]) -> list[list[Iteration]]:
    """Return each job's iterations during which every other job ran, without its first one."""
    begin_s = max(run.iterations[0].start_s for run in runs)
    end_s = min(run.iterations[-1].start_s + run.iterations[-1].seconds for run in runs)
    found = []
    for run in runs:
        within = [
            each
            for each in run.iterations[1:]
            if each.start_s >= begin_s and each.start_s + each.seconds <= end_s + 1e-9
        ]
        found.append(
            within if len(within) >= FEWEST_ITERATIONS else list(run.iterations[1:] or run.iterations)
        )
    return found


def typical_s(iterations: Sequence[Iteration], *, alike: bool) -> float:
    """Return the median if all iterations should be equal, otherwise the mean.

    If jobs compute, their exchanges meet in some iterations only. Then there are two kinds of
    iterations, and only the mean describes the speed of the job.
    """
    return (median if alike else fmean)(each.seconds for each in iterations)


def settled_of(runs: Sequence[JobRun]) -> tuple[float, ...]:
    """Return where each job has settled: its last start after one of the first job, in iterations of that.

    0 is in step, 0.5 is half an iteration apart.
    """
    firsts = runs[0].iterations
    lasts = [run.iterations[-2 if len(run.iterations) > 1 else -1].start_s for run in runs]
    found = []
    for start_s in lasts:
        before = [each for each in firsts if each.start_s <= start_s + 1e-9] or [firsts[0]]
        found.append((start_s - before[-1].start_s) / before[-1].seconds % 1)
    return tuple(found)


def _measured(name: str, run: BlockRun, number: int, by_processor: bool) -> MeasuredBlock:
    counted = while_all_run(run.jobs)
    spread = 0.0
    alike = not any(job.job.compute_s for job in run.jobs)
    if alike and not by_processor:
        spread = max(_spread([each.seconds for each in iterations]) for iterations in counted)
    return MeasuredBlock(
        name=name,
        jobs=tuple(job.job for job in run.jobs),
        medians=tuple(Iteration(*(median(part) for part in zip(*each, strict=True))) for each in counted),
        seconds=tuple(typical_s(iterations, alike=alike) for iterations in counted),
        noise=run.noise._replace(spread=spread),
        overhead=run.overhead,
        sent_again=run.sent_again,
        num_tries=number,
        by_processor=by_processor,
        settled=settled_of(run.jobs),
    )


def _spread(values: Sequence[float]) -> float:
    if len(values) < FEWEST_ITERATIONS:
        return 0.0
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return (high - low) / middle


TINY_MB = 0.0001  # so small that only latency matters
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
    """The measurements; rows of suspect blocks are left out of the fit."""

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
    python: str | None = None,
    on_try: Callable[[str, int], None] | None = None,
) -> Calibrated:
    """Measure all blocks, repeatedly if requested; with a Python that has torch, by DDP jobs."""
    planned = planned_blocks(testbed.servers, testbed.payload_gbps, quick=quick)
    blocks = [
        measure(
            testbed,
            block.name,
            [replace(job, python=python) for job in block.jobs],
            by_processor=block.by_processor,
            on_try=on_try,
        )
        for _ in range(repeats)
        for block in planned
    ]
    rows = [row for block in blocks if not block.suspect for row in measurements_of(block)]
    return Calibrated(tuple(rows), tuple(blocks))
